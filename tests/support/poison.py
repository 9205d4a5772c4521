"""Actors that die when a test wants them to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from refold.actors.engine import Engine
from refold.actors.journal import Journal
from refold.actors.loop import Loop
from refold.actors.messages import Message
from refold.actors.models import Models
from refold.actors.queues import Queues
from refold.actors.reader import Reader
from refold.actors.supervisor import Supervisor
from refold.actors.tools import Tools
from tests.support.gates import PATIENCE, Gate

ACTORS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (Journal, Reader, Loop, Models, Tools, Queues)
}


class Poison(Message, frozen=True, kw_only=True):
    """An actor that handles it raises its error."""

    error: BaseException
    gate: Gate | None = None


class Mortality:
    """Kills actors. What a supervisor would do later waits until the test lets it be done."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self._changed = threading.Condition()
        self._planned: list[Callable[[], None]] = []
        for kind in ACTORS.values():
            _make_mortal(patch, kind)

        def later(supervisor: Supervisor, delay: float, action: Callable[[], None]) -> None:
            with self._changed:
                self._planned.append(action)
                self._changed.notify_all()

        patch.setattr(Supervisor, "_later", later)

    def poison(
        self,
        engine: Engine,
        name: str,
        error: BaseException | None = None,
        gate: Gate | None = None,
    ) -> None:
        """Have an actor die of its next message; at a gate it waits before it does."""
        poison = Poison(error=error or RuntimeError("poison"), gate=gate)
        engine._addresses[name].tell(poison)

    def kill(self, engine: Engine, name: str, error: BaseException | None = None) -> None:
        """Have an actor die, and wait until its supervisor has planned its restart."""
        with self._changed:
            known = len(self._planned)
        self.poison(engine, name, error)
        self.await_plans(known + 1)

    def await_handling(self, name: str, message: Message) -> Callable[[], None]:
        """A function that waits until an actor has handled this very message."""
        handled = threading.Event()
        kind = ACTORS[name]
        handle = kind.handle

        def seen(actor: Any, received: Any) -> None:
            handle(actor, received)
            if received is message:
                handled.set()

        self._patch.setattr(kind, "handle", seen)

        def wait() -> None:
            assert handled.wait(PATIENCE), f"{name} never handled {message}"

        return wait

    def await_plans(self, count: int) -> None:
        """Wait until so many restarts and retries are planned."""
        with self._changed:
            planned = self._changed.wait_for(lambda: len(self._planned) >= count, PATIENCE)
            assert planned, f"{len(self._planned)} of {count} things are planned"

    def go_on(self) -> None:
        """Do all that is planned."""
        with self._changed:
            actions, self._planned = self._planned, []
        for action in actions:
            action()


def _make_mortal(patch: pytest.MonkeyPatch, kind: Any) -> None:
    handle = kind.handle

    def mortal(actor: Any, message: Any) -> None:
        if isinstance(message, Poison):
            if message.gate is not None:
                message.gate.wait()
            raise message.error
        handle(actor, message)

    patch.setattr(kind, "handle", mortal)


@contextmanager
def mortality() -> Iterator[Mortality]:
    """Engines that are made meanwhile have actors that can be killed."""
    with pytest.MonkeyPatch.context() as patch:
        yield Mortality(patch)
