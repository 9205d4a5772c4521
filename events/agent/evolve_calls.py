"""The fold of tool calls: what each fact makes of the batch."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from refold.events.agent import facts, inputs
from refold.events.agent.batch import find_run, immediate_outcome, is_cleared
from refold.events.agent.heads import MessageHead
from refold.events.agent.state import Batch, Call, Life, Run, SessionState
from refold.events.fact import Fact


def take_up(state: SessionState, fact: Any) -> SessionState:
    """A call has been started, or its report has been shown."""
    run = state.active
    batch = run.batch
    assert batch is not None
    if isinstance(fact, facts.ToolExecutionUpdate):
        batch = replace(batch, updates=batch.updates[1:], showing=batch.updates[0][1])
        return replace(state, run=replace(run, batch=batch))
    # Those before it are past all checks now: an abort from here on finds them ready to run.
    calls = tuple(
        replace(call, life=Life.READY) if index < fact.index and is_cleared(state, call) else call
        for index, call in enumerate(batch.calls)
    )
    started = replace(calls[fact.index], life=Life.STARTED)
    return _with_call(state, replace(batch, calls=calls), fact.index, started)


def tools_called(state: SessionState, fact: facts.ToolsCalled) -> SessionState:
    """Calls are under way."""
    run = state.active
    batch = run.batch
    assert batch is not None
    calls = list(batch.calls)
    for number, index in enumerate(fact.indexes, fact.first):
        calls[index] = replace(calls[index], life=Life.RUNNING, run=number)
    run = replace(run, batch=replace(batch, calls=tuple(calls)))
    return replace(state, run=run, tool_runs=fact.first + len(fact.indexes) - 1)


def report(state: SessionState, fact: inputs.ToolProgressed) -> SessionState:
    """A running tool reported; the report is shown by a step."""
    run = state.active
    batch = run.batch
    assert batch is not None
    updates = (*batch.updates, (find_run(batch, fact.call), state.version))
    return replace(state, run=replace(run, batch=replace(batch, updates=updates)))


def finish_run(state: SessionState, fact: inputs.ToolReturned | inputs.ToolFailed) -> SessionState:
    """A tool returned or raised."""
    batch = state.active.batch
    assert batch is not None
    index = find_run(batch, fact.call)
    failed = isinstance(fact, inputs.ToolFailed)
    call = replace(
        batch.calls[index],
        life=Life.RETURNED,
        outcome="failed" if failed else "returned",
        source=state.version,
        is_error=failed,
        terminate=not failed and fact.terminate,  # type: ignore[union-attr]
    )
    return _with_call(state, batch, index, call)


def after_hook_on_call(state: SessionState, index: int, fact: Fact) -> SessionState:
    """A hook about one call was called, returned or raised."""
    batch = state.active.batch
    assert batch is not None
    call = batch.calls[index]
    match fact:
        case facts.HookCalled():
            life = {
                "prepare_arguments": Life.PREPARING,
                "before_tool_call": Life.HOOKING,
            }.get(fact.hook, Life.AFTERING)
            call = replace(call, life=life, hook=fact.call, asked=state.version)
        case inputs.HookReturned():
            call = _hook_returned(state, replace(call, hook=0), fact)
        case _:
            call = _settled(call, "hook_raised", state.version)
    return _with_call(state, batch, index, call)


def _hook_returned(state: SessionState, call: Call, fact: inputs.HookReturned) -> Call:
    checked = state.version if fact.patched else call.checked
    if call.life is Life.PREPARING:
        if fact.problem:
            return _settled(call, "invalid", state.version)
        return replace(call, life=Life.PREPARED, checked=checked)
    if call.life is Life.HOOKING:
        if state.active.aborted:
            return _settled(call, "aborted", 0)
        if fact.block:
            return _settled(call, "blocked", state.version)
        return replace(call, life=Life.READY, checked=checked)
    return replace(
        call,
        life=Life.SETTLED,
        patch=state.version if fact.patched else 0,
        is_error=call.is_error if fact.is_error is None else fact.is_error,
        terminate=call.terminate if fact.terminate is None else fact.terminate,
    )


def _settled(call: Call, outcome: Any, source: int) -> Call:
    return replace(
        call,
        life=Life.SETTLED,
        hook=0,
        outcome=outcome,
        source=source,
        is_error=True,
        terminate=False,
    )


def ended(state: SessionState, fact: facts.ToolExecutionEnd) -> SessionState:
    """The outcome of a call stands."""
    batch = state.active.batch
    assert batch is not None
    call = batch.calls[fact.index]
    if call.outcome is None:
        call = _settled(call, immediate_outcome(state, call), 0)
    return _with_call(state, batch, fact.index, replace(call, life=Life.ENDED))


def message_started(state: SessionState) -> SessionState:
    """The first call that has ended and is not told becomes visible as a message."""
    run = state.active
    batch = run.batch
    assert batch is not None
    assert run.reply is not None
    index = next(i for i, call in enumerate(batch.calls) if call.life is Life.ENDED)
    shown = result_head(run.reply, index, batch.calls[index])
    return replace(state, run=replace(run, batch=replace(batch, open=index)), shown=shown)


def message_ended(run: Run, head: MessageHead) -> Run:
    """The visible result has been told."""
    batch = run.batch
    assert batch is not None
    told = replace(batch.calls[batch.open], life=Life.TOLD)
    calls = (*batch.calls[: batch.open], told, *batch.calls[batch.open + 1 :])
    batch = replace(batch, calls=calls, open=-1)
    return replace(run, batch=batch, results=(*run.results, head))


def result_head(reply: MessageHead, index: int, call: Call) -> MessageHead:
    """The head of a call's result message. What has no body of its own lies by its reply."""
    return MessageHead(
        role="tool_result",
        source=call.source or reply.source,
        index=index,
        since=0 if call.source else reply.since,
        call=call.head,
        outcome=call.outcome,
        is_error=call.is_error,
        patch=call.patch,
    )


def recover_batch(state: SessionState) -> SessionState:
    """Runs that were cut off go again if their tool says that this is safe, else they are over."""
    run = state.active
    batch = run.batch
    assert batch is not None
    calls = []
    for call in batch.calls:
        tool = run.tools.find(call.head.name)
        if call.life is Life.RUNNING:
            if tool and tool.replay == "safe":
                call = replace(call, again=True)
            else:
                call = _settled(call, "interrupted", 0)
        calls.append(call)
    return replace(state, run=replace(run, batch=replace(batch, calls=tuple(calls))))


def _with_call(state: SessionState, batch: Batch, index: int, call: Call) -> SessionState:
    calls = (*batch.calls[:index], call, *batch.calls[index + 1 :])
    return replace(state, run=replace(state.active, batch=replace(batch, calls=calls)))
