"""What a conversation is made of. All of it is immutable, down to the JSON values."""

from __future__ import annotations

from typing import Literal

import msgspec

from refold.events.agent.usage import NO_USAGE, Usage
from refold.events.canonical import EMPTY_OBJECT, Json

StopReason = Literal["stop", "length", "tool_use", "error", "aborted", "interrupted"]
"""Why a model stopped: it was done, ran into its limit, wants tools run, failed, was aborted, or
was interrupted by a message that could not wait."""

ErrorKind = Literal[
    "auth",
    "rate_limit",
    "overloaded",
    "context_overflow",
    "invalid_request",
    "network",
    "timeout",
    "protocol",
    "aborted",
    "unknown",
]
"""What went wrong with a model call."""

ThinkingLevel = Literal["off", "minimal", "low", "medium", "high", "xhigh"]
"""How much a model should reason before it answers."""


class Text(msgspec.Struct, frozen=True, tag_field="type", tag="text", omit_defaults=True, gc=False):
    """Text, with the provider's signature of it where there is one."""

    text: str
    signature: str = ""


class Thinking(
    msgspec.Struct, frozen=True, tag_field="type", tag="thinking", omit_defaults=True, gc=False
):
    """Reasoning of a model; `signature` is what its provider wants to see again."""

    thinking: str
    signature: str = ""


class ToolCall(
    msgspec.Struct, frozen=True, tag_field="type", tag="tool_call", omit_defaults=True, gc=False
):
    """A model's wish to have a tool run. `arguments` are as the model gave them."""

    id: str
    name: str
    arguments: Json = EMPTY_OBJECT


class Image(
    msgspec.Struct, frozen=True, tag_field="type", tag="image", omit_defaults=True, gc=False
):
    """An image. In a log its bytes stand once, as a blob whose digest is `blob`."""

    media_type: str
    data: bytes = b""
    blob: bytes = b""


Content = Text | Image
AssistantContent = Text | Thinking | ToolCall


class UserMessage(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="role", tag="user", gc=False
):
    """Something a person, or a program in their place, said. Times are ms since 1970 (UTC)."""

    content: tuple[Content, ...]
    timestamp: int = 0

    @property
    def text(self) -> str:
        """All text of the message, joined."""
        return joined_text(self.content)


class AssistantMessage(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="role",
    tag="assistant",
    omit_defaults=True,
    gc=False,
):
    """What a model said. While it streams, `stop_reason` is None and `content` what came so far."""

    content: tuple[AssistantContent, ...] = ()
    provider: str = ""
    model: str = ""
    stop_reason: StopReason | None = None
    usage: Usage = NO_USAGE
    error_message: str | None = None
    error_kind: ErrorKind | None = None
    response_id: str = ""
    timestamp: int = 0

    @property
    def text(self) -> str:
        """All text of the message, joined; its thinking is left out."""
        return joined_text(self.content)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of the message, in order."""
        return tuple(block for block in self.content if isinstance(block, ToolCall))


class ToolResultMessage(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="role",
    tag="tool_result",
    omit_defaults=True,
    gc=False,
):
    """What the model is told about one of its calls. `whole` is as in `ToolResult`."""

    tool_call_id: str
    tool_name: str
    content: tuple[Content, ...]
    details: Json | None = None
    usage: Usage | None = None
    added_tool_names: tuple[str, ...] = ()
    is_error: bool = False
    whole: bytes = b""
    timestamp: int = 0

    @property
    def text(self) -> str:
        """All text of the message, joined."""
        return joined_text(self.content)


class CustomMessage(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="role", tag="custom", gc=False
):
    """A program's own message; models are not sent it unless a hook makes it into another kind.

    Attributes:
        kind: the program's word for it.
        data: whatever it holds.
    """

    kind: str
    data: Json = EMPTY_OBJECT
    timestamp: int = 0

    @property
    def text(self) -> str:
        """Empty: what `data` means is the program's affair."""
        return ""


Message = UserMessage | AssistantMessage | ToolResultMessage | CustomMessage


class ToolResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What a run of a tool gave.

    Attributes:
        content: what the model is told.
        details: what only the program sees.
        usage: tokens that the tool itself spent.
        added_tool_names: tools that the model may use from now on, as a note to the program.
        terminate: True asks to end the run; it ends if all results of a batch ask.
        whole: digest of the blob that holds all of the text, where `content` was cut.
        timestamp: when it was there, ms since 1970 (UTC).
    """

    content: tuple[Content, ...] = ()
    details: Json | None = None
    usage: Usage | None = None
    added_tool_names: tuple[str, ...] | None = None
    terminate: bool | None = None
    whole: bytes = b""
    timestamp: int = 0

    @property
    def text(self) -> str:
        """All text of the result, joined."""
        return joined_text(self.content)


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A tool as a model is told of it. `parameters` is a JSON schema of type object."""

    name: str
    description: str = ""
    parameters: Json = EMPTY_OBJECT


def joined_text(content: tuple[object, ...]) -> str:
    """The text of all text blocks, joined."""
    return "".join(block.text for block in content if isinstance(block, Text))
