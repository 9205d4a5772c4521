"""The agent as a behaviour."""

from __future__ import annotations

from typing import Final

from refold.events.agent import effects as wanted
from refold.events.agent import facts, inputs
from refold.events.agent.batch import PREPARE_ARGUMENTS
from refold.events.agent.evolve import evolve
from refold.events.agent.loop import decide, step
from refold.events.agent.state import Call, Life, Phase, SessionState
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

    def decide(self, state: SessionState, offered: Fact) -> tuple[Fact, ...]:
        """See `refold.events.agent.loop.decide`."""
        return decide(state, offered)

    def step(self, state: SessionState) -> Fact | None:
        """See `refold.events.agent.loop.step`."""
        return step(state)

    def evolve(self, state: SessionState, fact: Fact) -> SessionState:
        """See `refold.events.agent.evolve.evolve`."""
        return evolve(state, fact)

    def effects(self, state: SessionState, fact: Fact) -> tuple[Effect, ...]:
        """What to start once `fact` is durable, given the state right after it."""
        match fact:
            case facts.ModelCalled() | facts.HookCalled():
                return (
                    self.outstanding(state)[-1:]
                    if state.phase is not Phase.BATCH
                    else (
                        _hook_of_call(state, fact.index),  # type: ignore[union-attr]
                    )
                )
            case facts.ToolsCalled():
                return tuple(_run_of(state, index) for index in fact.indexes)
            case inputs.AbortRequested():
                return (wanted.SignalAbort(key="abort", run=state.runs),) if state.run else ()
            case inputs.Recovered():
                return self.outstanding(state)
            case inputs.ModelFailed() | inputs.HookRaised() | inputs.ListenerFailed():
                return (Discard(),) if state.phase is Phase.FAILING else ()
        return ()

    def outstanding(self, state: SessionState) -> tuple[Effect, ...]:
        """What the outside owes: the model call, tool runs and hook calls without an outcome."""
        run = state.run
        if run is None:
            return ()
        if run.hook:
            hook = _HOOKS_OF_PHASE[state.phase]
            return (_hook(run.hook, hook, run.asked, 0, run.aborted),)
        if state.phase is Phase.STREAM and run.stream and not run.stream.finished:
            call, since = run.stream.call, run.stream.since
            return (
                wanted.CallModel(
                    key=f"model:{call}", call=call, version=since, aborted=run.aborted
                ),
            )
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


AGENT: Final = Agent()
