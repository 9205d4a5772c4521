"""Pieces of a streamed reply on their way into the log.

They are gathered for a while, and as long as the batch before them has not been shown: so a burst
cannot outrun the Loop, and one batch of a stream is under way at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec.structs import replace

from refold.actors.providers.provider import Began
from refold.events.agent import bodies, inputs
from refold.events.agent.bodies import Piece, merged
from refold.events.canonical import canonical_text
from refold.events.fact import Offer

HOLD_LIMIT = 256 * 1024
"""Characters that are held back before the provider has to wait."""

Send = Callable[[tuple[Offer, ...], bool], asyncio.Event | None]


class Gatherer:
    """Gathers the pieces of one call.

    Args:
        interval: seconds; 0 sends each piece by itself, and waits until it is shown.
        send: sends inputs, with True for the last; the event it returns is set once they are
            shown.
    """

    def __init__(self, *, call: int, interval: float, send: Send) -> None:
        self.call = call
        self.pieces: list[Piece] = []
        self.size = 0
        self._interval = interval
        self._send = send
        self._held: list[Piece] = []
        self._held_size = 0
        self._began = False
        self._credit: asyncio.Event | None = None
        self._flush: asyncio.Task[None] | None = None

    async def take(self, event: Began | Piece) -> None:
        """Take the next event of the stream."""
        if isinstance(event, Piece):
            piece = replace(event, text=canonical_text(event.text))
            self.pieces.append(piece)
            self._held.append(piece)
            self.size += len(piece.text)
            self._held_size += len(piece.text)
        else:
            self._began = True
        if self._interval == 0:
            self._send_held()
            await self._shown()
        elif self._flush is None:
            self._flush = asyncio.get_running_loop().create_task(self._flush_later())
        elif self._held_size > HOLD_LIMIT:
            await self._flush

    def finish(self, finished: Offer) -> None:
        """Send what is held, and the end."""
        self.drop()
        held = self._held_offers()
        self._send((*held, finished), True)

    def drop(self) -> None:
        """Stop waiting for more."""
        if self._flush is not None:
            self._flush.cancel()

    async def _flush_later(self) -> None:
        await asyncio.sleep(self._interval)
        await self._shown()
        self._flush = None
        self._send_held()

    async def _shown(self) -> None:
        if self._credit is not None:
            await self._credit.wait()

    def _send_held(self) -> None:
        offers = self._held_offers()
        if offers:
            self._credit = self._send(offers, False)

    def _held_offers(self) -> tuple[Offer, ...]:
        held, self._held, self._held_size = merged(self._held), [], 0
        if held:
            self._began = False
            fact = inputs.ModelDelta(call=self.call, pieces=len(held))
            return (Offer(fact, bodies.encode(held)),)
        if self._began:
            self._began = False
            return (Offer(inputs.ModelDelta(call=self.call)),)
        return ()
