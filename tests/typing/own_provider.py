"""A provider of a user's own, which the checkers hold against the protocol."""

from collections.abc import AsyncIterator

import refold
from refold import AbortSignal, Began, Finish, Piece, Provider, Request
from refold.actors.providers.provider import StreamEvent


class Echo:
    """Says what it is told."""

    name = "echo"

    def check(self, model: str) -> None:
        """Any model is there."""

    async def stream(
        self, request: Request, signal: AbortSignal, *, api_key: str | None = None
    ) -> AsyncIterator[StreamEvent]:
        """Say it again."""
        yield Began()
        if not signal.aborted:
            yield Piece("text_start", 0)
            yield Piece("text_delta", 0, request.messages[-1].text)
            yield Piece("text_end", 0)
        yield Finish(stop_reason="stop")

    async def close(self) -> None:
        """There is nothing to give back."""


provider: Provider = Echo()
runtime = refold.open(None, providers=[provider])
