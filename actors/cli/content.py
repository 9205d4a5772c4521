"""The content of a log's events: what stands in their bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refold.events.agent import bodies, inputs
from refold.events.agent.batch import PREPARE_ARGUMENTS
from refold.events.fact import Fact

_BODIES: dict[type[Fact], Callable[[bytes], Any]] = {
    inputs.HistoryReplaced: bodies.messages_of,
    inputs.Prompted: bodies.messages_of,
    inputs.Queued: bodies.messages_of,
    inputs.ModelDelta: bodies.pieces_of,
    inputs.ModelFinished: bodies.end_of,
    inputs.ModelFailed: bodies.failure_of,
    inputs.ToolProgressed: bodies.result_of,
    inputs.ToolReturned: bodies.result_of,
    inputs.ToolFailed: bodies.result_of,
    inputs.ToolReturnedLate: bodies.result_of,
    inputs.HookRaised: bodies.failure_of,
    inputs.ListenerFailed: bodies.failure_of,
}
_HOOKS: dict[str, Callable[[bytes], Any]] = {
    PREPARE_ARGUMENTS: bodies.verdict_of,
    "before_tool_call": bodies.verdict_of,
    "after_tool_call": bodies.patch_of,
    "transform_context": bodies.edit_of,
    "prepare_next_turn": bodies.messages_of,
    "get_steering_messages": bodies.messages_of,
    "get_follow_up_messages": bodies.messages_of,
}


def content_of(fact: Fact, body: bytes | None, hook: str) -> Any:
    """What a body holds; None if there is none, or if this release does not know its form.

    Args:
        hook: name of the hook that a `hook_returned` is the outcome of.
    """
    if not body:
        return None
    read = _HOOKS.get(hook) if isinstance(fact, inputs.HookReturned) else _BODIES.get(type(fact))
    return read(body) if read else None
