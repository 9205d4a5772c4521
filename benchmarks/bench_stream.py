"""How fast does a long streamed reply go through the log, and what does its grain cost?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import refold
from benchmarks.instant import MODEL, Instant
from benchmarks.measuring import Floor, disk_bytes, exponent, interleaved, now
from benchmarks.report import Report, Setting, alone

DELTA = " lorem ipsum"


@dataclass
class Streamed:
    """What a streamed reply took.

    Attributes:
        shown: pieces that a watcher saw one by one.
        commit: seconds of a raw durable commit.
    """

    deltas: int
    seconds: float
    updates: int
    shown: int
    commits: int
    bytes: int
    commit: float


def measure(setting: Setting) -> Report:
    """How fast does a long streamed reply go through the log, and what does its grain cost?"""
    report = Report(measure.__doc__ or "")
    many = setting.scaled(20_000, 1000)
    floor = Floor(setting.folder)
    variants: dict[str, Callable[[], Streamed]] = {
        f"{many // 4:,} deltas, gathered": lambda: _run(setting, floor, many // 4, 0.05),
        f"{many:,} deltas, gathered": lambda: _run(setting, floor, many, 0.05),
        f"{many:,} deltas, gathered, not watched": lambda: _run(
            setting, floor, many, 0.05, watched=False
        ),
        f"{many // 20:,} deltas, each a fact": lambda: _run(setting, floor, many // 20, 0.0),
        f"{many // 5:,} deltas, each a fact": lambda: _run(setting, floor, many // 5, 0.0),
    }
    runs = interleaved(variants, setting.scaled(3, 1))
    floor.close()

    table = report.table(
        "row", "deltas/s", "us a delta", "raw commits a delta", "commits", "updates", "bytes/delta"
    )
    for name, found in runs.items():
        each = median(run.seconds / run.deltas for run in found)
        table.rows.append(
            (
                name,
                1 / each,
                each * 1e6,
                median(run.seconds / run.deltas / run.commit for run in found),
                int(median(run.commits for run in found)),
                int(median(run.updates for run in found)),
                median(run.bytes / run.deltas for run in found),
            )
        )
    report.notes.append(
        f"deltas of {len(DELTA)} characters, as fast as the model can give them, in a durable log; "
        "a watcher reads every event. Gathered: for 50 ms, as by default; neighbours are joined, "
        "so what is shown (and stored) is all of the text, in fewer pieces. Each a fact: "
        "delta_interval=0, where every delta is durable before it is shown."
    )
    report.doubt([run.commit for found in runs.values() for run in found])
    gathered = [runs[f"{size:,} deltas, gathered"] for size in (many // 4, many)]
    report.at_most(
        "growth of time with deltas, gathered, exponent",
        exponent((many // 4, many), [median(run.seconds for run in found) for found in gathered]),
        1.05,
    )
    fine = [runs[f"{size:,} deltas, each a fact"] for size in (many // 20, many // 5)]
    report.at_most(
        "growth of time with deltas, each a fact, exponent",
        exponent((many // 20, many // 5), [median(r.seconds for r in found) for found in fine]),
        1.05,
    )
    return report


def _run(
    setting: Setting, floor: Floor, deltas: int, interval: float, *, watched: bool = True
) -> Streamed:
    path = setting.folder / f"stream-{now()}.refold"
    commit = floor.seconds(400, 60)
    model = Instant(0, text=DELTA, deltas=deltas)
    options = refold.Options(delta_interval=interval)
    updates = shown = 0
    text = ""
    with refold.open(path, providers=[model], options=options) as runtime:
        session = runtime.session("bench", model=MODEL)
        before = runtime.log.head(session.stream)
        begun = now()
        run = session.prompt("go")
        if watched:
            for event in run:
                if isinstance(event, refold.MessageUpdate):
                    updates += 1
                    pieces = [piece for piece in event.pieces if piece.kind == "text_delta"]
                    shown += len(pieces)
                    text += "".join(piece.text for piece in pieces)
        reply = run.result()
        seconds = now() - begun
        after = runtime.log.head(session.stream)
    assert reply.text == DELTA * deltas
    assert not watched or text == reply.text
    assert before is not None
    assert after is not None
    return Streamed(
        deltas, seconds, updates, shown, after.record - before.record, disk_bytes(path), commit
    )


if __name__ == "__main__":
    alone(measure)
