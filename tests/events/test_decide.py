"""What inputs are refused with, which come too late, and which need no fact."""

from __future__ import annotations

import pytest

from refold.events.agent import inputs
from refold.events.agent.agent import AGENT
from refold.events.agent.heads import CallHead, Shape
from refold.events.agent.inputs import INPUTS
from refold.events.agent.state import Phase
from refold.events.codec import type_name
from refold.events.errors import (
    BusyError,
    InvalidArgumentError,
    NothingToContinueError,
    UnknownEventError,
)
from refold.events.fact import Fact, Offer, UnknownEvent
from tests.support.inputs import (
    SHAPE,
    created,
    delta,
    finished,
    listener_failed,
    model_failed,
    prompted,
    queued,
    replaced,
    returned,
    settings,
)
from tests.support.machine import Machine


@pytest.fixture
def machine() -> Machine:
    """A session at rest."""
    return Machine.ready("add")


def decided(machine: Machine, offer: Offer) -> tuple[Fact, ...]:
    return AGENT.decide(machine.state, offer.fact)


# Creating


def test_a_session_is_created_once(machine: Machine) -> None:
    with pytest.raises(InvalidArgumentError, match="'session' exists already"):
        decided(machine, created())


# Prompting and continuing


def test_a_prompt_is_refused_while_a_run_is_active(machine: Machine) -> None:
    machine.prompt()
    with pytest.raises(BusyError, match=r"busy with run 1: steer\(\).*follow_up\(\).*abort\(\)"):
        decided(machine, prompted("more"))


def test_a_prompt_is_refused_from_acceptance_until_the_session_has_settled(
    machine: Machine,
) -> None:
    machine.accept(prompted("hi"))
    phases = set()
    while not machine.rests:
        phases.add(machine.state.phase)
        with pytest.raises(BusyError):
            decided(machine, prompted("more"))
        if machine.step() is None:
            machine.accept(finished(machine.model_call, "hello"))
    assert {Phase.START, Phase.STREAM, Phase.TURN_END, Phase.SETTLE} <= phases
    assert decided(machine, prompted("more"))


def test_continuing_is_refused_while_a_run_is_active(machine: Machine) -> None:
    machine.prompt()
    with pytest.raises(BusyError):
        decided(machine, Offer(inputs.Continued()))


def test_continuing_nothing_is_refused(machine: Machine) -> None:
    with pytest.raises(NothingToContinueError, match=r"no messages.*prompt\(\) it"):
        decided(machine, Offer(inputs.Continued()))


def test_continuing_from_an_answer_is_refused_while_nothing_is_queued(machine: Machine) -> None:
    machine.offer(finished(machine.prompt(), "hello"))
    with pytest.raises(NothingToContinueError, match="ends with an answer"):
        decided(machine, Offer(inputs.Continued()))


def test_continuing_from_an_answer_takes_steering_before_follow_ups() -> None:
    machine = Machine.ready(idle_queue="hold")
    machine.offer(finished(machine.prompt(), "hello"))
    machine.offer(queued("follow_up", "later"))
    machine.offer(queued("steering", "now"))
    happened = machine.offer(Offer(inputs.Continued()))
    assert happened[:3] == ["continued", "drained", "agent_start"]
    assert machine.messages[-1].text == "now"


@pytest.mark.parametrize("role", ["user", "tool_result", "custom"])
def test_continuing_from_an_unanswered_message_needs_no_queue(role: inputs.Any) -> None:
    machine = Machine.ready()
    machine.offer(replaced(Shape(role=role, call=CallHead("1", "add"))))
    assert machine.accept(Offer(inputs.Continued()))


# Cancelling


def test_a_queued_message_can_be_taken_back_once(machine: Machine) -> None:
    machine.prompt()
    machine.offer(queued("follow_up", "later"))
    item = machine.state.follow_up[0].id
    machine.offer(Offer(inputs.Cancelled(item=item)))
    assert machine.state.follow_up == ()
    with pytest.raises(InvalidArgumentError, match=f"item {item} does not wait"):
        decided(machine, Offer(inputs.Cancelled(item=item)))


def test_a_delivered_message_cannot_be_taken_back(machine: Machine) -> None:
    call = machine.prompt()
    machine.offer(queued("steering", "now"))
    item = machine.state.steering[0].id
    machine.offer(finished(call, "hello"))
    with pytest.raises(InvalidArgumentError, match="it was delivered"):
        decided(machine, Offer(inputs.Cancelled(item=item)))


# Settings


def test_settings_that_are_as_they_are_wanted_need_no_fact(machine: Machine) -> None:
    same = settings(model="test/model", tools=("add",), hooks=())
    assert decided(machine, same) == ()
    assert decided(machine, settings()) == ()


def test_settings_of_which_one_is_new_are_a_fact(machine: Machine) -> None:
    assert decided(machine, settings(model="test/model", thinking_level="high"))


# Outcomes that nobody waits for


def test_a_delta_behind_the_end_of_its_reply_is_ignored(machine: Machine) -> None:
    call = machine.prompt()
    machine.accept(finished(call, "hello"))
    assert decided(machine, delta(call, "late")) == ()
    assert decided(machine, finished(call, "again")) == ()
    assert decided(machine, model_failed(call)) == ()


def test_the_outcome_of_a_model_call_that_recovery_made_again_is_ignored(
    machine: Machine,
) -> None:
    call = machine.prompt()
    machine.offer(Offer(inputs.Recovered()))
    assert machine.model_call == call + 1
    assert decided(machine, finished(call, "from the old process")) == ()
    assert decided(machine, finished(call + 1, "from the new one"))


def test_the_outcome_of_a_tool_that_recovery_gave_up_is_ignored(machine: Machine) -> None:
    machine.offer(finished(machine.prompt(), "", CallHead("1", "add")))
    run = machine.tool_run()
    machine.offer(Offer(inputs.Recovered()))
    assert decided(machine, returned(run)) == ()


def test_the_outcome_of_an_earlier_run_is_ignored(machine: Machine) -> None:
    call = machine.prompt()
    machine.offer(finished(call, "hello"))
    machine.prompt("again")
    assert decided(machine, finished(call, "late")) == ()


# What is said to a session that has nothing to do with it


def test_recovery_of_a_session_at_rest_needs_no_fact(machine: Machine) -> None:
    assert AGENT.recovery(machine.state) is None
    assert decided(machine, Offer(inputs.Recovered())) == ()


def test_recovery_of_an_active_run_is_a_fact(machine: Machine) -> None:
    machine.prompt()
    assert AGENT.recovery(machine.state) == inputs.Recovered()


def test_a_listener_that_failed_when_nothing_ran_ends_nothing(machine: Machine) -> None:
    assert decided(machine, listener_failed()) == ()


def test_a_listener_fails_a_run_once(machine: Machine) -> None:
    machine.prompt()
    machine.accept(listener_failed())
    assert decided(machine, listener_failed()) == ()


# A stream that a later release has written to


@pytest.mark.parametrize("kind", INPUTS, ids=type_name)
def test_a_session_with_unknown_critical_events_takes_no_input(
    machine: Machine, kind: type[Fact]
) -> None:
    unknown = UnknownEvent(type="moved", schema=1, critical=True, skeleton=b"")
    state = AGENT.evolve(machine.state, unknown)
    given = {"shapes": (SHAPE,), "queue": "steering", "queues": (), "stop_reason": "stop"}
    names = [field for field in kind.__struct_fields__ if field in given]
    numbers = {name: 0 for name in ("call", "item") if name in kind.__struct_fields__}
    texts = {name: "" for name in ("name",) if name in kind.__struct_fields__}
    ids = {name: b"" for name in ("uid",) if name in kind.__struct_fields__}
    offered = kind(**{name: given[name] for name in names}, **numbers, **texts, **ids)
    with pytest.raises(UnknownEventError, match=r"'moved'.*looked at, but not run; update refold"):
        AGENT.decide(state, offered)


def test_a_session_with_unknown_critical_events_takes_no_step(machine: Machine) -> None:
    machine.accept(prompted("hi"))
    unknown = UnknownEvent(type="moved", schema=1, critical=True, skeleton=b"")
    assert AGENT.step(machine.state) is not None
    assert AGENT.step(AGENT.evolve(machine.state, unknown)) is None
