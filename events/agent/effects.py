"""What the agent wants from outside."""

from __future__ import annotations

from typing import ClassVar

from refold.events.behaviour import Effect


class CallModel(Effect, frozen=True, kw_only=True):
    """Call a model with the context that the state at `version` names.

    Attributes:
        call: number of the model call within the session.
        version: of the `model_called` event; the state right after it holds all of the request.
        aborted: True if the run's signal is set already: nothing need go over the wire.
    """

    call: int
    version: int
    aborted: bool = False


class RunTool(Effect, frozen=True, kw_only=True):
    """Run one tool call.

    Attributes:
        call: number of the tool run within the session; with the session's uid it is the
            idempotency key.
        name: the tool.
        reply: version of the `model_finished` whose message holds the call, at `index`.
        since: as in the message's head.
        checked: version of the hook outcomes that hold the arguments to use; 0: the model's own.
        again: True if the run may have been begun before, by a process that died.
    """

    call: int
    name: str
    reply: int
    index: int
    since: int = 0
    checked: int = 0
    aborted: bool = False
    again: bool = False


class CallHook(Effect, frozen=True, kw_only=True):
    """Call a hook.

    Attributes:
        call: number of the hook call within the session.
        version: of the `hook_called` event; the state right after it is what the hook may see.
        index: the tool call it is about.
    """

    call: int
    hook: str
    version: int
    index: int = 0
    aborted: bool = False


class Wait(Effect, frozen=True, kw_only=True):
    """Wait `delay` ms, or until the run is aborted; then offer `retry_due` of this call."""

    call: int
    run: int
    delay: int
    aborted: bool = False


class Interrupt(Effect, frozen=True, kw_only=True):
    """Stop the answer of a model call where it is; its run goes on."""

    AWAITED: ClassVar[bool] = False

    call: int


class SignalAbort(Effect, frozen=True, kw_only=True):
    """Set the run's abort signal: streams, tools and hooks end as soon as they can."""

    AWAITED: ClassVar[bool] = False

    run: int
