"""What hooks are given, and what they may give back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from refold.actors.signal import AbortSignal
from refold.actors.tool import Tool
from refold.events.agent.messages import (
    AssistantMessage,
    Content,
    Message,
    ThinkingLevel,
    ToolResult,
    ToolResultMessage,
)
from refold.events.agent.usage import Usage


class BeforeToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """Given to `before_tool_call`.

    Attributes:
        arguments: a copy of the checked arguments; what is changed in it is what the tool gets.
        messages: the run's context.
    """

    tool_call_id: str
    tool_name: str
    arguments: dict[str, Any]
    messages: Sequence[Message]
    signal: AbortSignal


class Block(msgspec.Struct, frozen=True):
    """From `before_tool_call`: do not run it. `reason` is what the model is told."""

    reason: str = ""


class AfterToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """Given to `after_tool_call`."""

    tool_call_id: str
    tool_name: str
    arguments: dict[str, Any]
    result: ToolResult
    is_error: bool
    messages: Sequence[Message]
    signal: AbortSignal


class Override(msgspec.Struct, frozen=True, kw_only=True):
    """From `after_tool_call`: parts of the result; None leaves a part as it is."""

    content: tuple[Content, ...] | None = None
    details: Any = None
    usage: Usage | None = None
    is_error: bool | None = None
    terminate: bool | None = None


class AfterTurn(msgspec.Struct, frozen=True, kw_only=True):
    """Given to `prepare_next_turn` and `should_stop_after_turn`.

    Attributes:
        messages: the run's context; new_messages: those that came in this run.
    """

    message: AssistantMessage
    tool_results: tuple[ToolResultMessage, ...]
    messages: Sequence[Message]
    new_messages: Sequence[Message]
    signal: AbortSignal


class Next(msgspec.Struct, frozen=True, kw_only=True):
    """From `prepare_next_turn`: changes for the rest of the run; None leaves a part as it is."""

    model: str | None = None
    thinking_level: ThinkingLevel | None = None
    system_prompt: str | None = None
    tools: Sequence[Tool] | None = None
    messages: Sequence[Message] | None = None
