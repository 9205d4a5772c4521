"""How many commits does a turn with many parallel tools need?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from statistics import mean, median

import refold
from benchmarks.instant import MODEL, Instant, echo, echo_async
from benchmarks.measuring import now
from benchmarks.report import Report, Setting, alone

MANY = 16


def measure(setting: Setting) -> Report:
    """How many commits does a turn with many parallel tools need?"""
    report = Report(measure.__doc__ or "")
    turns = setting.scaled(200, 20)
    table = report.table("row", "median", "mean", "most", "ms/turn", "x 1 tool", "one by one")
    of_one = 0.0
    for tools in (1, 4, MANY, 64):
        commits, ms = _run(setting, turns, tools, echo)
        of_one = of_one or ms
        name = f"{tools} tool{'s' * (tools > 1)}"
        table.rows.append(
            (name, median(commits), float(mean(commits)), max(commits), ms, ms / of_one, tools + 1)
        )
        if tools == MANY:
            report.at_most(f"commits a turn with {MANY} parallel tools, median", median(commits), 3)
    commits, ms = _run(setting, turns, MANY, echo_async)
    table.rows.append(
        (
            f"{MANY} async tools",
            median(commits),
            float(mean(commits)),
            max(commits),
            ms,
            ms / of_one,
            17,
        )
    )
    report.notes.append(
        f"{turns} turns a row, durable, tools that return at once. A commit holds whatever came "
        "while the one before it was under way; `one by one` is what a turn would need without that"
    )
    return report


def _run(setting: Setting, turns: int, tools: int, tool: refold.Tool) -> tuple[list[int], float]:
    """Commits of each turn, and milliseconds a turn."""
    path = setting.folder / f"{tool.name}-{tools}.refold"
    model = Instant(turns, tool=tool.name, calls=tools)
    with refold.open(path, providers=[model]) as runtime:
        session = runtime.session("bench", model=MODEL, tools=[tool])
        begun = now()
        session.prompt("go").result()
        ms = (now() - begun) / turns * 1e3
        starts = list(_turn_starts(session))
    assert len(starts) == turns + 1
    return [after - before for before, after in pairwise(starts)], ms


def _turn_starts(session: refold.Session) -> Iterator[int]:
    """The number of the append with each turn's start: it has the end of the one before, too."""
    for entry in session.past.entries():
        if entry.type == "turn_start":
            yield entry.record


if __name__ == "__main__":
    alone(measure)
