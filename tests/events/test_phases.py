"""The table of phases says what happens: it is held against every phase of many runs."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from functools import cache

import pytest

from refold.events.agent import phases
from refold.events.agent.agent import AGENT, CODEC
from refold.events.agent.phases import OUTCOMES, WAITS_FOR
from refold.events.agent.state import Phase, SessionState
from refold.events.codec import type_name
from refold.events.fact import Fact
from tests.support.inputs import (
    delta,
    finished,
    hook_raised,
    hook_returned,
    model_failed,
    progressed,
    retry_due,
    returned,
    tool_failed,
)
from tests.support.machine import Machine
from tests.support.wandering import HOOKS, TOOLS, wander

OUTCOME_MAKERS = (
    delta,
    finished,
    model_failed,
    progressed,
    retry_due,
    returned,
    tool_failed,
    hook_returned,
    hook_raised,
    retry_due,
)


@cache
def runs() -> tuple[Machine, ...]:
    """Many runs, the same each time."""
    made = []
    for seed in range(150):
        chance = random.Random(seed)
        machine = Machine.ready(*TOOLS, hooks=HOOKS if seed % 2 else ())
        for _ in wander(machine, (chance.randrange(2**16) for _ in range(200))):
            pass
        made.append(machine)
    return tuple(made)


@cache
def states() -> dict[Phase, tuple[SessionState, ...]]:
    """States of those runs, by phase."""
    found: dict[Phase, list[SessionState]] = defaultdict(list)
    for machine in runs():
        for state in machine.states[2:]:
            found[state.phase].append(state)
    return {phase: tuple(some[:400]) for phase, some in found.items()}


def outcomes(state: SessionState) -> list[Fact]:
    """An outcome of each type for every number that an effect has, had or may get soon."""
    numbers = range(max(state.model_calls, state.tool_runs, state.hook_calls) + 2)
    return [make(number).fact for make in OUTCOME_MAKERS for number in numbers]


def table() -> dict[Phase, tuple[str, str]]:
    """The rows of the table as it stands in the source: phase, waits for, goes on with."""
    lines = (phases.__doc__ or "").splitlines()
    start = next(i for i, line in enumerate(lines) if set(line.strip()) == {"-", " "})
    columns = [match.start() for match in re.finditer("-+", lines[start])]
    rows: dict[Phase, tuple[str, str]] = {}
    current = ""
    for line in lines[start + 1 :]:
        if not line.strip():
            break
        cells = [line[a:b].strip() for a, b in zip(columns, [*columns[1:], len(line)], strict=True)]
        current = cells[0] or current
        known = rows.get(Phase(current), ("", ""))
        rows[Phase(current)] = (f"{known[0]} {cells[1]}", f"{known[1]} {cells[2]}")
    return rows


def named(cell: str, kinds: tuple[type[Fact], ...]) -> set[str]:
    """The types that a cell of the table names, with its ways of saying several at once."""
    all_names = {type_name(kind) for kind in kinds}
    found: set[str] = set()
    stem = ""
    for word in re.findall(r"[a-z_]+[*]?", cell.replace("hook outcomes", "hook outcome")):
        if word.startswith("_"):
            word = stem + word
        if word == "hook":
            found |= {"hook_returned", "hook_raised"}
        elif word.endswith("*"):
            found |= {name for name in all_names if name.startswith(word[:-1])}
        elif word in all_names:
            found.add(word)
            stem = word.partition("_")[0]
        else:
            assert word in ("or", "outcome"), word
    return found


def test_the_runs_that_it_is_held_against_come_through_every_phase() -> None:
    assert set(states()) == set(Phase)


def test_the_table_has_a_row_for_every_phase() -> None:
    assert set(table()) == set(Phase)


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase is not Phase.IDLE])
def test_the_table_names_the_outcomes_that_a_phase_waits_for(phase: Phase) -> None:
    waits = {type_name(kind) for kind in WAITS_FOR.get(phase, ())}
    assert named(table()[phase][0], CODEC.facts) == waits


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("kind", sorted(OUTCOMES, key=type_name), ids=type_name)
def test_an_outcome_is_accepted_in_the_phases_that_wait_for_it_and_in_no_other(
    phase: Phase, kind: type[Fact]
) -> None:
    accepted = any(
        AGENT.decide(state, outcome)
        for state in states()[phase]
        for outcome in outcomes(state)
        if type(outcome) is kind
    )
    assert accepted is (kind in WAITS_FOR.get(phase, ()))


@pytest.mark.parametrize("phase", Phase)
def test_an_outcome_is_accepted_only_where_its_effect_is_owed(phase: Phase) -> None:
    for state in states()[phase]:
        owed = {effect.key for effect in AGENT.outstanding(state)}
        for outcome in outcomes(state):
            kind = type_name(type(outcome)).partition("_")[0]
            key = f"{kind}:{outcome.call}"  # type: ignore[attr-defined]
            assert bool(AGENT.decide(state, outcome)) is (key in owed)


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase is not Phase.IDLE])
def test_a_phase_goes_on_with_what_the_table_names(phase: Phase) -> None:
    stepped = {
        type_name(type(fact))
        for machine in runs()
        for state in machine.states
        if state.phase is phase and (fact := AGENT.step(state)) is not None
    }
    assert stepped == named(table()[phase][1], CODEC.facts)


def test_nothing_happens_by_itself_while_a_session_rests() -> None:
    assert {AGENT.step(state) for state in states()[Phase.IDLE]} == {None}


@pytest.mark.parametrize(
    "phase", [phase for phase in Phase if phase not in (*WAITS_FOR, Phase.IDLE)]
)
def test_a_phase_that_waits_for_nothing_passes_by_itself(phase: Phase) -> None:
    assert all(AGENT.step(state) is not None for state in states()[phase])
    assert all(AGENT.outstanding(state) == () for state in states()[phase])
