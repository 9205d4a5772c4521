"""Laws of the machine, for random runs: any outcome and any command between any two events."""

from __future__ import annotations

from collections import Counter
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from refold.events.agent import facts, inputs
from refold.events.agent.agent import AGENT, CODEC
from refold.events.agent.context import answered
from refold.events.agent.heads import MessageHead
from refold.events.agent.projection import agent_state, project
from refold.events.agent.state import Phase
from refold.events.fold import fold, reexecute
from tests.support.machine import Machine
from tests.support.validity import faults
from tests.support.wandering import HOOKS, TOOLS, choices, finish, wander


def start(hooks: bool) -> Machine:
    return Machine.ready(*TOOLS, hooks=HOOKS if hooks else ())


QUEUES: tuple[inputs.QueueName, ...] = get_args(inputs.QueueName)
runs = st.tuples(st.booleans(), choices)
"""Whether there are hooks, and what happens."""


def ran(run: tuple[bool, list[int]]) -> Machine:
    machine = start(run[0])
    for _ in wander(machine, run[1]):
        pass
    return machine


@given(runs, st.integers(0))
def test_folding_a_stretch_and_then_the_rest_is_folding_all(
    run: tuple[bool, list[int]], cut: int
) -> None:
    happened = ran(run).facts
    cut %= len(happened) + 1
    a, b = happened[:cut], happened[cut:]
    assert fold(AGENT, a + b) == fold(AGENT, b, start=fold(AGENT, a))


@given(runs)
def test_each_state_is_the_fold_of_what_is_stored_of_the_facts_before_it(
    run: tuple[bool, list[int]],
) -> None:
    machine = ran(run)
    folded = AGENT.initial()
    for fact, live in zip(machine.facts, machine.states[1:], strict=True):
        folded = AGENT.evolve(folded, CODEC.decode(CODEC.encode(fact)))
        assert folded == live


@given(runs)
def test_the_version_of_a_state_counts_its_facts(run: tuple[bool, list[int]]) -> None:
    versions = [state.version for state in ran(run).states]
    assert versions == list(range(len(versions)))


@given(runs)
def test_a_run_executed_again_decides_the_same(run: tuple[bool, list[int]]) -> None:
    machine = ran(run)
    assert reexecute(AGENT, machine.facts) is None


@given(runs)
def test_what_a_state_owes_is_what_is_under_way(run: tuple[bool, list[int]]) -> None:
    machine = start(run[0])
    for _ in wander(machine, run[1]):
        assert machine.audit == ""


@given(runs)
def test_a_machine_that_does_not_rest_either_steps_or_waits(run: tuple[bool, list[int]]) -> None:
    machine = start(run[0])
    for _ in wander(machine, run[1]):
        if not machine.rests:
            assert AGENT.step(machine.state) or AGENT.outstanding(machine.state)


@given(runs)
def test_every_run_can_be_brought_to_its_end(run: tuple[bool, list[int]]) -> None:
    machine = ran(run)
    finish(machine)
    assert machine.running == {}


@given(runs)
def test_every_request_can_be_sent(run: tuple[bool, list[int]]) -> None:
    machine = ran(run)
    finish(machine)
    for request in machine.requests:
        assert faults(answered(request.messages)) == []


@given(runs)
def test_every_state_can_be_looked_at(run: tuple[bool, list[int]]) -> None:
    machine = ran(run)
    for state in machine.states:
        seen = agent_state(state, machine.contents)
        assert len(tuple(seen.messages)) == len(state.messages)


@given(runs)
def test_what_subscribers_see_agrees_with_the_state_around_it(
    run: tuple[bool, list[int]],
) -> None:
    machine = ran(run)
    contents = machine.contents
    for before, fact, after in zip(machine.states, machine.facts, machine.states[1:], strict=False):
        event = project(before, fact, after, contents)
        if event is None:
            continue
        was, now = agent_state(before, contents), agent_state(after, contents)
        assert event.version == now.version
        match type(event).__name__:
            case "MessageStart" | "MessageUpdate":
                assert now.streaming_message == event.message  # type: ignore[union-attr]
            case "MessageEnd":
                assert now.messages[-1] == event.message  # type: ignore[union-attr]
                assert len(now.messages) == len(was.messages) + 1
                assert now.streaming_message is None
            case "ToolExecutionStart":
                id = event.tool_call_id  # type: ignore[union-attr]
                assert sorted(now.pending_tool_calls) == sorted((*was.pending_tool_calls, id))
            case "ToolExecutionEnd":
                id = event.tool_call_id  # type: ignore[union-attr]
                assert sorted((*now.pending_tool_calls, id)) == sorted(was.pending_tool_calls)
            case "TurnEnd":
                failed = event.message.stop_reason in ("error", "aborted")  # type: ignore[union-attr]
                assert (now.error_message is not None) is failed
            case "AgentEnd":
                assert (now.streaming_message, now.is_streaming) == (None, False)


def delivered(machine: Machine) -> list[MessageHead]:
    """The messages that became part of the conversation, in order."""
    return [
        after.messages[-1]
        for fact, after in zip(machine.facts, machine.states[1:], strict=True)
        if isinstance(fact, facts.MessageEnd)
    ]


@given(runs)
def test_a_queued_message_is_delivered_once_or_still_waits_or_was_taken_back(
    run: tuple[bool, list[int]],
) -> None:
    machine = ran(run)
    finish(machine)
    came = Counter(head.source for head in delivered(machine))
    waits = Counter(head.source for item in machine.state.waiting for head in item.heads)
    taken_back = {
        item.id
        for fact, before in zip(machine.facts, machine.states, strict=False)
        for queue in QUEUES
        for item in before.queue(queue)
        if isinstance(fact, inputs.ResetRequested)
        or (isinstance(fact, inputs.Cleared) and queue in fact.queues)
        or (isinstance(fact, inputs.Cancelled) and fact.item == item.id)
    }
    for version, fact in enumerate(machine.facts, 1):
        if isinstance(fact, inputs.Queued) and version not in taken_back:
            assert came[version] + waits[version] == len(fact.shapes)


@given(runs)
def test_messages_of_a_queue_come_in_the_order_in_which_they_were_queued(
    run: tuple[bool, list[int]],
) -> None:
    machine = ran(run)
    finish(machine)
    for queue in QUEUES:
        places = [
            (head.source, head.index)
            for head in delivered(machine)
            if (fact := machine.facts[head.source - 1])
            and isinstance(fact, inputs.Queued)
            and fact.queue == queue
            and not fact.now
        ]
        assert places == sorted(places)


@given(runs)
def test_a_prompt_is_delivered_unless_its_run_failed(run: tuple[bool, list[int]]) -> None:
    machine = ran(run)
    finish(machine)
    failed = {state.runs for state in machine.states if state.phase is Phase.FAILING}
    came = Counter(head.source for head in delivered(machine))
    for version, fact in enumerate(machine.facts, 1):
        if isinstance(fact, inputs.Prompted) and machine.states[version].runs not in failed:
            assert came[version] == len(fact.shapes)


@given(runs)
def test_what_a_model_or_a_tool_gave_becomes_a_message_unless_user_code_failed(
    run: tuple[bool, list[int]],
) -> None:
    machine = ran(run)
    finish(machine)
    failed = {state.runs for state in machine.states if state.phase is Phase.FAILING}
    # A hook that raises after a tool ran puts its error in the place of the tool's result.
    failed |= {
        after.runs
        for fact, after in zip(machine.facts, machine.states[1:], strict=True)
        if isinstance(fact, inputs.HookRaised)
    }
    came = {(head.source, head.outcome) for head in delivered(machine)}
    outcomes = {
        inputs.ModelFinished: None,
        inputs.ToolReturned: "returned",
        inputs.ToolFailed: "failed",
    }
    for version, fact in enumerate(machine.facts, 1):
        after = machine.states[version]
        if type(fact) in outcomes and after.runs not in failed and after.phase is not Phase.RETRY:
            assert (version, outcomes[type(fact)]) in came
