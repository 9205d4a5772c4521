"""The Reader: folds streams for the Loop, which itself never does I/O."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refold.actors.actor import Address, ThreadActor
from refold.actors.messages import (
    CatchUp,
    CaughtUp,
    Claim,
    Claimed,
    Host,
    Message,
    NotRevived,
    Revive,
)
from refold.events.behaviour import Behaviour
from refold.events.errors import BugError, RefoldError
from refold.events.fact import Offer
from refold.store.log import Log


class Reader(ThreadActor):
    """Revives streams: claims them, folds them, and hands them to the Loop with head and epoch."""

    def __init__(
        self,
        *,
        log: Log,
        journal: Address,
        loop: Address,
        behaviour_of: Callable[[bytes], Behaviour[Any]],
    ) -> None:
        super().__init__()
        self._log = log
        self._journal = journal
        self._loop = loop
        self._behaviour_of = behaviour_of

    def handle(self, message: Message) -> None:
        """Act on one message."""
        match message:
            case Revive():
                # Claimed first: nobody else can append behind what is folded then.
                self._journal.tell(Claim(stream=message.stream, asked=message.asked))
            case NotRevived():
                self._loop.tell(message)
            case Claimed() | CatchUp():
                try:
                    answer = (
                        self._revived(message)
                        if isinstance(message, Claimed)
                        else self._caught_up(message)
                    )
                except RefoldError as error:
                    answer = NotRevived(stream=message.stream, error=error)
                self._loop.tell(answer)

    def abandon(self, message: Message, error: BaseException) -> None:
        """The stream that it was reading is read by nobody."""
        died = BugError(f"the reader died of {error!r} with stream {message.stream.hex()} in hand")
        self._loop.tell(NotRevived(stream=message.stream, error=died))

    def _revived(self, claimed: Claimed) -> Message:
        behaviour = self._behaviour_of(claimed.stream)
        decode = behaviour.codec.decode
        state, version = behaviour.initial(), 0
        for recorded in self._log.read(claimed.stream, bodies=False):
            state = behaviour.evolve(state, decode(recorded.event))
            version = recorded.version
        recovery = behaviour.recovery(state)
        return Host(
            stream=claimed.stream,
            behaviour=behaviour,
            state=state,
            version=version,
            epoch=claimed.epoch,
            asked=claimed.asked,
            first=() if recovery is None else (Offer(recovery),),
        )

    def _caught_up(self, message: CatchUp) -> Message:
        decode = message.behaviour.codec.decode
        read = list(self._log.read(message.stream, after=message.version, bodies=False))
        return CaughtUp(
            stream=message.stream,
            version=read[-1].version if read else message.version,
            time=read[-1].time if read else 0,
            facts=tuple(decode(recorded.event) for recorded in read),
        )
