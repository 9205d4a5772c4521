"""The agent loop: what happens by itself, one observable event at a time.

Pure, and knows of messages only what their heads say.
"""

from __future__ import annotations

from collections.abc import Callable

from refold.events.agent import facts
from refold.events.agent.batch import step_batch
from refold.events.agent.inputs import QueueName
from refold.events.agent.state import Phase, SessionState, next_items
from refold.events.fact import Fact


def step(state: SessionState) -> Fact | None:
    """The next event that happens by itself, or None where the machine waits or rests."""
    rule = _STEPS.get(state.phase)
    return rule(state) if rule and not state.unreadable else None


def _start(state: SessionState) -> Fact:
    run = state.active
    if run.take and (items := next_items(state, run.take)):
        return facts.Drained(queue=run.take, items=items)
    if run.prompted and (items := next_items(state, "next_turn")):
        return facts.Drained(queue="next_turn", items=items)
    return facts.AgentStart(run=run.number)


def _inject(state: SessionState) -> Fact | None:
    run = state.active
    if run.hook:
        return None
    if run.open:
        return facts.MessageEnd()
    if run.injected < len(run.inject):
        return facts.MessageStart()
    if not run.polled and (asked := _ask_queue(state, "steering")):
        return asked
    if {"transform_context", "convert_to_llm"} & set(state.settings.hooks):
        return _hook(state, "transform_context")
    return facts.ContextBuilt(count=len(run.context))


def _context(state: SessionState) -> Fact:
    run = state.active
    return facts.ContextBuilt(count=len(run.context), transform=run.transform)


def _call(state: SessionState) -> Fact:
    return facts.ModelCalled(call=state.model_calls + 1, model=state.active.model)


def _stream(state: SessionState) -> Fact | None:
    stream = state.active.stream
    assert stream is not None
    if not stream.open:
        return facts.MessageStart() if stream.began or stream.finished else None
    if stream.arrived:
        return facts.MessageUpdate()
    return facts.MessageEnd() if stream.finished else None


def _retry(state: SessionState) -> Fact | None:
    retry = state.active.retry
    assert retry is not None
    if retry.scheduled:
        return None
    return facts.RetryScheduled(call=retry.call, attempt=retry.attempt, delay=retry.delay)


def _ask_queue(state: SessionState, queue: QueueName) -> Fact | None:
    """Take from a queue, or, if it is empty, ask the hook that may have messages for it."""
    items = next_items(state, queue)
    if state.active.aborted:  # what came behind the abort is not for this run any more
        items = tuple(item for item in items if item < state.active.rest)
    if items:
        return facts.Drained(queue=queue, items=items)
    hook = f"get_{queue}_messages"
    if hook in state.settings.hooks and hook not in state.active.asks:
        return _hook(state, hook)
    return None


def _ask(hook: str) -> Callable[[SessionState], Fact | None]:
    def rule(state: SessionState) -> Fact | None:
        return None if state.active.hook else _hook(state, hook)

    return rule


def _poll(state: SessionState) -> Fact | None:
    """Steering goes first, then the model hears of its tools, then follow-ups."""
    if state.active.hook:
        return None
    if asked := _ask_queue(state, "steering"):
        return asked
    batch = state.active.batch
    if batch and not batch.ends_run:
        return facts.TurnStart()
    return _ask_queue(state, "follow_up") or facts.AgentEnd()


def _failing(state: SessionState) -> Fact:
    run = state.active
    if run.open:
        return facts.MessageEnd()
    return facts.MessageStart() if run.injected < len(run.inject) else facts.TurnEnd()


def _hook(state: SessionState, hook: str) -> Fact:
    return facts.HookCalled(call=state.hook_calls + 1, hook=hook)


_STEPS: dict[Phase, Callable[[SessionState], Fact | None]] = {
    Phase.START: _start,
    Phase.TURN: lambda _: facts.TurnStart(),
    Phase.INJECT: _inject,
    Phase.CONTEXT: _context,
    Phase.CALL: _call,
    Phase.STREAM: _stream,
    Phase.RETRY: _retry,
    Phase.BATCH: step_batch,
    Phase.TURN_END: lambda _: facts.TurnEnd(),
    Phase.PREPARE_NEXT: _ask("prepare_next_turn"),
    Phase.SHOULD_STOP: _ask("should_stop_after_turn"),
    Phase.POLL: _poll,
    Phase.FAILING: _failing,
    Phase.AGENT_END: lambda _: facts.AgentEnd(),
    Phase.SETTLE: lambda _: facts.Settled(),
}
