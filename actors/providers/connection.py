"""The connection that a request goes out over."""

from __future__ import annotations

from typing import Any


class Connection:
    """Hears of a request's way (an httpcore `trace` extension).

    Attributes:
        kept: True if the request went out over a connection that an earlier one had left open.
    """

    def __init__(self) -> None:
        self.kept = False
        self._opened = False

    async def __call__(self, event: str, info: Any) -> None:
        """Take note of what httpcore does."""
        if event.startswith("connection.connect_"):
            self._opened = True
        elif event.endswith(".send_request_headers.started"):
            self.kept = not self._opened
