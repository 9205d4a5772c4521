"""The agent loop: what inputs are accepted (`decide`), and what happens by itself (`step`).

Both are pure, and know of messages only what their heads say.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UNSET

from refold.events.agent import facts, inputs
from refold.events.agent.batch import awaits_hook, find_run, step_batch
from refold.events.agent.phases import OUTCOMES, WAITS_FOR
from refold.events.agent.state import Phase, SessionState, next_items
from refold.events.errors import (
    BusyError,
    InvalidArgumentError,
    NothingToContinueError,
    UnknownEventError,
)
from refold.events.fact import Fact


def decide(state: SessionState, offered: Fact) -> tuple[Fact, ...]:
    """`(offered,)` if it is accepted, `()` if it came too late to matter.

    Raises:
        BusyError: a run is active, and the input would start another.
        NothingToContinueError: there is no message to answer.
        InvalidArgumentError: it names something that is not there.
        UnknownEventError: the stream holds facts of a later release, and must not be driven.
    """
    if state.unreadable:
        raise UnknownEventError(
            f"session {state.name!r} holds events of type {state.unreadable!r}, which this release "
            "does not know: it can be looked at, but not run; update refold to go on with it"
        )
    kind = type(offered)
    if kind in OUTCOMES:
        return (offered,) if _is_awaited(state, offered) else ()
    rule = _RULES.get(kind)
    return (offered,) if rule is None or rule(state, offered) else ()


def _is_awaited(state: SessionState, offered: Fact) -> bool:
    if type(offered) not in WAITS_FOR.get(state.phase, ()):
        return False
    run = state.active
    match offered:
        case inputs.ModelDelta() | inputs.ModelFinished() | inputs.ModelFailed():
            stream = run.stream
            return stream is not None and stream.call == offered.call and not stream.finished
        case inputs.HookReturned() | inputs.HookRaised():
            if offered.call == 0:  # where a state says 0, it waits for no hook
                return False
            return offered.call == run.hook or awaits_hook(run.batch, offered.call) >= 0
        case inputs.ToolProgressed() | inputs.ToolReturned() | inputs.ToolFailed():
            return find_run(run.batch, offered.call) >= 0
    return False


def _created(state: SessionState, _: Fact) -> bool:
    if state.version:
        raise InvalidArgumentError(f"session {state.name!r} exists already")
    return True


def _prompted(state: SessionState, _: Fact) -> bool:
    if state.phase is not Phase.IDLE:
        raise BusyError(
            f"session {state.name!r} is busy with run {state.runs}: steer() reaches the present "
            "run, follow_up() is answered after it, abort() ends it"
        )
    return True


def _continued(state: SessionState, offered: Fact) -> bool:
    _prompted(state, offered)
    if not state.messages:
        raise NothingToContinueError(
            f"session {state.name!r} has no messages to continue from: prompt() it"
        )
    if state.messages[-1].role == "assistant" and not (state.steering or state.follow_up):
        raise NothingToContinueError(
            f"session {state.name!r} ends with an answer, and nothing is queued: prompt() it, or "
            "steer() or follow_up() first"
        )
    return True


def _settings_requested(state: SessionState, offered: Fact) -> bool:
    """Settings that are as they are wanted need no fact."""
    return any(
        value is not UNSET and value != getattr(state.settings, name)
        for name in offered.__struct_fields__
        for value in (getattr(offered, name),)
    )


def _cancelled(state: SessionState, offered: Fact) -> bool:
    assert isinstance(offered, inputs.Cancelled)
    if all(item.id != offered.item for item in (*state.steering, *state.follow_up)):
        raise InvalidArgumentError(
            f"item {offered.item} does not wait in a queue of session {state.name!r}: it was "
            "delivered, cancelled or cleared before, or never queued"
        )
    return True


def _listener_failed(state: SessionState, _: Fact) -> bool:
    """A run fails once: it ends all the same if those who are told of that fail, too."""
    return state.run is not None and not state.run.failed


def _recovered(state: SessionState, _: Fact) -> bool:
    return state.phase is not Phase.IDLE


_RULES: dict[type[Fact], Callable[[SessionState, Fact], bool]] = {
    inputs.Created: _created,
    inputs.SettingsRequested: _settings_requested,
    inputs.Prompted: _prompted,
    inputs.Continued: _continued,
    inputs.Cancelled: _cancelled,
    inputs.ListenerFailed: _listener_failed,
    inputs.Recovered: _recovered,
}


def step(state: SessionState) -> Fact | None:
    """The next event that happens by itself, or None where the machine waits or rests."""
    rule = _STEPS.get(state.phase)
    return rule(state) if rule and not state.unreadable else None


def _start(state: SessionState) -> Fact:
    run = state.active
    if run.take and (items := next_items(state, run.take)):
        return facts.Drained(queue=run.take, items=items)
    return facts.AgentStart(run=run.number)


def _inject(state: SessionState) -> Fact:
    run = state.active
    if run.open:
        return facts.MessageEnd()
    if run.injected < len(run.inject):
        return facts.MessageStart()
    if not run.polled and (items := next_items(state, "steering")):
        return facts.Drained(queue="steering", items=items)
    if "transform_context" in state.settings.hooks:
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


def _ask(hook: str) -> Callable[[SessionState], Fact | None]:
    def rule(state: SessionState) -> Fact | None:
        return None if state.active.hook else _hook(state, hook)

    return rule


def _poll(state: SessionState) -> Fact:
    """Steering goes first, then the model hears of its tools, then follow-ups."""
    if items := next_items(state, "steering"):
        return facts.Drained(queue="steering", items=items)
    batch = state.active.batch
    if batch and not batch.ends_run:
        return facts.TurnStart()
    if items := next_items(state, "follow_up"):
        return facts.Drained(queue="follow_up", items=items)
    return facts.AgentEnd()


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
    Phase.BATCH: step_batch,
    Phase.TURN_END: lambda _: facts.TurnEnd(),
    Phase.PREPARE_NEXT: _ask("prepare_next_turn"),
    Phase.SHOULD_STOP: _ask("should_stop_after_turn"),
    Phase.POLL: _poll,
    Phase.FAILING: _failing,
    Phase.AGENT_END: lambda _: facts.AgentEnd(),
    Phase.SETTLE: lambda _: facts.Settled(),
}
