"""Scripts that led another agent astray lead refold to where they should."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.bugs.corpus import CORPUS, Bug, bugs
from tests.bugs.loop import difference


def cases() -> Iterator[Any]:
    for bug in bugs(CORPUS):
        for case in bug.cases if bug.kind == "loop" else ():
            for log in ("memory", "disk"):
                if log == "memory" or "repeat" not in bug.script(case):
                    name = f"{bug.id}-{case['script'].removesuffix('.json')}-{log}"
                    yield pytest.param(bug, case, log == "disk", id=name)


@pytest.mark.parametrize(("bug", "case", "disk"), list(cases()))
def test_a_script_comes_to_its_right_end(bug: Bug, case: dict[str, Any], disk: bool) -> None:
    found = difference(bug.script(case), case, disk=disk)
    if found is not None:
        pytest.fail(found, pytrace=False)


def test_the_cases_are_there() -> None:
    assert len(list(cases())) == 19
