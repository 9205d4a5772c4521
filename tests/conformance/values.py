"""Values of the corpus as refold's own. The way back is in `shown`."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from refold import (
    AssistantMessage,
    Cost,
    CustomMessage,
    Image,
    Json,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolResultMessage,
    Usage,
    UserMessage,
)

PROVIDER = "scripted"
"""The one provider of the corpus; its models are `scripted/<id>`."""

STOP_REASONS: dict[str, Any] = {
    "stop": "stop",
    "length": "length",
    "toolUse": "tool_use",
    "error": "error",
    "aborted": "aborted",
}


class Absent:
    """A value that is not there, where `None` would be one that is `null`."""

    def __repr__(self) -> str:
        return "nothing"


ABSENT = Absent()


def expanded(value: Any) -> Any:
    """The value with its `$repeat` strings written out."""
    match value:
        case {"$repeat": [str(text), int(times)]}:
            return text * times
        case dict():
            return {key: expanded(item) for key, item in value.items()}
        case list():
            return [expanded(item) for item in value]
    return value


def block(given: dict[str, Any]) -> Any:
    """A content block."""
    match given["type"]:
        case "text":
            return Text(given["text"])
        case "image":
            return Image(given["mimeType"], b64decode(given["data"]))
        case "thinking":
            return Thinking(given["thinking"])
        case "toolCall":
            return ToolCall(given["id"], given["name"], Json.of(given["arguments"]))
    raise ValueError(f"{given!r} is no content block")


def content(given: str | list[dict[str, Any]]) -> tuple[Any, ...]:
    """Content: a string is one text block."""
    if isinstance(given, str):
        return (Text(given),)
    return tuple(block(each) for each in given)


def usage(given: dict[str, Any]) -> Usage:
    """Usage; what is missing is 0, a missing total is the sum."""
    cost = given.get("cost", {})
    return Usage.of(
        input=given.get("input", 0),
        output=given.get("output", 0),
        cache_read=given.get("cacheRead", 0),
        cache_write=given.get("cacheWrite", 0),
        total=given.get("totalTokens"),
        cost=Cost(
            input=cost.get("input", 0),
            output=cost.get("output", 0),
            cache_read=cost.get("cacheRead", 0),
            cache_write=cost.get("cacheWrite", 0),
            total=cost.get("total", 0),
        ),
    )


def message(given: dict[str, Any], model: str) -> Message:
    """A message; `model` is the one that an assistant message is from, if it does not say.

    Roles that refold does not know are an application's own: a custom message whose data is all of
    the message.
    """
    timestamp = given.get("timestamp", 0)
    match given["role"]:
        case "user":
            return UserMessage(content=content(given["content"]), timestamp=timestamp)
        case "assistant":
            return AssistantMessage(
                content=content(given["content"]),
                provider=given.get("provider", PROVIDER),
                model=given.get("model", model),
                stop_reason=STOP_REASONS[given.get("stopReason", "stop")],
                usage=usage(given.get("usage", {})),
                error_message=given.get("errorMessage"),
                timestamp=timestamp,
            )
        case "toolResult":
            return ToolResultMessage(
                tool_call_id=given["toolCallId"],
                tool_name=given["toolName"],
                content=content(given["content"]),
                details=Json.of(given["details"]) if "details" in given else None,
                usage=usage(given["usage"]) if "usage" in given else None,
                added_tool_names=tuple(given.get("addedToolNames", ())),
                is_error=given.get("isError", False),
                timestamp=timestamp,
            )
        case role:
            return CustomMessage(kind=role, data=Json.of(given), timestamp=timestamp)


def tool_result(given: str | dict[str, Any]) -> ToolResult:
    """The result of a tool run, or a part of it; a string is its text."""
    if isinstance(given, str):
        given = {"content": given}
    names = given.get("addedToolNames")
    return ToolResult(
        content=content(given.get("content", [])),
        details=Json.of(given["details"]) if "details" in given else None,
        usage=usage(given["usage"]) if "usage" in given else None,
        added_tool_names=None if names is None else tuple(names),
        terminate=given.get("terminate"),
    )


def mode(given: str) -> Any:
    """A queue mode."""
    return given.replace("-", "_")
