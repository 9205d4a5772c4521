"""The agent as a behaviour."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from refold.events.agent import effects as wanted
from refold.events.agent import facts, inputs
from refold.events.agent.batch import PREPARE_ARGUMENTS
from refold.events.agent.decide import decide
from refold.events.agent.evolve import evolve
from refold.events.agent.loop import step
from refold.events.agent.state import Call, Life, Phase, Retry, Run, SessionState
from refold.events.behaviour import Discard, Effect
from refold.events.codec import Codec
from refold.events.fact import Fact

CODEC: Final = Codec((*inputs.INPUTS, *facts.MARKS))
_INPUTS = frozenset(inputs.INPUTS)
_HOOKS_OF_LIFE = {
    Life.PREPARING: PREPARE_ARGUMENTS,
    Life.HOOKING: "before_tool_call",
    Life.AFTERING: "after_tool_call",
}
_HOOKS_OF_PHASE = {
    Phase.TRANSFORM: "transform_context",
    Phase.PREPARE_NEXT: "prepare_next_turn",
    Phase.SHOULD_STOP: "should_stop_after_turn",
}
"""In the other phases the run waits for the hook that it has asked for messages last."""


class Agent:
    """The behaviour of an agent's session."""

    name = "agent"
    codec = CODEC

    def initial(self) -> SessionState:
        """A session with no events."""
        return SessionState()

    def is_input(self, fact: Fact) -> bool:
        """True for what came from outside."""
        return type(fact) in _INPUTS

    decide = staticmethod(decide)
    step = staticmethod(step)
    evolve = staticmethod(evolve)

    def effects(self, state: SessionState, fact: Fact) -> tuple[Effect, ...]:
        """What to start once `fact` is durable, given the state right after it."""
        rule = _EFFECTS.get(type(fact))
        return rule(self, state, fact) if rule else ()

    def outstanding(self, state: SessionState) -> tuple[Effect, ...]:
        """What the outside owes: the model call, tool runs and hook calls without an outcome."""
        run = state.run
        if run is None:
            return ()
        if run.hook:
            hook = _HOOKS_OF_PHASE.get(state.phase) or run.asks[-1]
            return (_hook(run.hook, hook, run.asked, 0, run.aborted),)
        if state.phase is Phase.STREAM and run.stream and not run.stream.finished:
            call, since = run.stream.call, run.stream.since
            return (
                wanted.CallModel(
                    key=f"model:{call}", call=call, version=since, aborted=run.aborted
                ),
            )
        if run.retry and run.retry.scheduled:
            return (_wait(run, run.retry),)
        if state.phase is Phase.BATCH and run.batch:
            return tuple(
                _run_of(state, index) if call.life is Life.RUNNING else _hook_of_call(state, index)
                for index, call in enumerate(run.batch.calls)
                if call.life is Life.RUNNING or call.life in _HOOKS_OF_LIFE
            )
        return ()

    def recovery(self, state: SessionState) -> Fact | None:
        """`recovered`, if a run was cut off."""
        return None if state.phase is Phase.IDLE else inputs.Recovered()


def _call(state: SessionState, index: int) -> Call:
    batch = state.active.batch
    assert batch is not None
    return batch.calls[index]


def _wait(run: Run, retry: Retry) -> wanted.Wait:
    return wanted.Wait(
        key=f"retry:{retry.call}",
        call=retry.call,
        run=run.number,
        delay=retry.delay,
        aborted=run.aborted,
    )


def _run_of(state: SessionState, index: int) -> wanted.RunTool:
    call, reply = _call(state, index), state.active.reply
    assert reply is not None
    return wanted.RunTool(
        key=f"tool:{call.run}",
        call=call.run,
        name=call.head.name,
        reply=reply.source,
        index=index,
        since=reply.since,
        checked=call.checked,
        aborted=state.active.aborted,
        again=call.again,
    )


def _hook_of_call(state: SessionState, index: int) -> wanted.CallHook:
    call = _call(state, index)
    hook = _HOOKS_OF_LIFE[call.life]
    return _hook(call.hook, hook, call.asked, index, state.active.aborted)


def _hook(call: int, hook: str, version: int, index: int, aborted: bool) -> wanted.CallHook:
    return wanted.CallHook(
        key=f"hook:{call}", call=call, hook=hook, version=version, index=index, aborted=aborted
    )


def _called(agent: Agent, state: SessionState, fact: Any) -> tuple[Effect, ...]:
    if state.phase is Phase.BATCH:
        return (_hook_of_call(state, fact.index),)
    return agent.outstanding(state)


def _tools_called(_: Agent, state: SessionState, fact: facts.ToolsCalled) -> tuple[Effect, ...]:
    return tuple(_run_of(state, index) for index in fact.indexes)


def _retry_scheduled(agent: Agent, state: SessionState, _: Fact) -> tuple[Effect, ...]:
    return agent.outstanding(state)


def _queued(_: Agent, state: SessionState, fact: inputs.Queued) -> tuple[Effect, ...]:
    stream = state.run.stream if state.run else None
    if not fact.now or stream is None or stream.finished or state.active.aborted:
        return ()
    return (wanted.Interrupt(key="interrupt", call=stream.call),)


def _abort_requested(_: Agent, state: SessionState, __: Fact) -> tuple[Effect, ...]:
    return (wanted.SignalAbort(key="abort", run=state.runs),) if state.run else ()


def _recovered(agent: Agent, state: SessionState, _: Fact) -> tuple[Effect, ...]:
    return agent.outstanding(state)


def _failed(_: Agent, state: SessionState, __: Fact) -> tuple[Effect, ...]:
    return (Discard(),) if state.phase is Phase.FAILING else ()


_EFFECTS: dict[type[Fact], Callable[[Agent, SessionState, Any], tuple[Effect, ...]]] = {
    facts.ModelCalled: _called,
    facts.HookCalled: _called,
    facts.RetryScheduled: _retry_scheduled,
    facts.ToolsCalled: _tools_called,
    inputs.Queued: _queued,
    inputs.AbortRequested: _abort_requested,
    inputs.Recovered: _recovered,
    inputs.ModelFailed: _failed,
    inputs.HookRaised: _failed,
    inputs.ListenerFailed: _failed,
}

AGENT: Final = Agent()
