"""Awaited listeners, and the triggers that run inside them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from refold import AsyncSession, LifecycleEvent
from tests.conformance import shown
from tests.conformance.heard import Event, Heard, Pattern, matches
from tests.conformance.observation import Observation
from tests.conformance.steps import Place, Step, Steps
from tests.conformance.tools import Tools

MAIN = "main"
"""The listener that records what it gets."""


class _Trigger(msgspec.Struct):
    listener: str
    pattern: Pattern
    steps: list[Step]
    left: int

    def fires(self, listener: str, event: Event) -> bool:
        if listener != self.listener or not matches(self.pattern, event):
            return False
        self.left -= 1
        return self.left == 0


class Listeners:
    """The listeners of a scenario.

    Args:
        updates: `message_update` events are recorded, too.
    """

    def __init__(
        self,
        triggers: list[dict[str, Any]],
        *,
        updates: bool,
        tools: Tools,
        steps: Steps,
        heard: Heard,
        observation: Observation,
    ) -> None:
        self._triggers = [
            _Trigger(each.get("listener", MAIN), each["on"], each["do"], each["on"].get("n", 1))
            for each in triggers
        ]
        self._updates = updates
        self._tools = tools
        self._steps = steps
        self._heard = heard
        self._observation = observation
        self._ends: dict[str, Callable[[], None]] = {}

    def subscribe(self, session: AsyncSession, name: str) -> None:
        """Have a listener hear of all events from now on."""
        if name not in self._ends:
            self._ends[name] = session.listen(self._listener(name))

    def unsubscribe(self, name: str) -> None:
        """Have it hear of no more events."""
        if name in self._ends:
            self._ends.pop(name)()

    def _listener(self, name: str) -> Callable[[LifecycleEvent], Awaitable[None]]:
        async def listener(event: LifecycleEvent) -> None:
            await self.hear(name, event)

        return listener

    async def hear(self, name: str, seen: LifecycleEvent) -> None:
        """A listener gets an event."""
        event = shown.event(seen)
        if name != MAIN:
            self._observation.delivery(name, event["type"])
        elif self._updates or event["type"] != "message_update":
            self._observation.events.append(event)
        try:
            for trigger in self._triggers:
                if trigger.fires(name, event):
                    await self._steps.do(trigger.steps, Place(f"on:{event['type']}"))
        finally:
            if name == MAIN:
                self._done(event)

    def _done(self, event: Event) -> None:
        self._heard.done(event)
        if event["type"] == "tool_execution_end":
            self._tools.heard_end(event["toolCallId"])
        elif event["type"] == "agent_end":
            self._tools.heard_end_of_all()
