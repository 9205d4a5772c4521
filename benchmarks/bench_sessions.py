"""How many turns a second do a thousand live sessions make, on how many threads and memory?"""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import refold
from benchmarks.instant import MODEL, Instant, echo
from benchmarks.measuring import Floor, apart, interleaved, memory_bytes, now
from benchmarks.report import Report, Setting, alone
from refold.actors.runtime import Durability

TURNS = 5
CALLERS = 64
"""Threads that prompt, in the row of the sync interface."""


@dataclass
class Found:
    """What so many sessions did.

    Attributes:
        threads: alive while all of them ran; before: alive with none.
        opened: KiB of memory a session, before its first prompt; rests: when its run is over.
        commit: seconds of a raw durable commit.
    """

    sessions: int
    turns_per_second: float
    cpu: float
    threads: int
    before: int
    opened: float | None
    rests: float | None
    commit: float


def measure(setting: Setting) -> Report:
    """How many turns a second do a thousand live sessions make, on how many threads and memory?"""
    report = Report(measure.__doc__ or "")
    thousand = setting.scaled(1000, 100)
    variants = {
        "1 session": lambda: _apart(setting, 1, durability="durable", turns=1000),
        f"{thousand:,} sessions": lambda: _apart(setting, thousand),
        f"{thousand:,}, sync, {CALLERS} callers": lambda: _apart(setting, thousand, sync=True),
        f"{thousand:,}, relaxed": lambda: _apart(setting, thousand, durability="relaxed"),
        f"{5 * thousand:,} sessions": lambda: _apart(setting, 5 * thousand),
    }
    runs = interleaved(variants, setting.scaled(3, 1))
    alone_rate = median(found.turns_per_second for found in runs["1 session"])

    table = report.table(
        "row",
        "turns/s in all",
        "x 1 session",
        "turns a raw commit",
        "CPU ms/turn",
        "threads",
        "(none live)",
        "KiB a session, opened",
        "and after its run",
    )
    for name, found in runs.items():
        rate = median(each.turns_per_second for each in found)
        table.rows.append(
            (
                name,
                rate,
                rate / alone_rate,
                median(each.turns_per_second * each.commit for each in found),
                median(each.cpu for each in found),
                max(each.threads for each in found),
                max(each.before for each in found),
                _kib([each.opened for each in found], found[0].sessions),
                _kib([each.rests for each in found], found[0].sessions),
            )
        )
    report.notes.append(
        f"{TURNS} turns with one tool call a session (the row of one session: 1,000), all prompted "
        "at once with open_async (sync: by threads, each of which waits for its prompt and its "
        "result). The last turn of each run, which calls no tool, is not counted, as in the "
        "comparison with peers. Each row in a process of its own. Memory: private memory that the "
        "process has more than with no session, after the garbage collector. Turns a raw commit: "
        "how many turns are made in the time of one LMDB commit, of which a turn alone needs two."
    )
    report.doubt([each.commit for found in runs.values() for each in found])
    live = runs[f"{thousand:,} sessions"]
    report.at_least(
        f"turns/s of {thousand:,} sessions", median(each.turns_per_second for each in live), 2000.0
    )
    return report


def _kib(found: list[float | None], sessions: int) -> float | None:
    known = [kib for kib in found if kib is not None]
    return median(known) if known and sessions > 1 else None


def _apart(
    setting: Setting,
    sessions: int,
    *,
    durability: str = "durable",
    turns: int = TURNS,
    sync: bool = False,
) -> Found:
    path = setting.folder / f"sessions-{time.perf_counter_ns()}"
    path.mkdir()
    return apart(_sync if sync else _async, path, sessions, turns, durability)


def _async(path: Path, sessions: int, turns: int, durability: Durability) -> Found:
    return asyncio.run(_on_a_loop(path, sessions, turns, durability))


async def _on_a_loop(path: Path, sessions: int, turns: int, durability: Durability) -> Found:
    async with await refold.open_async(
        path / "log.refold", durability=durability, providers=[Instant(turns)]
    ) as runtime:
        meter = _Meter(path)
        live = await asyncio.gather(
            *(
                runtime.session(f"bench-{number}", model=MODEL, tools=[echo])
                for number in range(sessions)
            )
        )
        meter.begin()
        replies = await asyncio.gather(*(_prompted(session) for session in live))
        return meter.end(replies, turns)


async def _prompted(session: refold.AsyncSession) -> str:
    run = await session.prompt("go")
    return (await run.result()).text


def _sync(path: Path, sessions: int, turns: int, durability: Durability) -> Found:
    with (
        refold.open(
            path / "log.refold", durability=durability, providers=[Instant(turns)]
        ) as runtime,
        ThreadPoolExecutor(CALLERS) as callers,
    ):
        meter = _Meter(path)
        live = list(
            callers.map(
                lambda number: runtime.session(f"bench-{number}", model=MODEL, tools=[echo]),
                range(sessions),
            )
        )
        meter.begin()
        replies = list(callers.map(lambda session: session.prompt("go").result().text, live))
        return meter.end(replies, turns)


class _Meter:
    """Begun with a runtime and no sessions."""

    def __init__(self, path: Path) -> None:
        floor = Floor(path)
        self._commit = floor.seconds(700, 100, 0.0004)
        floor.close()
        gc.collect()
        self._memory = memory_bytes()
        self._before = threading.active_count()
        self._begun = self._cpu = 0.0
        self._opened: int | None = None

    def begin(self) -> None:
        """All sessions are open."""
        gc.collect()
        self._opened = memory_bytes()
        self._begun, self._cpu = now(), time.process_time()

    def end(self, replies: Sequence[str], turns: int) -> Found:
        """All sessions have answered."""
        seconds, cpu = now() - self._begun, time.process_time() - self._cpu
        threads = threading.active_count()
        assert set(replies) == {"done"}, set(replies)
        gc.collect()
        memory = memory_bytes()
        made = turns * len(replies)
        return Found(
            sessions=len(replies),
            turns_per_second=made / seconds,
            cpu=cpu / made * 1e3,
            threads=threads,
            before=self._before,
            opened=self._kib(self._opened, len(replies)),
            rests=self._kib(memory, len(replies)),
            commit=self._commit,
        )

    def _kib(self, memory: int | None, sessions: int) -> float | None:
        if memory is None or self._memory is None:
            return None
        return (memory - self._memory) / 1024 / sessions


if __name__ == "__main__":
    alone(measure)
