"""Waiting for something to become true, without asking again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Changes:
    """Wakes those who wait, whenever something has changed. For one event loop."""

    def __init__(self) -> None:
        self._change = asyncio.Event()

    def happened(self) -> None:
        """Something has changed."""
        self._change.set()
        self._change = asyncio.Event()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until it is true."""
        while not condition():
            await self._change.wait()
