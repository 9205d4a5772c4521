"""Calling awaited listeners: one after the other, in the order of their subscription."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from refold.actors.kit import Listener
from refold.actors.messages import Notify
from refold.actors.user_code import called
from refold.events.agent import inputs
from refold.events.agent.bodies import Failure, encode
from refold.events.agent.contents import Contents
from refold.events.agent.projection import project
from refold.events.canonical import canonical_text
from refold.events.fact import Offer


async def notify(
    message: Notify,
    *,
    listeners: Callable[[], tuple[Listener, ...]],
    contents: Contents,
    pool: ThreadPoolExecutor,
    clock: Callable[[], int],
    limit: float,
) -> Offer | None:
    """Tell the listeners of each event. The first that raises, or takes longer than `limit`
    seconds, ends it: an input that says so.
    """
    for number, fact in enumerate(message.facts):
        event = project(message.states[number], fact, message.states[number + 1], contents)
        if event is None:
            continue
        told: list[Listener] = []
        # A listener that subscribes while the others are told hears of this event too.
        while waiting := [listener for listener in listeners() if listener not in told]:
            told.append(waiting[0])
            time = asyncio.timeout(limit)
            try:
                async with time:
                    await called(waiting[0], pool, event)
            except Exception as error:
                late = TimeoutError(f"a listener took over {limit:g} s")
                why = late if time.expired() else error
                return _failure(why, message.states[number + 1], clock)
    return None


def _failure(error: Exception, state: Any, clock: Callable[[], int]) -> Offer:
    provider, _, model = (state.run.model if state.run else "").partition("/")
    failure = Failure(
        message=canonical_text(str(error)) or type(error).__name__,
        provider=provider,
        model=model,
        timestamp=clock(),
    )
    return Offer(inputs.ListenerFailed(), encode(failure))
