"""What anyone may append to a session's stream, without driving it, fits wherever it comes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refold.events.agent import inputs
from refold.events.agent.agent import AGENT
from refold.events.codec import type_name
from refold.events.fact import Fact, UnknownEvent
from tests.support.inputs import SHAPE
from tests.support.machine import Machine
from tests.support.wandering import HOOKS, TOOLS, choices, finish, wander

OFFERS: tuple[Fact, ...] = (
    inputs.Queued(queue="steering", shapes=(SHAPE,)),
    inputs.Queued(queue="follow_up", shapes=(SHAPE, SHAPE)),
    inputs.Queued(queue="next_turn", shapes=(SHAPE,)),
    inputs.Queued(queue="steering", shapes=(SHAPE,), now=True),
    inputs.AbortRequested(),
    inputs.Cancelled(item=3),
    inputs.Cleared(queues=("steering", "follow_up")),
    inputs.Renamed(name="other"),
    UnknownEvent(type="noted", schema=1, critical=False, skeleton=b""),
)


@pytest.mark.parametrize("offered", OFFERS, ids=lambda fact: type_name(type(fact)))
@given(hooks=st.booleans(), chosen=choices)
def test_an_offer_can_be_folded_and_gone_on_from_wherever_it_was_put(
    offered: Fact, hooks: bool, chosen: list[int]
) -> None:
    machine = Machine.ready(*TOOLS, hooks=HOOKS if hooks else ())
    for _ in wander(machine, chosen):
        pass
    state = AGENT.evolve(machine.state, offered)
    assert state.version == machine.state.version + 1
    machine.facts.append(offered)
    machine.bodies.append(b"")
    machine.states.append(state)
    machine.running = {effect.key: effect for effect in AGENT.outstanding(state)}
    finish(machine)
