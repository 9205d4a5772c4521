"""The order of events in a run: messages, turns, queues, hooks, aborts and failures."""

from __future__ import annotations

import pytest

from refold.events.agent import inputs
from refold.events.agent.heads import CallHead
from refold.events.agent.state import Phase
from refold.events.fact import Offer
from tests.support.inputs import (
    began,
    created,
    delta,
    finished,
    hook_raised,
    hook_returned,
    listener_failed,
    model_failed,
    prompted,
    queued,
    replaced,
    returned,
    settings,
)
from tests.support.machine import Machine

ADD = CallHead("1", "add")
ABORT = Offer(inputs.AbortRequested())


@pytest.fixture
def machine() -> Machine:
    """A session with one tool."""
    return Machine.ready("add")


def texts(machine: Machine) -> list[str]:
    return [message.text for message in machine.messages]


# A reply


def test_a_prompt_starts_a_run_and_calls_the_model(machine: Machine) -> None:
    assert machine.offer(prompted("hi")) == [
        "prompted",
        "agent_start",
        "turn_start",
        "message_start",
        "message_end",
        "context_built",
        "model_called",
    ]


def test_each_message_of_a_prompt_is_shown(machine: Machine) -> None:
    happened = machine.offer(prompted("one", "two"))
    assert happened[3:7] == ["message_start", "message_end"] * 2
    assert texts(machine) == ["one", "two"]


def test_a_streamed_reply_is_shown_as_it_comes(machine: Machine) -> None:
    call = machine.prompt()
    assert machine.offer(began(call)) == ["model_delta", "message_start"]
    assert machine.offer(delta(call, "he", start=True)) == ["model_delta", "message_update"]
    assert machine.offer(delta(call, "llo")) == ["model_delta", "message_update"]
    assert machine.offer(finished(call, "hello")) == [
        "model_finished",
        "message_end",
        "turn_end",
        "agent_end",
        "settled",
    ]


def test_a_delta_that_comes_first_opens_the_message(machine: Machine) -> None:
    call = machine.prompt()
    happened = machine.offer(delta(call, "he", start=True))
    assert happened == ["model_delta", "message_start", "message_update"]


def test_a_reply_that_comes_at_once_is_shown_whole(machine: Machine) -> None:
    happened = machine.offer(finished(machine.prompt(), "hello"))
    assert happened[1:3] == ["message_start", "message_end"]
    assert texts(machine) == ["hi", "hello"]


def test_a_session_rests_when_its_run_is_over(machine: Machine) -> None:
    machine.offer(finished(machine.prompt(), "hello"))
    assert machine.rests
    assert machine.state.run is None


# Queues


def test_steering_is_delivered_after_the_turn_and_before_the_next_call(
    machine: Machine,
) -> None:
    machine.offer(finished(machine.prompt(), "", ADD))
    machine.offer(queued("steering", "be brief"))
    assert machine.offer(returned(machine.tool_run()))[4:] == [
        "turn_end",
        "drained",
        "turn_start",
        "message_start",
        "message_end",
        "context_built",
        "model_called",
    ]


def test_steering_that_came_before_the_first_call_is_in_it(machine: Machine) -> None:
    machine.accept(prompted("hi"))
    machine.accept(queued("steering", "be brief"))
    while machine.step():
        pass
    assert [message.text for message in next(machine.requests).messages] == ["hi", "be brief"]


def test_a_follow_up_is_delivered_only_when_the_agent_would_stop(machine: Machine) -> None:
    machine.offer(finished(machine.prompt(), "", ADD))
    machine.offer(queued("follow_up", "and then?"))
    machine.offer(returned(machine.tool_run()))
    assert "and then?" not in texts(machine)
    machine.offer(finished(machine.model_call, "well"))
    assert texts(machine)[-1] == "and then?"


def test_steering_goes_before_a_follow_up(machine: Machine) -> None:
    call = machine.prompt()
    machine.offer(queued("follow_up", "later"))
    machine.offer(queued("steering", "now"))
    machine.offer(finished(call, "hello"))
    assert texts(machine)[-1] == "now"


@pytest.mark.parametrize("queue", ["steering", "follow_up"])
@pytest.mark.parametrize(("mode", "count"), [("one_at_a_time", 1), ("all", 3)])
def test_a_queue_gives_one_or_all_at_a_time(queue: inputs.QueueName, mode: str, count: int) -> None:
    machine = Machine.ready(**{f"{queue}_mode": mode})
    call = machine.prompt()
    for text in ("a", "b", "c"):
        machine.offer(queued(queue, text))
    machine.offer(finished(call, "hello"))
    assert texts(machine)[2:] == ["a", "b", "c"][:count]


def test_queued_messages_wait_for_the_next_run_after_a_failed_reply(machine: Machine) -> None:
    call = machine.prompt()
    machine.offer(queued("steering", "now"))
    machine.offer(finished(call, stop_reason="error", error="overloaded"))
    assert machine.rests
    assert len(machine.state.steering) == 1


def test_a_message_queued_at_rest_starts_a_run(machine: Machine) -> None:
    happened = machine.offer(queued("follow_up", "hello?"))
    assert happened[:3] == ["queued", "drained", "agent_start"]
    assert texts(machine) == ["hello?"]


def test_a_message_queued_at_rest_waits_where_the_session_is_to_hold_it() -> None:
    machine = Machine.ready(idle_queue="hold")
    assert machine.offer(queued("follow_up", "hello?")) == ["queued"]


def test_a_message_that_came_while_the_run_settled_starts_the_next_one(machine: Machine) -> None:
    machine.accept(finished(machine.prompt(), "hello"))
    while machine.state.phase is not Phase.SETTLE:
        machine.step()
    machine.offer(queued("steering", "wait"))
    assert texts(machine)[-1] == "wait"
    assert machine.state.runs == 2


def test_messages_for_the_next_turn_are_said_in_their_order_before_the_prompt(
    machine: Machine,
) -> None:
    machine.offer(queued("next_turn", "first"))
    machine.accept(prompted("prompt"))
    machine.step()
    machine.accept(queued("next_turn", "second"))  # it came before the run has started
    while machine.step():
        pass
    assert texts(machine) == ["first", "second", "prompt"]


def test_messages_of_a_queue_go_back_when_their_delivery_fails() -> None:
    machine = Machine.ready(steering_mode="all")
    call = machine.prompt()
    machine.offer(queued("steering", "first", "second"))
    machine.offer(queued("steering", "third"))
    machine.accept(finished(call, "hello"))
    while texts(machine)[-1] != "first":
        machine.step()
    machine.offer(listener_failed())
    assert texts(machine)[-2] == "first"
    machine.offer(Offer(inputs.Continued()))
    assert texts(machine)[-2:] == ["second", "third"]


# Aborts


def test_an_abort_reaches_the_signal_and_queues_keep_what_they_have(machine: Machine) -> None:
    call = machine.prompt()
    machine.offer(queued("follow_up", "later"))
    assert machine.offer(ABORT) == ["abort_requested"]
    assert machine.signals == [1]
    happened = machine.offer(finished(call, "hel", stop_reason="aborted", error="aborted"))
    assert happened[-3:] == ["turn_end", "agent_end", "settled"]
    assert len(machine.state.follow_up) == 1


def test_an_abort_at_rest_does_nothing(machine: Machine) -> None:
    machine.offer(ABORT)
    assert machine.signals == []
    assert machine.rests


def test_the_call_after_an_abort_in_a_tool_is_told_of_it(machine: Machine) -> None:
    machine.offer(finished(machine.prompt(), "", ADD))
    machine.offer(ABORT)
    machine.offer(returned(machine.tool_run()))
    (call,) = machine.running.values()
    assert call.aborted  # type: ignore[attr-defined]


def test_the_run_after_an_aborted_one_is_not_aborted(machine: Machine) -> None:
    call = machine.prompt()
    machine.offer(ABORT)
    machine.offer(finished(call, stop_reason="aborted", error="aborted"))
    machine.prompt("again")
    (after,) = machine.running.values()
    assert not after.aborted  # type: ignore[attr-defined]


# Failures


def test_a_failed_run_ends_around_a_message_that_says_why(machine: Machine) -> None:
    happened = machine.offer(model_failed(machine.prompt()))
    assert happened == [
        "model_failed",
        "message_start",
        "message_end",
        "turn_end",
        "agent_end",
        "settled",
    ]
    message = machine.messages[-1]
    assert message.stop_reason == "error"  # type: ignore[union-attr]
    assert message.error_message == "it broke"  # type: ignore[union-attr]


def test_a_failure_after_an_abort_counts_as_aborted(machine: Machine) -> None:
    call = machine.prompt()
    machine.offer(ABORT)
    machine.offer(model_failed(call))
    assert machine.messages[-1].stop_reason == "aborted"  # type: ignore[union-attr]


def test_a_failure_in_a_batch_stops_all_that_is_under_way(machine: Machine) -> None:
    machine.offer(finished(machine.prompt(), "", ADD, CallHead("2", "add")))
    machine.offer(listener_failed())
    assert machine.rests
    assert machine.running == {}


def test_the_next_run_clears_the_error(machine: Machine) -> None:
    machine.offer(model_failed(machine.prompt()))
    assert machine.state.error is not None
    machine.prompt("again")
    assert machine.state.error is None


# Hooks around a turn


def test_the_context_is_transformed_before_each_call() -> None:
    machine = Machine.ready(hooks=("transform_context",))
    assert machine.offer(prompted("hi"))[-1] == "hook_called"
    happened = machine.offer(hook_returned(machine.hook_call("transform_context")))
    assert happened == ["hook_returned", "context_built", "model_called"]


def test_a_transform_that_raises_ends_the_run() -> None:
    machine = Machine.ready(hooks=("transform_context",))
    machine.offer(prompted("hi"))
    machine.offer(hook_raised(machine.hook_call("transform_context")))
    assert machine.rests
    assert machine.state.model_calls == 0


def test_after_a_turn_the_next_one_is_prepared_and_then_it_is_asked_whether_to_stop() -> None:
    machine = Machine.ready(hooks=("prepare_next_turn", "should_stop_after_turn"))
    happened = machine.offer(finished(machine.prompt(), "hello"))
    assert happened[-2:] == ["turn_end", "hook_called"]
    happened = machine.offer(hook_returned(machine.hook_call("prepare_next_turn")))
    assert happened == ["hook_returned", "hook_called"]
    happened = machine.offer(hook_returned(machine.hook_call("should_stop_after_turn")))
    assert happened == ["hook_returned", "agent_end", "settled"]


def test_a_hook_that_says_stop_ends_the_run_and_leaves_the_queues() -> None:
    machine = Machine.ready(hooks=("should_stop_after_turn",))
    call = machine.prompt()
    machine.offer(queued("steering", "now"))
    machine.offer(finished(call, "hello"))
    machine.offer(hook_returned(machine.hook_call("should_stop_after_turn"), stop=True))
    assert machine.rests
    assert len(machine.state.steering) == 1


def test_a_failed_reply_skips_the_hooks() -> None:
    machine = Machine.ready(hooks=("prepare_next_turn", "should_stop_after_turn"))
    machine.offer(finished(machine.prompt(), stop_reason="error", error="overloaded"))
    assert machine.rests


# Changes in mid-run


def test_settings_changed_in_a_run_count_from_the_next_one(machine: Machine) -> None:
    machine.offer(finished(machine.prompt(), "", ADD))
    machine.offer(settings(model="test/other"))
    machine.offer(returned(machine.tool_run()))
    machine.offer(finished(machine.model_call, "done"))
    machine.prompt("again")
    models = [request.model for request in machine.requests]
    assert models == ["test/model", "test/model", "test/other"]


def test_a_conversation_replaced_in_a_run_is_not_seen_by_that_run(machine: Machine) -> None:
    machine.offer(finished(machine.prompt(), "", ADD))
    machine.offer(replaced())
    machine.offer(returned(machine.tool_run()))
    *_, request = machine.requests
    assert [message.text for message in request.messages] == ["hi", "", "done"]


def test_a_reset_in_mid_message_leaves_the_message_to_be_finished(machine: Machine) -> None:
    machine.accept(prompted("hi"))
    while machine.state.shown is None:
        machine.step()
    machine.accept(Offer(inputs.ResetRequested()))
    machine.step()
    assert texts(machine) == ["hi"]


# Recovery


def test_a_stream_that_was_cut_off_is_made_again(machine: Machine) -> None:
    call = machine.prompt()
    machine.offer(delta(call, "hel", start=True))
    assert machine.offer(Offer(inputs.Recovered())) == ["recovered", "model_called"]
    assert machine.state.shown is None


def test_a_reply_that_was_finished_is_not_asked_for_again(machine: Machine) -> None:
    machine.accept(finished(machine.prompt(), "hello"))
    happened = machine.offer(Offer(inputs.Recovered()))
    assert "model_called" not in happened
    assert texts(machine) == ["hi", "hello"]


def test_what_recovery_finds_at_its_first_event_is_only_the_name() -> None:
    machine = Machine()
    machine.offer(created("first"))
    assert (machine.state.name, machine.state.version) == ("first", 1)
