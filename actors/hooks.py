"""Calling hooks: whatever comes of it becomes an input."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from refold.actors import run_hooks, tool_hooks
from refold.actors.hook_call import HookCall
from refold.actors.kit import Kit
from refold.actors.sound import sound
from refold.actors.user_code import words_of
from refold.events.agent import effects, inputs
from refold.events.agent.batch import PREPARE_ARGUMENTS
from refold.events.agent.bodies import Failure, encode
from refold.events.agent.state import SessionState
from refold.events.fact import Offer

RULES: dict[str, Callable[[HookCall], Awaitable[Offer]]] = {
    "transform_context": run_hooks.transform_context,
    PREPARE_ARGUMENTS: tool_hooks.prepare_arguments,
    "before_tool_call": tool_hooks.before_tool_call,
    "after_tool_call": tool_hooks.after_tool_call,
    "prepare_next_turn": run_hooks.prepare_next_turn,
    "should_stop_after_turn": run_hooks.should_stop_after_turn,
    "get_steering_messages": run_hooks.messages_to_hear,
    "get_follow_up_messages": run_hooks.messages_to_hear,
}


def knows(kit: Kit, effect: effects.CallHook, state: SessionState) -> bool:
    """True if this process has the function that the effect wants called."""
    if effect.hook == PREPARE_ARGUMENTS:
        batch = state.active.batch
        return batch is not None and batch.calls[effect.index].head.name in kit.tools
    if effect.hook == "transform_context":
        wanted = set(run_hooks.TRANSFORMS) & set(state.settings.hooks)
        return wanted <= set(kit.hooks)
    return effect.hook in kit.hooks


async def outcome(call: HookCall) -> Offer:
    """Call a hook; what it returned, or that it raised, as an input."""
    try:
        return sound(await RULES[call.effect.hook](call))
    except Exception as error:
        return _raised(call, error)


def _raised(call: HookCall, error: Exception) -> Offer:
    provider, _, model = call.run.model.partition("/")
    failure = Failure(
        message=words_of(error),
        provider=provider,
        model=model,
        timestamp=call.clock(),
    )
    return Offer(inputs.HookRaised(call=call.number), encode(failure))
