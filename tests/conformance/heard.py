"""The events that the main listener is done with, and who waits for one."""

from __future__ import annotations

from typing import Any

from tests.conformance.changes import Changes

Event = dict[str, Any]
Pattern = dict[str, Any]


def matches(pattern: Pattern, event: Event) -> bool:
    """True if an event is of the kind that a pattern describes; its `n` counts elsewhere."""
    return all(_has(event, key, wanted) for key, wanted in pattern.items() if key != "n")


def _has(event: Event, key: str, wanted: Any) -> bool:
    message = event.get("message", {})
    match key:
        case "role":
            return bool(message.get("role") == wanted)
        case "text":
            return wanted in _text(message.get("content", ""))
        case "delta":
            delta = event.get("assistantMessageEvent", {})
            return isinstance(delta, dict) and delta.get("type") == wanted
    return bool(event.get(key) == wanted)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content)


class Heard:
    """Events in the order in which the main listener was done with them."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._changes = Changes()

    def done(self, event: Event) -> None:
        """The main listener is done with an event."""
        self._events.append(event)
        self._changes.happened()

    async def wait(self, pattern: Pattern) -> None:
        """Wait until as many matching events as the pattern says have been heard."""
        wanted = pattern.get("n", 1)
        await self._changes.until(
            lambda: sum(matches(pattern, event) for event in self._events) >= wanted
        )
