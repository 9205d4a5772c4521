"""What refold says, in the words of the corpus and its normal form."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from typing import Any

import refold
from refold import (
    AssistantMessage,
    CustomMessage,
    Image,
    Message,
    MessageUpdate,
    Piece,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from tests.conformance.values import STOP_REASONS

Json = dict[str, Any]

_STOP_REASONS = {ours: theirs for theirs, ours in STOP_REASONS.items()}
_KINDS = {"text": "text", "thinking": "thinking", "tool_call": "toolcall"}


def block(shown: Any) -> Json:
    """A content block."""
    match shown:
        case Text():
            return {"type": "text", "text": shown.text}
        case Image():
            data = b64encode(shown.data).decode()
            return {"type": "image", "data": data, "mimeType": shown.media_type}
        case Thinking():
            return {"type": "thinking", "thinking": shown.thinking}
        case ToolCall():
            arguments = shown.arguments.value
            return {"type": "toolCall", "id": shown.id, "name": shown.name, "arguments": arguments}
    raise TypeError(f"{shown!r} is no content block")


def content(blocks: Iterable[Any]) -> list[Json]:
    """Content blocks."""
    return [block(each) for each in blocks]


def usage(shown: Usage | None) -> Json:
    """The key `usage`, if there is any."""
    if shown is None or shown == Usage():
        return {}
    cost = shown.cost
    return {
        "usage": {
            "input": shown.input,
            "output": shown.output,
            "cacheRead": shown.cache_read,
            "cacheWrite": shown.cache_write,
            "totalTokens": shown.total,
            "cost": {
                "input": cost.input,
                "output": cost.output,
                "cacheRead": cost.cache_read,
                "cacheWrite": cost.cache_write,
                "total": cost.total,
            },
        }
    }


def role(shown: Message) -> str:
    """The role of a message."""
    match shown:
        case UserMessage():
            return "user"
        case AssistantMessage():
            return "assistant"
        case ToolResultMessage():
            return "toolResult"
    return shown.kind


def roles(shown: Iterable[Message]) -> list[str]:
    """The roles of messages."""
    return [role(each) for each in shown]


def message(shown: Message) -> Json:
    """A message."""
    if isinstance(shown, CustomMessage):
        data: Json = shown.data.value
        return data
    told: Json = {
        "role": role(shown),
        "content": content(shown.content),
        "timestamp": shown.timestamp,
    }
    match shown:
        case AssistantMessage():
            told |= {"provider": shown.provider, "model": shown.model} | usage(shown.usage)
            if shown.stop_reason is None:
                told["partial"] = True
            else:
                told["stopReason"] = _STOP_REASONS[shown.stop_reason]
            if shown.error_message is not None:
                told["errorMessage"] = shown.error_message
        case ToolResultMessage():
            told |= {"toolCallId": shown.tool_call_id, "toolName": shown.tool_name}
            told |= {"isError": shown.is_error} | usage(shown.usage)
            if shown.details is not None:
                told["details"] = shown.details.value
            if shown.added_tool_names:
                told["addedToolNames"] = list(shown.added_tool_names)
    return told


def messages(shown: Iterable[Message]) -> list[Json]:
    """Messages."""
    return [message(each) for each in shown]


def tool_result(shown: ToolResult) -> Json:
    """The result of a tool run."""
    told: Json = {"content": content(shown.content)} | usage(shown.usage)
    if shown.details is not None:
        told["details"] = shown.details.value
    if shown.added_tool_names is not None:
        told["addedToolNames"] = list(shown.added_tool_names)
    if shown.terminate is not None:
        told["terminate"] = shown.terminate
    return told


def event(shown: refold.LifecycleEvent) -> Json:
    """A lifecycle event."""
    match shown:
        case refold.AgentStart():
            return {"type": "agent_start"}
        case refold.TurnStart():
            return {"type": "turn_start"}
        case refold.MessageStart():
            return {"type": "message_start", "message": message(shown.message)}
        case MessageUpdate():
            return _message_update(shown)
        case refold.MessageEnd():
            return {"type": "message_end", "message": message(shown.message)}
        case refold.ToolExecutionStart():
            told = _of_call("tool_execution_start", shown)
            return told | {"args": shown.arguments.value}
        case refold.ToolExecutionUpdate():
            told = _of_call("tool_execution_update", shown) | {"args": shown.arguments.value}
            return told | {"partialResult": tool_result(shown.partial_result)}
        case refold.ToolExecutionEnd():
            told = _of_call("tool_execution_end", shown)
            return told | {"result": tool_result(shown.result), "isError": shown.is_error}
        case refold.TurnEnd():
            results = messages(shown.tool_results)
            return {"type": "turn_end", "message": message(shown.message), "toolResults": results}
        case refold.AgentEnd():
            return {"type": "agent_end", "messages": messages(shown.messages)}


def _of_call(type: str, shown: Any) -> Json:
    return {"type": type, "toolCallId": shown.tool_call_id, "toolName": shown.tool_name}


def _message_update(shown: MessageUpdate) -> Json:
    so_far = message(shown.message)
    delta = [_delta(piece, so_far) for piece in shown.pieces]
    # One piece an event, as the peer has it; were there more, the comparison shows all of them.
    told = delta[0] if len(delta) == 1 else delta
    return {"type": "message_update", "assistantMessageEvent": told, "message": so_far}


def _delta(piece: Piece, so_far: Json) -> Json:
    kind, _, step = piece.kind.rpartition("_")
    told: Json = {"type": f"{_KINDS[kind]}_{step}", "contentIndex": piece.index}
    if step == "delta":
        told["delta"] = piece.text
    elif step == "end":
        ended = so_far["content"][piece.index]
        told |= {"toolCall": ended} if kind == "tool_call" else {"content": ended[kind]}
    return told
