"""The generated parts of the docs are what the code says now."""

from __future__ import annotations

from pathlib import Path

import pytest

from refold.events.agent.phases import OUTCOMES
from refold.events.agent.state import Phase
from refold.events.codec import type_name
from tests.docs.examples import PAGES, ROOT
from tests.docs.generate import PARTS, fresh, transitions


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_generated_parts_are_fresh(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == fresh(page), "run `make docs`"


def test_every_part_stands_in_a_page() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for name in PARTS:
        assert f"<!-- generated: {name} -->" in text


def test_the_diagram_has_every_phase_and_every_outcome_that_moves_on() -> None:
    seen = transitions()
    assert {phase for edge in seen for phase in edge} == set(Phase)
    names = set().union(*seen.values())
    # The others come while a phase waits, and it waits on.
    waits_on = {"model_delta", "model_finished", "tool_progressed", "tool_returned", "tool_failed"}
    assert {type_name(kind) for kind in OUTCOMES} - waits_on <= names
