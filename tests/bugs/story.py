"""What a run came to, in the words of the corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import refold
from refold import AssistantMessage, LifecycleEvent, Message, ToolResultMessage, UserMessage
from tests.bugs.timeline import ROLES

Told = dict[str, Any]

NAMES: dict[type, str] = {
    refold.ToolExecutionStart: "tool_execution_start",
    refold.ToolExecutionUpdate: "tool_execution_update",
    refold.ToolExecutionEnd: "tool_execution_end",
    refold.MessageStart: "message_start",
    refold.MessageUpdate: "message_update",
    refold.MessageEnd: "message_end",
    refold.AgentStart: "agent_start",
    refold.AgentEnd: "agent_end",
    refold.TurnStart: "turn_start",
    refold.TurnEnd: "turn_end",
}


def message(given: Message) -> Told:
    """A message of a request."""
    told: Told = {"role": ROLES[type(given)], "text": given.text}
    if isinstance(given, AssistantMessage):
        told["calls"] = [call.id for call in given.tool_calls]
    if isinstance(given, ToolResultMessage):
        told |= {"call": given.tool_call_id, "error": given.is_error}
    return told


def new_user_texts(requests: Sequence[refold.Request]) -> list[list[str]]:
    """What users said in each request that was not in the one before, in order."""
    before: Counter[str] = Counter()
    told = []
    for request in requests:
        texts = [each.text for each in request.messages if isinstance(each, UserMessage)]
        old, new = Counter(before), []
        for text in texts:
            if old[text]:
                old[text] -= 1
            else:
                new.append(text)
        told.append(new)
        before = Counter(texts)
    return told


def event(given: LifecycleEvent) -> list[str]:
    """The words of an event: its name, then the call's id or who speaks, then its text."""
    words = [NAMES[type(given)]]
    match given:
        case refold.ToolExecutionStart():
            words += [given.tool_call_id]
        case refold.ToolExecutionUpdate():
            words += [given.tool_call_id, given.partial_result.text]
        case refold.ToolExecutionEnd():
            words += [given.tool_call_id, given.result.text]
        case refold.MessageStart() | refold.MessageEnd():
            if isinstance(given.message, ToolResultMessage):
                words += [given.message.tool_call_id]
            else:
                words += [ROLES[type(given.message)]]
            words += [given.message.text]
        case refold.MessageUpdate():
            words += ["assistant", given.delta]
    return words


def in_order(wanted: Iterable[str], events: Iterable[LifecycleEvent]) -> str | None:
    """The first of the wanted events that does not come behind those before it; None if all do."""
    there = iter([_forms(event(each)) for each in events])
    for each in wanted:
        if not any(each in forms for forms in there):
            return each
    return None


def _forms(words: list[str]) -> set[str]:
    """The ways in which an event may be written: each with fewer words than the one before."""
    forms = {" ".join(words[:count]) for count in range(1, len(words) + 1)}
    return forms | {f"{words[0]} {words[-1]}"}


def calls(messages: Iterable[Message], recorded: dict[str, list[Any]]) -> list[Told]:
    """What came of each call, in the order of the calls.

    Args:
        recorded: the arguments with which tools ran, by call id.
    """
    left = {id: list(arguments) for id, arguments in recorded.items()}
    told: list[Told] = []
    waiting: list[Told] = []
    for each in messages:
        if isinstance(each, AssistantMessage):
            waiting = [{"id": call.id, "name": call.name} for call in each.tool_calls]
            told += waiting
        if isinstance(each, ToolResultMessage):
            call = next(call for call in waiting if call["id"] == each.tool_call_id)
            waiting.remove(call)
            call |= {"error": each.is_error, "text": each.text}
            if left.get(each.tool_call_id):
                call["recorded"] = left[each.tool_call_id].pop(0)
    return told
