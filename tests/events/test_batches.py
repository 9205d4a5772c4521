"""The rules of a batch of tool calls: order, sequence, aborts, hooks, ends."""

from __future__ import annotations

import pytest

from refold.events.agent import facts, inputs
from refold.events.agent.bodies import ResultPatch, Verdict
from refold.events.agent.heads import CallHead
from refold.events.agent.messages import Text, ToolResultMessage
from refold.events.agent.settings import ToolHead
from refold.events.canonical import Json
from refold.events.fact import Offer
from tests.support.inputs import (
    finished,
    hook_raised,
    hook_returned,
    progressed,
    queued,
    returned,
    tool_failed,
)
from tests.support.machine import Machine

TOOLS = (
    ToolHead(name="add"),
    ToolHead(name="alone", sequential=True),
    ToolHead(name="prepared", prepares=True),
    ToolHead(name="safe", replay="safe"),
)
ABORT = Offer(inputs.AbortRequested())


def batch(*names: str, problem: bool = False, stop_reason: str | None = None, **given) -> Machine:
    """A session whose model has just called tools: `0` the first of `names`, and so on."""
    machine = Machine.ready(*TOOLS, **given)
    call = machine.prompt()
    heads = [CallHead(str(i), name, problem) for i, name in enumerate(names)]
    machine.offer(finished(call, "", *heads, stop_reason=stop_reason))
    return machine


def ends(machine: Machine) -> list[int]:
    return [fact.index for fact in machine.facts if isinstance(fact, facts.ToolExecutionEnd)]


def starts(machine: Machine) -> list[int]:
    return [fact.index for fact in machine.facts if isinstance(fact, facts.ToolExecutionStart)]


def results(machine: Machine) -> list[ToolResultMessage]:
    return [message for message in machine.messages if isinstance(message, ToolResultMessage)]


def told(machine: Machine) -> list[tuple[str, str]]:
    return [(result.tool_call_id, result.text) for result in results(machine)]


# Parallel


def test_all_starts_are_noted_before_all_run_as_one_list() -> None:
    machine = batch("add", "safe", "add")
    assert starts(machine) == [0, 1, 2]
    assert machine.facts[-1] == facts.ToolsCalled(indexes=(0, 1, 2), first=1)


def test_ends_come_in_the_order_of_completion_and_results_in_the_order_of_the_calls() -> None:
    machine = batch("add", "add", "add")
    for index in (2, 0):
        happened = machine.offer(returned(machine.tool_run(index), f"result {index}"))
        assert happened == ["tool_returned", "tool_execution_end"]
    happened = machine.offer(returned(machine.tool_run(1), "result 1"))
    assert happened[:9] == [
        "tool_returned",
        "tool_execution_end",
        *["message_start", "message_end"] * 3,
        "turn_end",
    ]
    assert ends(machine) == [2, 0, 1]
    assert told(machine) == [("0", "result 0"), ("1", "result 1"), ("2", "result 2")]


def test_outcomes_that_came_together_end_in_the_order_of_their_coming() -> None:
    machine = batch("add", "add", "add")
    for index in (2, 0):  # as after an append that was in flight while both came
        machine.accept(returned(machine.tool_run(index)))
    while machine.step():
        pass
    assert ends(machine) == [2, 0]


def test_a_tool_that_raises_does_not_hurt_the_others() -> None:
    machine = batch("add", "add")
    machine.offer(tool_failed(machine.tool_run(0), "broken"))
    machine.offer(returned(machine.tool_run(1), "fine"))
    assert [(result.text, result.is_error) for result in results(machine)] == [
        ("broken", True),
        ("fine", False),
    ]


def test_reports_are_shown_in_the_order_in_which_they_came() -> None:
    machine = batch("add", "add")
    assert machine.offer(progressed(machine.tool_run(1))) == [
        "tool_progressed",
        "tool_execution_update",
    ]
    assert machine.facts[-1] == facts.ToolExecutionUpdate(index=1)


def test_a_report_that_comes_with_the_end_is_shown_before_it() -> None:
    machine = batch("add")
    run = machine.tool_run()
    machine.accept(progressed(run))
    machine.accept(returned(run))
    steps = [type(machine.step()).__name__ for _ in range(2)]
    assert steps == ["ToolExecutionUpdate", "ToolExecutionEnd"]


# Sequential


@pytest.mark.parametrize(
    ("names", "given"),
    [
        (("add", "alone"), {}),
        (("alone", "add"), {}),
        (("add", "add"), {"tool_execution": "sequential"}),
    ],
)
def test_in_a_sequential_batch_a_call_is_told_before_the_next_one_starts(
    names: tuple[str, ...], given: dict[str, str]
) -> None:
    machine = batch(*names, **given)
    assert starts(machine) == [0]
    happened = machine.offer(returned(machine.tool_run(0)))
    assert happened == [
        "tool_returned",
        "tool_execution_end",
        "message_start",
        "message_end",
        "tool_execution_start",
        "tools_called",
    ]


# Calls that do not run


def test_a_call_of_a_tool_that_does_not_exist_ends_at_once() -> None:
    machine = batch("nobody", "add")
    assert ends(machine) == [0]
    machine.offer(returned(machine.tool_run(1)))
    assert told(machine)[0] == ("0", "There is no tool named nobody.")


def test_a_call_whose_arguments_do_not_fit_ends_at_once() -> None:
    machine = batch("add", problem=True)
    assert ends(machine) == [0]
    assert told(machine) == [("0", "it does not fit")]
    assert results(machine)[0].is_error


def test_no_call_of_a_reply_that_was_cut_off_runs_and_the_model_hears_of_it() -> None:
    machine = batch("add", "add", stop_reason="length", hooks=("before_tool_call",))
    assert machine.state.tool_runs == 0
    assert machine.state.hook_calls == 0
    assert machine.model_call == 2
    assert all("reached its length limit" in text for _, text in told(machine))


@pytest.mark.parametrize("stop_reason", ["error", "aborted"])
def test_calls_in_a_failed_reply_never_run(stop_reason: str) -> None:
    machine = batch("add", stop_reason=stop_reason)
    assert starts(machine) == []
    assert machine.rests


# Aborts


def test_a_parallel_batch_that_was_begun_before_an_abort_runs_on_with_the_signal_set() -> None:
    machine = batch("add", "add")
    machine.offer(ABORT)
    machine.offer(returned(machine.tool_run(0)))
    machine.offer(returned(machine.tool_run(1)))
    assert [id for id, _ in told(machine)] == ["0", "1"]


def test_an_abort_between_sequential_calls_leaves_the_later_ones_alone() -> None:
    machine = batch("alone", "add")
    machine.offer(ABORT)
    happened = machine.offer(returned(machine.tool_run(0)))
    assert happened[1:5] == ["tool_execution_end", "message_start", "message_end", "turn_end"]
    assert starts(machine) == [0]


def test_an_abort_at_the_start_of_a_call_ends_it_without_running_it() -> None:
    machine = Machine.ready(*TOOLS)
    machine.accept(finished(machine.prompt(), "", CallHead("0", "add")))
    while not isinstance(machine.step(), facts.ToolExecutionStart):
        pass
    machine.offer(ABORT)
    assert machine.state.tool_runs == 0
    assert told(machine) == [("0", "The call of add was not run: the run was aborted.")]


# Hooks


def test_before_tool_call_is_asked_and_then_the_tool_runs() -> None:
    machine = batch("add", hooks=("before_tool_call",))
    assert machine.state.tool_runs == 0
    happened = machine.offer(hook_returned(machine.hook_call("before_tool_call")))
    assert happened == ["hook_returned", "tools_called"]


def test_a_blocked_call_does_not_run_and_the_model_hears_why() -> None:
    machine = batch("add", hooks=("before_tool_call",))
    call = machine.hook_call("before_tool_call")
    machine.offer(hook_returned(call, Verdict(text="not now"), block=True))
    assert machine.state.tool_runs == 0
    assert told(machine) == [("0", "not now")]


def test_a_call_blocked_without_words_says_that_it_was_not_allowed() -> None:
    machine = batch("add", hooks=("before_tool_call",))
    machine.offer(hook_returned(machine.hook_call("before_tool_call"), Verdict(), block=True))
    assert told(machine) == [("0", "The call of add was not allowed.")]


def test_a_hook_that_raises_before_a_tool_fails_its_call_only() -> None:
    machine = batch("add", "add", hooks=("before_tool_call",))
    machine.offer(hook_raised(machine.hook_call("before_tool_call", 0)))
    machine.offer(hook_returned(machine.hook_call("before_tool_call", 1)))
    machine.offer(returned(machine.tool_run(1), "fine"))
    assert told(machine) == [("0", "it broke"), ("1", "fine")]


def test_an_abort_in_before_tool_call_fails_the_call() -> None:
    machine = batch("add", hooks=("before_tool_call",))
    machine.offer(ABORT)
    machine.offer(hook_returned(machine.hook_call("before_tool_call")))
    assert machine.state.tool_runs == 0
    assert "aborted" in told(machine)[0][1]


def test_arguments_that_a_hook_changed_are_what_the_tool_gets() -> None:
    machine = batch("add", hooks=("before_tool_call",))
    call = machine.hook_call("before_tool_call")
    machine.offer(hook_returned(call, Verdict(arguments=Json("{}")), patched=True))
    (run,) = machine.running.values()
    at = next(i for i, f in enumerate(machine.facts, 1) if isinstance(f, inputs.HookReturned))
    assert run.checked == at  # type: ignore[attr-defined]


def test_arguments_are_prepared_before_they_are_checked() -> None:
    machine = batch("prepared", hooks=("before_tool_call",))
    machine.offer(hook_returned(machine.hook_call("prepare_arguments"), Verdict(), patched=True))
    assert machine.hook_call("before_tool_call")


def test_prepared_arguments_that_do_not_fit_end_the_call() -> None:
    machine = batch("prepared")
    call = machine.hook_call("prepare_arguments")
    machine.offer(hook_returned(call, Verdict(text="too long"), problem=True))
    assert told(machine) == [("0", "too long")]


def test_after_tool_call_overrides_parts_of_the_result() -> None:
    machine = batch("add", hooks=("after_tool_call",))
    machine.offer(returned(machine.tool_run(), "five"))
    patch = ResultPatch(content=(Text("six"),))
    call = machine.hook_call("after_tool_call")
    machine.offer(hook_returned(call, patch, patched=True, is_error=True))
    (result,) = results(machine)
    assert (result.text, result.is_error, result.timestamp) == ("six", True, 1)


def test_a_hook_that_raises_after_a_tool_puts_its_error_in_place_of_the_result() -> None:
    machine = batch("add", hooks=("after_tool_call",))
    machine.offer(returned(machine.tool_run(), "five"))
    machine.offer(hook_raised(machine.hook_call("after_tool_call")))
    assert told(machine) == [("0", "it broke")]
    assert results(machine)[0].is_error


def test_after_tool_call_is_not_asked_about_calls_that_did_not_run() -> None:
    machine = batch("nobody", hooks=("after_tool_call",))
    assert machine.state.hook_calls == 0


# Ending the run


def test_a_batch_ends_the_run_if_all_its_results_ask_to() -> None:
    machine = batch("add", "add")
    machine.offer(returned(machine.tool_run(0), terminate=True))
    machine.offer(returned(machine.tool_run(1), terminate=True))
    assert machine.rests


def test_a_batch_goes_on_if_one_of_its_results_does_not_ask_to_end() -> None:
    machine = batch("add", "add")
    machine.offer(returned(machine.tool_run(0), terminate=True))
    machine.offer(returned(machine.tool_run(1)))
    assert machine.model_call == 2


def test_a_failed_tool_does_not_ask_to_end_but_a_hook_may() -> None:
    machine = batch("add", hooks=("after_tool_call",))
    machine.offer(tool_failed(machine.tool_run()))
    call = machine.hook_call("after_tool_call")
    machine.offer(hook_returned(call, ResultPatch(terminate=True), terminate=True))
    assert machine.rests


@pytest.mark.parametrize("queue", ["steering", "follow_up"])
def test_queued_messages_are_delivered_even_where_a_batch_asks_to_end(
    queue: inputs.QueueName,
) -> None:
    machine = batch("add")
    machine.offer(queued(queue, "one more"))
    machine.offer(returned(machine.tool_run(), terminate=True))
    assert machine.messages[-1].text == "one more"


# Recovery


def test_a_tool_that_is_safe_to_run_again_runs_again_and_is_told_so() -> None:
    machine = batch("safe")
    run = machine.tool_run()
    machine.offer(Offer(inputs.Recovered()))
    (effect,) = machine.running.values()
    assert (effect.call, effect.again) == (run, True)  # type: ignore[attr-defined]


def test_a_tool_that_is_not_safe_to_run_again_was_interrupted() -> None:
    machine = batch("add", "safe")
    machine.offer(Offer(inputs.Recovered()))
    machine.offer(returned(machine.tool_run(1), "again"))
    assert told(machine)[0][1].startswith("The run of add was interrupted")
    assert told(machine)[1] == ("1", "again")


def test_results_that_were_there_stay_there_through_recovery() -> None:
    machine = batch("add", "safe")
    machine.offer(returned(machine.tool_run(0), "five"))
    machine.offer(Offer(inputs.Recovered()))
    machine.offer(returned(machine.tool_run(1), "six"))
    assert told(machine) == [("0", "five"), ("1", "six")]


def test_a_hook_that_was_cut_off_is_called_again() -> None:
    machine = batch("add", hooks=("before_tool_call",))
    call = machine.hook_call("before_tool_call")
    machine.offer(Offer(inputs.Recovered()))
    assert machine.hook_call("before_tool_call") == call
