"""The fold: the state after each fact. Total over every fact ever written, and never refuses.

Facts of a run's turns are here and in `evolve_turn`; this file holds the table and what may come
in any phase.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from refold.events.agent import facts, inputs
from refold.events.agent.batch import awaits_hook
from refold.events.agent.evolve_calls import (
    after_hook_on_call,
    ended,
    finish_run,
    recover_batch,
    report,
    take_up,
    tools_called,
)
from refold.events.agent.evolve_queues import cancelled, cleared, drained, queued
from refold.events.agent.evolve_turn import (
    begin_run,
    fail,
    message_end,
    message_start,
    message_update,
    model_finished,
    next_turn,
    retried,
    turn_end,
)
from refold.events.agent.heads import heads_of
from refold.events.agent.inputs import QueueName
from refold.events.agent.state import Phase, SessionState, Stream
from refold.events.fact import Fact, UnknownEvent
from refold.events.vector import Vector

_STARTING: tuple[QueueName, ...] = ("steering", "follow_up")
"""Queues whose messages start a run by themselves."""

_MESSAGE_HOOKS = frozenset({"get_steering_messages", "get_follow_up_messages"})

Rule = Callable[[SessionState, Any], SessionState]


def evolve(state: SessionState, fact: Fact) -> SessionState:
    """The state after `fact`."""
    moved = replace(state, version=state.version + 1)
    rule = EVOLVE.get(type(fact))
    return rule(moved, fact) if rule else moved


def _created(state: SessionState, fact: inputs.Created) -> SessionState:
    return replace(state, uid=fact.uid, name=fact.name)


def _renamed(state: SessionState, fact: inputs.Renamed) -> SessionState:
    return replace(state, name=fact.name)


def _settings_requested(state: SessionState, fact: inputs.SettingsRequested) -> SessionState:
    given = {
        name: value
        for name in fact.__struct_fields__
        if (value := getattr(fact, name)) is not UNSET
    }
    return replace(state, settings=replace(state.settings, **given))


def _history_replaced(state: SessionState, fact: inputs.HistoryReplaced) -> SessionState:
    customs = any(shape.role == "custom" for shape in fact.shapes)
    heads = heads_of(fact.shapes, state.version)
    return replace(state, messages=Vector(heads), customs=customs)


def _reset(state: SessionState, _: Fact) -> SessionState:
    return replace(
        state,
        messages=Vector(),
        steering=(),
        follow_up=(),
        next_turn=(),
        error=None,
        shown=None,
    )


def _prompted(state: SessionState, fact: inputs.Prompted) -> SessionState:
    return begin_run(state, inject=heads_of(fact.shapes, state.version), prompted=True)


def _continued(state: SessionState, _: Fact) -> SessionState:
    if state.messages[-1].role != "assistant":
        return begin_run(state)
    return begin_run(state, take="steering" if state.steering else "follow_up")


def _abort_requested(state: SessionState, _: Fact) -> SessionState:
    if state.run is None:  # someone else asked for it a moment too late
        return state
    return replace(state, run=replace(state.active, aborted=True, rest=state.version))


def _agent_start(state: SessionState, _: Fact) -> SessionState:
    return replace(state, phase=Phase.TURN)


def _turn_start(state: SessionState, _: Fact) -> SessionState:
    run = replace(
        state.active, reply=None, results=(), batch=None, transform=0, asks=(), attempts=0
    )
    return replace(state, run=run, phase=Phase.INJECT)


def _context_built(state: SessionState, fact: facts.ContextBuilt) -> SessionState:
    run = replace(
        state.active,
        counted=fact.count,
        transform=fact.transform,
        polled=True,
        inject=(),
        injected=0,
        drained=(),
    )
    return replace(state, run=run, phase=Phase.CALL)


def _model_called(state: SessionState, fact: facts.ModelCalled) -> SessionState:
    run = replace(state.active, stream=Stream(call=fact.call, since=state.version))
    return replace(state, run=run, phase=Phase.STREAM, model_calls=fact.call)


def _model_delta(state: SessionState, fact: inputs.ModelDelta) -> SessionState:
    run = state.active
    assert run.stream is not None
    arrived = state.version if fact.pieces else run.stream.arrived
    stream = replace(run.stream, began=True, arrived=arrived)
    return replace(state, run=replace(run, stream=stream))


def _hook_called(state: SessionState, fact: facts.HookCalled) -> SessionState:
    state = replace(state, hook_calls=fact.call)
    run = state.active
    if state.phase is Phase.BATCH:
        return after_hook_on_call(state, fact.index, fact)
    run = replace(run, hook=fact.call, asked=state.version)
    if fact.hook in _MESSAGE_HOOKS:
        return replace(state, run=replace(run, asks=(*run.asks, fact.hook)))
    phase = Phase.TRANSFORM if state.phase is Phase.INJECT else state.phase
    return replace(state, run=replace(run, polled=True), phase=phase)


def _hook_returned(state: SessionState, fact: inputs.HookReturned) -> SessionState:
    run = state.active
    if fact.call != run.hook:
        return after_hook_on_call(state, awaits_hook(run.batch, fact.call), fact)
    run = replace(run, hook=0)
    if state.phase is Phase.TRANSFORM:
        run = replace(run, transform=state.version if fact.patched else 0)
        return replace(state, run=run, phase=Phase.CONTEXT)
    if state.phase in (Phase.INJECT, Phase.POLL):
        heads = heads_of(fact.shapes, state.version)
        run = replace(run, inject=run.inject + heads)
        phase = Phase.TURN if heads and state.phase is Phase.POLL else state.phase
        return replace(state, run=run, phase=phase)
    return next_turn(replace(state, run=run), fact)


def _hook_raised(state: SessionState, fact: inputs.HookRaised) -> SessionState:
    run = state.active
    if fact.call != run.hook:
        return after_hook_on_call(state, awaits_hook(run.batch, fact.call), fact)
    return fail(state)


def _fails(state: SessionState, _: Fact) -> SessionState:
    return fail(state)


def _model_failed(state: SessionState, fact: inputs.ModelFailed) -> SessionState:
    return retried(state, fact.kind, None) or fail(state)


def _retry_scheduled(state: SessionState, _: Fact) -> SessionState:
    run = state.active
    assert run.retry is not None
    return replace(state, run=replace(run, retry=replace(run.retry, scheduled=True)))


def _retry_due(state: SessionState, _: Fact) -> SessionState:
    run = state.active
    assert run.retry is not None
    run = replace(run, retry=None, attempts=run.retry.attempt)
    return replace(state, run=run, phase=Phase.CALL)


def _agent_end(state: SessionState, _: Fact) -> SessionState:
    return replace(state, phase=Phase.SETTLE, shown=None)


def _settled(state: SessionState, _: Fact) -> SessionState:
    rest = state.active.rest
    state = replace(state, run=None, phase=Phase.IDLE)
    if state.settings.idle_queue == "hold":
        return state
    for queue in _STARTING:
        if any(item.id > rest for item in state.queue(queue)):
            return begin_run(state, take=queue)
    return state


def _recovered(state: SessionState, _: Fact) -> SessionState:
    """A stream that was cut off is made again, one that is finished is not; see `recover_batch`
    for tools.
    """
    run = state.active
    if state.phase is Phase.STREAM and not (run.stream and run.stream.finished):
        run = replace(run, stream=None)
        return replace(state, run=run, phase=Phase.CALL, shown=None)
    return recover_batch(state) if state.phase is Phase.BATCH else state


def _unknown(state: SessionState, fact: UnknownEvent) -> SessionState:
    return replace(state, unreadable=state.unreadable or fact.type) if fact.critical else state


EVOLVE: dict[type[Fact], Rule] = {
    UnknownEvent: _unknown,
    inputs.Created: _created,
    inputs.Renamed: _renamed,
    inputs.SettingsRequested: _settings_requested,
    inputs.HistoryReplaced: _history_replaced,
    inputs.ResetRequested: _reset,
    inputs.Prompted: _prompted,
    inputs.Continued: _continued,
    inputs.Queued: queued,
    inputs.Cancelled: cancelled,
    inputs.Cleared: cleared,
    inputs.AbortRequested: _abort_requested,
    inputs.ModelDelta: _model_delta,
    inputs.ModelFinished: model_finished,
    inputs.ModelFailed: _model_failed,
    inputs.RetryDue: _retry_due,
    inputs.ToolProgressed: report,
    inputs.ToolReturned: finish_run,
    inputs.ToolFailed: finish_run,
    inputs.HookReturned: _hook_returned,
    inputs.HookRaised: _hook_raised,
    inputs.ListenerFailed: _fails,
    inputs.Recovered: _recovered,
    facts.AgentStart: _agent_start,
    facts.TurnStart: _turn_start,
    facts.MessageStart: message_start,
    facts.MessageUpdate: message_update,
    facts.MessageEnd: message_end,
    facts.ToolExecutionStart: take_up,
    facts.ToolExecutionUpdate: take_up,
    facts.ToolExecutionEnd: ended,
    facts.TurnEnd: turn_end,
    facts.AgentEnd: _agent_end,
    facts.Settled: _settled,
    facts.Drained: drained,
    facts.ContextBuilt: _context_built,
    facts.ModelCalled: _model_called,
    facts.RetryScheduled: _retry_scheduled,
    facts.ToolsCalled: tools_called,
    facts.HookCalled: _hook_called,
}
