"""The Supervisor: starts the other actors, and starts those that die again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

import pykka

from refold.actors.actor import Address, OnFailure, ThreadActor
from refold.actors.hub import Hub
from refold.actors.messages import Failed, Message, NotWritten, Restarted, Retry
from refold.actors.waiters import Waiters
from refold.events.errors import BugError

Launch = Callable[[Address, OnFailure], None]

FIRST_DELAY = 0.05
LONGEST_DELAY = 5.0
"""Seconds of back-off: the first, doubled at each failure in a row, up to the longest."""

MOST_DEATHS = 5
"""Deaths of one actor, after which it stays dead and everybody is told so."""


class Supervisor(ThreadActor):
    """Watches over the actors of a runtime.

    Args:
        launches: how to start each actor, by class name; started at once, in this order.
        addresses: where each is reached, by class name.
    """

    def __init__(
        self,
        *,
        launches: Mapping[str, Launch],
        addresses: Mapping[str, Address],
        waiters: Waiters,
        hub: Hub,
    ) -> None:
        super().__init__()
        self._launches = dict(launches)
        self._addresses = addresses
        self._waiters = waiters
        self._hub = hub
        self._deaths: dict[str, int] = {}
        self._delays: dict[bytes, float] = {}
        self._timers: set[threading.Timer] = set()
        for name in self._launches:
            self._launch(name)

    def on_stop(self) -> None:
        """Forget what was planned."""
        for timer in self._timers:
            timer.cancel()

    def handle(self, message: Message) -> None:
        """Act on one message."""
        match message:
            case Failed():
                self._failed(message)
            case NotWritten():
                delay = self._delays.get(message.stream, FIRST_DELAY)
                self._delays[message.stream] = min(2 * delay, LONGEST_DELAY)
                retry = Retry(stream=message.stream)
                self._later(delay, lambda: self._addresses["Loop"].tell(retry))

    def _launch(self, name: str) -> None:
        def failed(message: Failed) -> None:
            with suppress(pykka.ActorDeadError):  # the runtime is going down
                self.actor_ref.tell(message)

        self._launches[name](self._addresses[name], failed)

    def _failed(self, message: Failed) -> None:
        deaths = self._deaths[message.actor] = self._deaths.get(message.actor, 0) + 1
        error = BugError(
            f"the actor {message.actor} died of {message.error!r}, so it is not known whether "
            "what was asked of it is in the log; look with `refold log`"
        )
        error.__cause__ = message.error
        # What the dead actor had in hand is lost, and nobody knows whose it was.
        self._waiters.refuse_all(error)
        if deaths > MOST_DEATHS:
            self._addresses[message.actor].gone()
            self._hub.fail_all(error)
            return
        delay = min(FIRST_DELAY * 2 ** (deaths - 1), LONGEST_DELAY)
        self._later(delay, lambda: self._restart(message.actor))

    def _restart(self, name: str) -> None:
        if self.actor_stopped.is_set():
            return
        restarted = Restarted(actor=name)
        if name == "Loop":  # told first, so that they drop what the old one wanted, and no more
            self._addresses["Models"].tell(restarted)
            self._addresses["Tools"].tell(restarted)
        self._launch(name)
        self._addresses["Loop"].tell(restarted)

    def _later(self, delay: float, action: Callable[[], None]) -> None:
        timer = threading.Timer(delay, action)
        timer.daemon = True
        self._timers = {waiting for waiting in self._timers if waiting.is_alive()} | {timer}
        timer.start()
