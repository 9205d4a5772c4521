"""What inputs a session accepts. Pure, and knows of messages only what their heads say."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UNSET
from msgspec.structs import replace

from refold.events.agent import inputs
from refold.events.agent.batch import awaits_hook, find_run
from refold.events.agent.phases import OUTCOMES, WAITS_FOR
from refold.events.agent.state import Phase, SessionState
from refold.events.errors import (
    BusyError,
    InvalidArgumentError,
    NothingToContinueError,
    QueueFullError,
    UnknownEventError,
)
from refold.events.fact import Fact


def decide(state: SessionState, offered: Fact) -> tuple[Fact, ...]:
    """`(offered,)` if it is accepted, `()` if it came too late to matter.

    What `cleared` takes away is filled in here.

    Raises:
        BusyError: a run is active, and the input would start another.
        NothingToContinueError: there is no message to answer.
        InvalidArgumentError: it names something that is not there.
        QueueFullError: too many messages wait already.
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
    if isinstance(offered, inputs.Cleared):
        items = tuple(item.id for queue in offered.queues for item in state.queue(queue))
        return (replace(offered, items=items),)
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
        case inputs.RetryDue():
            retry = run.retry
            return retry is not None and retry.scheduled and retry.call == offered.call
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


def _queued(state: SessionState, _: Fact) -> bool:
    limit = state.settings.queue_limit
    if len(state.waiting) >= limit:
        raise QueueFullError(
            f"{limit} messages wait in the queues of session {state.name!r} already: let it work, "
            "clear() them, or raise its queue_limit"
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
    if all(item.id != offered.item for item in state.waiting):
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
    inputs.Queued: _queued,
    inputs.Continued: _continued,
    inputs.Cancelled: _cancelled,
    inputs.ListenerFailed: _listener_failed,
    inputs.Recovered: _recovered,
}
