"""Whether a conversation can be sent to a model: written without looking at how refold makes it so.

Every call is answered exactly once, directly behind the message it stands in; no result stands
without its call; no id is given twice.
"""

from __future__ import annotations

from collections.abc import Iterable

from refold import AssistantMessage, CustomMessage, Message, ToolResultMessage


def faults(messages: Iterable[Message]) -> list[str]:
    """What a provider would refuse in this conversation; empty if nothing."""
    found: list[str] = []
    unanswered: list[str] = []
    given: set[str] = set()
    for place, message in enumerate(messages):
        if isinstance(message, ToolResultMessage):
            if message.tool_call_id in unanswered:
                unanswered.remove(message.tool_call_id)
            else:
                found.append(f"message {place} answers {message.tool_call_id!r}, which waits not")
            continue
        found += [f"call {id!r} has no result before message {place}" for id in unanswered]
        unanswered = []
        if isinstance(message, CustomMessage):
            found.append(f"message {place} is a custom one")
        if not isinstance(message, CustomMessage) and not message.content:
            found.append(f"message {place} is empty")
        if isinstance(message, AssistantMessage):
            unanswered = [call.id for call in message.tool_calls]
            found += [f"call id {id!r} is given twice" for id in unanswered if id in given]
            if len(set(unanswered)) < len(unanswered):
                found.append(f"message {place} gives a call id twice")
            given.update(unanswered)
    return found + [f"call {id!r} has no result" for id in unanswered]
