"""Runs a fault's inputs, and says whether what came of them is what was expected."""

from __future__ import annotations

from typing import Any

from tests.bugs import loop, sse
from tests.bugs.corpus import Bug

NOT_THERE = "is not there yet"


def run(bug: Bug) -> str | None:
    """Run all cases; the first difference, None if there is none."""
    if bug.kind not in ("loop", "sse"):
        return f"kind {bug.kind} {NOT_THERE}"
    if not bug.cases:
        return "it has no cases"
    found = [
        f"{case.get('name', case.get('script'))}: {different}"
        for case in bug.cases
        if (different := difference(bug, case))
    ]
    # What is not there yet hides no real difference.
    return min(found, key=lambda text: text.endswith(NOT_THERE), default=None)


def difference(bug: Bug, case: dict[str, Any]) -> str | None:
    """The first difference of one case; None if there is none."""
    if bug.kind == "sse":
        return sse.difference(bug.folder, case)
    return loop.difference(bug.script(case), case)
