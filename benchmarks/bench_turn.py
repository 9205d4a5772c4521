"""What does a turn with one tool call cost, and does it stay the same in a long session?"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import refold
from benchmarks.instant import MODEL, Instant, echo
from benchmarks.measuring import Floor, disk_bytes, exponent, interleaved, now
from benchmarks.report import Report, Setting, alone
from refold.actors.runtime import Durability

COMMITS = 2
"""Durable commits that a turn with one tool call needs: before the model, and before the tool."""
ALLOWANCE = 1.0
"""Milliseconds that a turn may take beside its commits."""
PAUSE = 0.0004
"""Seconds from one commit of a turn to the next."""
RECORD = 700
"""Bytes of a turn's records, about."""


@dataclass
class Turns:
    """A run of so many turns.

    Attributes:
        commit: seconds that a raw durable commit took just before and after it, at its pace;
            at_once: and without a pause.
    """

    turns: int
    seconds: float
    cpu: float
    commits: int
    bytes: int
    commit: float
    at_once: float

    @property
    def ms(self) -> float:
        """Milliseconds a turn."""
        return self.seconds / self.turns * 1e3

    @property
    def of_bound(self) -> float:
        """Time of a turn, of what it may be."""
        return self.ms / (COMMITS * self.commit * 1e3 + ALLOWANCE)


def measure(setting: Setting) -> Report:
    """What does a turn with one tool call cost, and does it stay the same in a long session?"""
    report = Report(measure.__doc__ or "")
    sizes = (50, 200) if setting.quick else (50, 200, 800, 3200)
    middle = sizes[-1] if setting.quick else 800
    floor = Floor(setting.folder)

    def durable(turns: int) -> Callable[[], Turns]:
        return lambda: _run(setting.folder, floor, turns)

    variants: dict[str, Callable[[], Turns]] = {
        **{f"durable, {turns} turns": durable(turns) for turns in sizes},
        f"durable, watched, {middle} turns": lambda: _run(
            setting.folder, floor, middle, watched=True
        ),
        f"relaxed, {middle} turns": lambda: _run(
            setting.folder, floor, middle, durability="relaxed"
        ),
        f"memory, {middle} turns": lambda: _run(None, floor, middle),
    }
    _run(None, floor, 20)  # what is made once is made now
    runs = interleaved(variants, setting.scaled(5, 2))
    floor.close()

    table = report.table(
        "row",
        "ms/turn",
        "x bound",
        "commits/turn",
        "bytes/turn",
        "CPU ms/turn",
        "raw commit ms",
        "(at once)",
    )
    for name, found in runs.items():
        table.rows.append(
            (
                name,
                median(run.ms for run in found),
                median(run.of_bound for run in found) if name.startswith("durable") else None,
                median(run.commits / run.turns for run in found),
                None if not found[0].bytes else median(run.bytes / run.turns for run in found),
                median(run.cpu / run.turns * 1e3 for run in found),
                median(run.commit * 1e3 for run in found),
                median(run.at_once * 1e3 for run in found),
            )
        )
    report.notes.append(
        f"bound: {COMMITS} raw durable commits + {ALLOWANCE:g} ms. Raw commits are measured before "
        f"and after each run at the pace of its own, {PAUSE * 1e3:g} ms after the last one; those "
        "that follow at once, which no turn can have, are shown beside them. "
        "Bytes are those of the disk, LMDB's free pages included. Watched: every lifecycle event "
        "is read with its content, in the same process. CPU is that of the whole process, the "
        "kernel's part included."
    )
    report.doubt([run.commit for found in runs.values() for run in found])
    grown = {turns: runs[f"durable, {turns} turns"] for turns in sizes}
    longest = grown[sizes[-1]]
    report.at_most(
        f"time of a turn at {sizes[-1]} turns, x bound",
        median(run.of_bound for run in longest),
        1.0,
    )
    report.at_most(
        "commits a turn", median(run.commits / run.turns for run in longest), COMMITS + 0.05
    )
    times = [median(run.seconds for run in grown[turns]) for turns in sizes]
    stored = [median(run.bytes for run in grown[turns]) for turns in sizes]
    report.at_most("growth of time with turns, exponent", exponent(sizes, times), 1.05)
    report.at_most("growth of bytes with turns, exponent", exponent(sizes, stored), 1.05)
    return report


def _run(
    folder: Path | None,
    floor: Floor,
    turns: int,
    *,
    durability: Durability = "durable",
    watched: bool = False,
) -> Turns:
    path = folder / "turns.refold" if folder else None
    before = _commits(floor)
    with refold.open(path, durability=durability, providers=[Instant(turns)]) as runtime:
        session = runtime.session("bench", model=MODEL, tools=[echo])
        record = _records(runtime, session)
        begun, cpu = now(), time.process_time()
        run = session.prompt("go")
        if watched:
            for _ in run:
                pass
        last = run.result()
        seconds, cpu = now() - begun, time.process_time() - cpu
        # The first append is the prompt with the first call, and the last one the last reply.
        commits = _records(runtime, session) - record - 2
        assert last.text == "done", last
        assert len(session.state.messages) == 2 * turns + 2
    size = 0
    if path:
        size = disk_bytes(path)
        shutil.rmtree(path)
    paced, at_once = (sum(pair) / 2 for pair in zip(before, _commits(floor), strict=True))
    return Turns(turns, seconds, cpu, commits, size, paced, at_once)


def _commits(floor: Floor) -> tuple[float, float]:
    return floor.seconds(RECORD, 60, PAUSE), floor.seconds(RECORD, 60)


def _records(runtime: refold.Runtime, session: refold.Session) -> int:
    head = runtime.log.head(session.stream)
    assert head is not None
    return head.record


if __name__ == "__main__":
    alone(measure)
