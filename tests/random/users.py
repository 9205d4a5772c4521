"""Those who drive sessions, each on a thread, and what they know of what they sent."""

from __future__ import annotations

import threading
from collections.abc import Callable
from random import Random

import msgspec

import refold
from refold import Session
from refold.events.agent.inputs import QueueName

QUEUES: tuple[QueueName, ...] = ("steering", "follow_up", "next_turn")


class Ledger:
    """What was accepted of all that was sent to one session. Thread-safe.

    Attributes:
        items: texts by the ids of queued messages; prompts: texts that started a run.
        cancelled, cleared: ids that were taken back, as the callers were told.
        trouble: what went wrong where nothing should.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.items: dict[int, str] = {}
        self.prompts: list[str] = []
        self.cancelled: list[int] = []
        self.cleared: list[int] = []
        self.trouble: list[str] = []

    def queued(self, item: int, text: str) -> None:
        """A message waits."""
        with self._lock:
            if item in self.items:
                self.trouble.append(f"the id {item} was given twice")
            self.items[item] = text

    def any_item(self, chance: Random) -> int | None:
        """The id of some message, most likely of a late one."""
        with self._lock:
            ids = list(self.items)
        return None if not ids else ids[-1 - min(int(chance.expovariate(0.5)), len(ids) - 1)]


class Eager:
    """An awaited listener, which steers and aborts while the run waits for it, and raises."""

    def __init__(self, chance: Random, session: Session, ledger: Ledger) -> None:
        self._chance = chance
        self._session = session
        self._ledger = ledger
        self._sent = 0

    def __call__(self, _: refold.LifecycleEvent) -> None:
        """Hear of an event."""
        chance = self._chance.random()
        try:
            if chance < 0.03:
                self._sent += 1
                text = f"listener {id(self)}.{self._sent}"
                self._ledger.queued(self._session.steer(text), text)
            elif chance < 0.035:
                self._session.abort()
        except (refold.ClosedError, refold.QueueFullError):
            return
        if chance > 0.995:
            raise SystemExit("listener")


class User(msgspec.Struct):
    """Somebody who does one thing after another, until the runtime is closed.

    Attributes:
        half_way: set when half of the steps have been taken.
    """

    name: str
    chance: Random
    sessions: list[Session]
    ledgers: list[Ledger]
    steps: int
    half_way: threading.Event
    sent: int = 0

    def act(self) -> None:
        """Take all steps."""
        actions = {
            self._prompt: 14,
            self._steer: 16,
            self._steer_now: 8,
            self._follow_up: 12,
            self._next_turn: 6,
            self._abort: 8,
            self._cancel: 12,
            self._clear: 3,
            self._continue: 3,
            self._set: 3,
            self._think: 25,
            self._look: 2,
            self._reset: 1,
        }
        for step in range(self.steps):
            if step == self.steps // 2:
                self.half_way.set()
            place = self.chance.randrange(len(self.sessions))
            action = self.chance.choices(list(actions), list(actions.values()))[0]
            try:
                action(self.sessions[place], self.ledgers[place])
            except (refold.BusyError, refold.NothingToContinueError, refold.QueueFullError):
                pass  # refused: nothing happened
            except refold.RefoldError as error:
                if not isinstance(error, refold.ClosedError):
                    self.ledgers[place].trouble.append(f"{action.__name__}: {error!r}")
                return

    def _text(self) -> str:
        self.sent += 1
        return f"{self.name}.{self.sent}"

    def _prompt(self, session: Session, ledger: Ledger) -> None:
        text = self._text()
        session.prompt(text)
        ledger.prompts.append(text)

    def _steer(self, session: Session, ledger: Ledger) -> None:
        self._queue(session.steer, ledger)

    def _steer_now(self, session: Session, ledger: Ledger) -> None:
        self._queue(lambda text: session.steer(text, now=True), ledger)

    def _follow_up(self, session: Session, ledger: Ledger) -> None:
        self._queue(session.follow_up, ledger)

    def _next_turn(self, session: Session, ledger: Ledger) -> None:
        self._queue(session.next_turn, ledger)

    def _queue(self, put: Callable[[str], int], ledger: Ledger) -> None:
        text = self._text()
        ledger.queued(put(text), text)

    def _abort(self, session: Session, _: Ledger) -> None:
        session.abort()

    def _cancel(self, session: Session, ledger: Ledger) -> None:
        item = ledger.any_item(self.chance)
        if item is None:
            return
        try:
            session.cancel(item)
        except refold.InvalidArgumentError:
            return  # too late
        ledger.cancelled.append(item)

    def _clear(self, session: Session, ledger: Ledger) -> None:
        queues = self.chance.sample(QUEUES, self.chance.randrange(3))
        ledger.cleared.extend(session.clear(*queues))

    def _continue(self, session: Session, _: Ledger) -> None:
        session.continue_()

    def _set(self, session: Session, _: Ledger) -> None:
        modes = ("one_at_a_time", "all")
        session.set(
            steering_mode=self.chance.choice(modes),
            follow_up_mode=self.chance.choice(modes),
            tool_execution=self.chance.choice(("parallel", "sequential")),
            idle_queue=self.chance.choice(("run", "run", "hold")),
        )

    def _think(self, session: Session, _: Ledger) -> None:
        threading.Event().wait(self.chance.random() * 0.02)

    def _look(self, session: Session, ledger: Ledger) -> None:
        live = session.machine
        if session.past.machine_at(live.version) != live:
            ledger.trouble.append(f"the live state at {live.version} is not what the log says")

    def _reset(self, session: Session, _: Ledger) -> None:
        session.reset()
