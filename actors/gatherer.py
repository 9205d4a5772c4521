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
from refold.events.errors import ModelError
from refold.events.fact import Offer

HOLD_LIMIT = 256 * 1024
"""Characters that are held back before the provider has to wait."""

Send = Callable[[tuple[Offer, ...], Callable[[], None] | None], None]


class Gatherer:
    """Gathers the pieces of one call; used on its event loop only.

    Args:
        interval: seconds; 0 sends each piece by itself, and waits until it is shown.
        send: sends inputs, and calls back once they are shown; the last ones come with None.
    """

    def __init__(self, *, call: int, interval: float, send: Send) -> None:
        self.call = call
        self.pieces: list[Piece] = []
        self.size = 0
        self._interval = interval
        self._send = send
        self._held: list[Piece] = []
        self._held_size = 0
        self._started: set[int] = set()
        self._began = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._timer: asyncio.TimerHandle | None = None
        self._ripe = False

    async def take(self, event: Began | Piece) -> None:
        """Take the next event of the stream.

        Raises:
            ModelError: a piece belongs to no block; on record it could never be read again.
        """
        if isinstance(event, Piece):
            if event.kind.endswith("_start"):
                self._started.add(event.index)
            elif event.index not in self._started:
                raise ModelError(
                    f"the provider sent a {event.kind} of block {event.index}, which it has not "
                    "started",
                    "protocol",
                )
            piece = replace(event, text=canonical_text(event.text))
            self.pieces.append(piece)
            self._held.append(piece)
            self.size += len(piece.text)
            self._held_size += len(piece.text)
        else:
            self._began = True
        if self._interval == 0:
            self._flush()
            await self._idle.wait()
        elif self._timer is None and not self._ripe:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._interval, self._ripen)
        while self._held_size > HOLD_LIMIT:
            await self._idle.wait()
            self._flush()

    def finish(self, finished: Offer) -> None:
        """Send what is held, and the end."""
        self.drop()
        self._send((*self._held_offers(), finished), None)

    def drop(self) -> None:
        """Send nothing more by itself."""
        self._ripe = False
        if self._timer is not None:
            self._timer.cancel()

    def _ripen(self) -> None:
        self._timer = None
        if self._idle.is_set():
            self._flush()
        else:
            self._ripe = True

    def _shown(self) -> None:
        self._idle.set()
        if self._ripe:
            self._ripe = False
            self._flush()

    def _flush(self) -> None:
        offers = self._held_offers()
        if offers:
            self._idle.clear()
            self._send(offers, self._shown)

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
