"""Whatever threads, tools, hooks and models do: nothing is lost, doubled or left open."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

import refold
from refold import LifecycleEvent, Options, Session
from refold.events.agent.context import answered
from refold.store import MemoryLog
from tests.random.model import MODEL, ChancyModel
from tests.random.nesting import misfits
from tests.random.tools import Hooks, tools
from tests.random.users import Eager, Ledger, User
from tests.support.looking import in_time
from tests.support.validity import faults

SESSIONS = 4
USERS = 4
STEPS = 300
"""Of one user in one life of the runtime."""

PATIENCE = 60.0
"""Seconds in which all must have come to rest at the end."""

LISTENED_TO = 2
"""The session with an awaited listener. That may end a run before its prompt was said."""

MET = frozenset(
    {
        "prompted",
        "queued",
        "drained",
        "cancelled",
        "cleared",
        "abort_requested",
        "reset_requested",
        "settings_requested",
        "retry_scheduled",
        "hook_returned",
        "hook_raised",
        "tool_progressed",
        "tool_returned",
        "tool_failed",
        "model_failed",
    }
)
"""Events that chance comes by for certain: without them the tests would say little."""


class Storm:
    """A runtime, its sessions and their users, by chance."""

    def __init__(self, seed: int, log: Path | None) -> None:
        self.seed = seed
        self.chance = Random(seed)
        self.path = log
        self.model = ChancyModel(Random(f"{seed} model"))
        self.hooks = [Hooks(Random(f"{seed} hooks {n}")) for n in range(SESSIONS)]
        self.ledgers = [Ledger() for _ in range(SESSIONS)]
        self.audited: list[str] = []
        self.lives = 0

    def open(self) -> tuple[refold.Runtime, list[Session]]:
        """Open the runtime with options of chance."""
        chance = self.chance
        runtime = refold.open(
            self.path if self.path is not None else MemoryLog(),
            durability=chance.choice(("relaxed", "durable")),
            providers=[self.model],
            options=Options(
                delta_interval=chance.choice((0, 0.001, 0.05)),
                grace=0.01,
                threads=8,
                most_hosted=chance.choice((1, 2, 100)),
                audit=self.audited.append,
            ),
        )
        sessions = [self._session(runtime, number) for number in range(SESSIONS)]
        session, ledger = sessions[LISTENED_TO], self.ledgers[LISTENED_TO]
        session.listen(Eager(Random(f"{self.seed} {self.lives}"), session, ledger))
        return runtime, sessions

    def live(
        self, sessions: list[Session], steps: int, cut_off: Callable[[], None] | None = None
    ) -> None:
        """Have the users act, until each has taken its steps.

        Args:
            cut_off: called in the middle of it.
        """
        self.lives += 1
        half_way = threading.Event()
        users = [
            User(
                name=f"user {number}, life {self.lives}",
                chance=Random(f"{self.seed} user {number} {self.lives}"),
                sessions=sessions,
                ledgers=self.ledgers,
                steps=steps,
                half_way=half_way,
            )
            for number in range(USERS)
        ]
        threads = [threading.Thread(target=user.act, daemon=True) for user in users]
        for thread in threads:
            thread.start()
        if cut_off is not None:
            assert half_way.wait(PATIENCE)
            in_time(cut_off)
        for thread in threads:
            in_time(thread.join, limit=PATIENCE)

    def _session(self, runtime: refold.Runtime, number: int) -> Session:
        hooks = self.hooks[number].functions() if number % 2 else {}
        return runtime.session(
            f"s{number}",
            model=MODEL,
            tools=tools(Random(f"{self.seed} tools {number} {self.lives}")),
            hooks=hooks,
            max_retries=2,
            retry_delay=1,
            queue_limit=50,
        )


@pytest.fixture
def seed() -> int:
    seed = int(os.environ.get("REFOLD_SEED") or Random().randrange(2**32))
    print(f"REFOLD_SEED={seed}")
    return seed


@pytest.mark.parametrize("round", range(3))
def test_sessions_in_memory(seed: int, round: int) -> None:
    storm = Storm(seed + round, None)
    runtime, sessions = storm.open()
    with runtime:
        watches = [Watched(session) for session in sessions]
        storm.live(sessions, STEPS)
        come_to_rest(sessions)
        for watch in watches:
            watch.check()
        examine(storm, sessions)


@pytest.mark.parametrize("round", range(2))
def test_sessions_on_disk_that_are_cut_off_and_go_on(seed: int, round: int, tmp_path: Path) -> None:
    storm = Storm(seed + round, tmp_path / "log")
    for _ in range(2):
        runtime, sessions = storm.open()
        storm.live(sessions, STEPS, runtime.close)
    runtime, sessions = storm.open()
    with runtime:
        storm.live(sessions, STEPS // 2)
        come_to_rest(sessions)
        examine(storm, sessions)


class Watched:
    """A watcher on a thread of its own, from the first event on."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._seen: list[LifecycleEvent] = []
        self._watch = session.watch()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def check(self) -> None:
        """It saw every event once, and in order."""
        last = max((e.version for e in self._session.past.lifecycle()), default=0)
        waiting = threading.Event()
        while self._seen and self._seen[-1].version < last and self._thread.is_alive():
            waiting.wait(0.01)
        self._watch.close()
        in_time(self._thread.join)
        seen = [(type(event), event.version) for event in self._seen]
        assert seen == [(type(e), e.version) for e in self._session.past.lifecycle()]

    def _follow(self) -> None:
        for event in self._watch:
            self._seen.append(event)


def come_to_rest(sessions: list[Session]) -> None:
    for session in sessions:
        in_time(session.wait, limit=PATIENCE)


def examine(storm: Storm, sessions: list[Session]) -> None:
    """All that must hold at the end."""
    assert storm.model.faults == []
    assert storm.audited == []
    met = {entry.type for session in sessions for entry in session.past.entries()}
    assert met >= MET
    for session, ledger, hooks in zip(sessions, storm.ledgers, storm.hooks, strict=True):
        assert ledger.trouble == []
        fewest = 0 if session is sessions[LISTENED_TO] else 1
        nothing_is_lost_or_doubled(session, ledger, hooks, fewest=fewest, cut_off=storm.lives > 1)
        assert misfits(session.past.steps()) == []
        assert faults(answered(session.state.messages)) == []
        assert not session.state.pending_tool_calls
        assert session.machine == session.past.machine_at(session.past.version)
        assert session.past.reexecute() is None


def nothing_is_lost_or_doubled(
    session: Session, ledger: Ledger, hooks: Hooks, *, fewest: int, cut_off: bool
) -> None:
    """Every message is where its fate says, and nowhere else.

    Args:
        fewest: how often a prompt is said at least.
        cut_off: the runtime was closed while it was at work. What was sent at that moment may be
            in the log without its caller knowing.
    """
    said = Counter(
        event.message.text
        for event in session.past.lifecycle()
        if isinstance(event, refold.MessageEnd) and isinstance(event.message, refold.UserMessage)
    )
    waiting = [item for items in session.queued.values() for item in items]
    assert len(set(waiting)) == len(waiting)
    fates = {item: session.fate(item).status for item in ledger.items}
    for item, text in ledger.items.items():
        assert said[text] == (fates[item] == "delivered"), (text, fates[item], said[text])
        assert (item in waiting) is (fates[item] == "queued"), (text, fates[item])
    for told, status in ((ledger.cancelled, "cancelled"), (ledger.cleared, "cleared")):
        assert len(set(told)) == len(told)
        assert all(fates.get(item, status) == status for item in told)
    for text in ledger.prompts:
        assert fewest <= said[text] <= 1, text
    assert set(said.values()) <= {1}
    if not cut_off:
        assert {i for i, fate in fates.items() if fate == "cancelled"} == {*ledger.cancelled}
        assert said.keys() <= {*ledger.items.values(), *ledger.prompts, *hooks.said}
