"""The tool calls of one reply: each one's life, and the order in which they are lived.

A parallel batch notes all starts first, and runs what can run as one list; ends come in the order
of completion, result messages in the order of the calls once all have ended. In a sequential
batch a call is told before the next one starts.
"""

from __future__ import annotations

from refold.events.agent import facts
from refold.events.agent.heads import MessageHead, Outcome
from refold.events.agent.state import Batch, Call, Life, Run, SessionState
from refold.events.fact import Fact

PREPARE_ARGUMENTS = "prepare_arguments"
"""The hook that a tool itself may have; it runs before its arguments are checked."""


def begin_batch(run: Run, reply: MessageHead, sequential: bool) -> Batch:
    """The batch of a reply's calls. One sequential tool makes all of it sequential."""
    cut_off = reply.stop_reason == "length"
    for call in reply.calls:
        tool = run.tools.find(call.name)
        sequential = sequential or bool(tool and tool.sequential)
    return Batch(
        calls=tuple(Call(head=call) for call in reply.calls),
        sequential=sequential or cut_off,
        cut_off=cut_off,
    )


def find_run(batch: Batch | None, number: int) -> int:
    """The index of the call whose run has this number and is under way, or -1."""
    for index, call in enumerate(batch.calls if batch else ()):
        if call.run == number and call.life is Life.RUNNING:
            return index
    return -1


def awaits_hook(batch: Batch | None, number: int) -> int:
    """The index of the call that waits for this hook call, or -1."""
    for index, call in enumerate(batch.calls if batch else ()):
        if call.hook == number:
            return index
    return -1


def immediate_outcome(state: SessionState, call: Call) -> Outcome | None:
    """How a call ends that has been taken up and is not going to run; None if it may run."""
    run = state.active
    if run.batch and run.batch.cut_off:
        return "cut_off"
    tool = run.tools.find(call.head.name)
    if tool is None:
        return "unknown"
    if call.life is Life.STARTED and tool.prepares:
        return None
    if call.life is Life.STARTED and call.head.problem:
        return "invalid"
    if "before_tool_call" in state.settings.hooks:
        return None
    return "aborted" if run.aborted else None


def is_cleared(state: SessionState, call: Call) -> bool:
    """True if a call has been taken up, and nothing stands between it and its run."""
    if call.life is Life.READY:
        return True
    return (
        call.life in (Life.STARTED, Life.PREPARED)
        and immediate_outcome(state, call) is None
        and _wanted_hook(state, call) is None
    )


def step_batch(state: SessionState) -> Fact | None:
    """The next event of the batch; `turn_end` when there is nothing left to do in it."""
    batch = state.active.batch
    assert batch is not None
    if batch.updates:
        return facts.ToolExecutionUpdate(index=batch.updates[0][0])
    if batch.open >= 0:
        return facts.MessageEnd()
    return _sequential(state, batch) if batch.sequential else _parallel(state, batch)


def _sequential(state: SessionState, batch: Batch) -> Fact | None:
    for index, call in enumerate(batch.calls):
        if call.life is Life.TOLD:
            continue
        if call.life is Life.NEW and _is_given_up(state, index) and not batch.cut_off:
            break
        if call.life is Life.ENDED:
            return facts.MessageStart()
        if is_cleared(state, call):
            return facts.ToolsCalled(indexes=(index,), first=state.tool_runs + 1)
        return _advance(state, index, call)
    return facts.TurnEnd()


def _parallel(state: SessionState, batch: Batch) -> Fact | None:
    cleared = []
    for index, call in enumerate(batch.calls):
        if call.life is Life.NEW and _is_given_up(state, index):
            break
        if is_cleared(state, call):
            cleared.append(index)
        elif call.life < Life.READY or (call.life is Life.SETTLED and not call.run):
            return _advance(state, index, call)  # what failed at once ends before the next starts
    if cleared:
        return facts.ToolsCalled(indexes=tuple(cleared), first=state.tool_runs + 1)
    arrived = [
        (call.source, index)
        for index, call in enumerate(batch.calls)
        if call.life in (Life.RETURNED, Life.SETTLED)
    ]
    if arrived:
        _, index = min(arrived)
        return _advance(state, index, batch.calls[index])
    lives = {call.life for call in batch.calls}
    if lives & {Life.RUNNING, Life.AFTERING}:
        return None
    return facts.MessageStart() if Life.ENDED in lives else facts.TurnEnd()


def _is_given_up(state: SessionState, index: int) -> bool:
    """True if an abort leaves a call untouched: it is looked for behind each call, so that the
    first one is always taken up.
    """
    return state.active.aborted and index > 0


def _advance(state: SessionState, index: int, call: Call) -> Fact | None:
    """The next event in the life of one call that is not cleared to run; None if it waits."""
    if call.life is Life.NEW:
        return facts.ToolExecutionStart(index=index)
    if call.life in (Life.STARTED, Life.PREPARED, Life.RETURNED):
        hook = _wanted_hook(state, call)
        if hook:
            return facts.HookCalled(call=state.hook_calls + 1, hook=hook, index=index)
        return facts.ToolExecutionEnd(index=index)
    return facts.ToolExecutionEnd(index=index) if call.life is Life.SETTLED else None


def _wanted_hook(state: SessionState, call: Call) -> str | None:
    hooks = state.settings.hooks
    if call.life is Life.RETURNED:
        return "after_tool_call" if "after_tool_call" in hooks else None
    if immediate_outcome(state, call):
        return None
    tool = state.active.tools.find(call.head.name)
    if call.life is Life.STARTED and tool and tool.prepares:
        return PREPARE_ARGUMENTS
    return "before_tool_call" if "before_tool_call" in hooks else None
