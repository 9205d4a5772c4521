"""What the states of a log were, in a form that outlives the code: plain JSON."""

from __future__ import annotations

from typing import Any

import refold
from refold import AgentState, Archive, Message


def states_of(archive: Archive) -> dict[str, Any]:
    """By session: the state at every version, and every request that a model was sent."""
    told = {}
    for info in archive.sessions():
        past = archive.session(info.name)
        calls = sum(entry.type == "model_called" for entry in past.entries())
        told[info.name] = {
            "states": [_state(past.at(version)) for version in range(info.version + 1)],
            "requests": [
                [_message(message) for message in past.context(number).messages]
                for number in range(1, calls + 1)
            ],
        }
    return told


def _state(state: AgentState) -> list[Any]:
    return [
        state.model,
        state.system_prompt,
        state.thinking_level,
        [tool.name for tool in state.tools],
        len(state.messages),
        _message(state.messages[-1]) if state.messages else None,
        state.is_streaming,
        _message(state.streaming_message) if state.streaming_message else None,
        list(state.pending_tool_calls),
        state.error_message,
    ]


def _message(message: Message) -> list[Any]:
    shown: list[Any] = [type(message).__name__, message.text]
    if isinstance(message, refold.AssistantMessage):
        calls = [[call.id, call.name, call.arguments.text] for call in message.tool_calls]
        shown += [message.stop_reason, message.error_message, message.usage.total, calls]
    elif isinstance(message, refold.ToolResultMessage):
        shown += [message.tool_call_id, message.is_error]
    elif isinstance(message, refold.UserMessage):
        images = [block for block in message.content if isinstance(block, refold.Image)]
        shown += [[image.media_type, len(image.data)] for image in images]
    return shown
