"""What users hand in, in the form that is stored: shapes, bodies, and blobs by their digests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from refold.actors.tool import Tool
from refold.events.agent import bodies
from refold.events.agent.heads import CallHead, Shape
from refold.events.agent.messages import (
    AssistantMessage,
    Content,
    CustomMessage,
    Image,
    Message,
    Text,
    ToolResult,
    ToolResultMessage,
    UserMessage,
)
from refold.events.agent.settings import Toolset
from refold.events.canonical import canonical_text
from refold.events.record import blob_digest

Blobs = tuple[tuple[bytes, bytes], ...]


def settings_blobs(
    key: bytes, system_prompt: str | None, tools: Sequence[Tool] | None
) -> tuple[bytes | None, Toolset | None, Blobs]:
    """A system prompt and tools as digests, with the blobs; None stays None."""
    blobs: list[tuple[bytes, bytes]] = []
    prompt, toolset = None, None
    if system_prompt is not None:
        text = canonical_text(system_prompt).encode()
        prompt = blob_digest(key, text) if text else b""
        blobs.append((prompt, text))
    if tools is not None:
        specs = bodies.encode(tuple(tool.spec for tool in tools))
        toolset = Toolset(heads=tuple(tool.head for tool in tools), digest=blob_digest(key, specs))
        blobs.append((toolset.digest, specs))
    return prompt, toolset, tuple(blob for blob in blobs if blob[0])


def stored_messages(
    key: bytes, messages: Sequence[Message]
) -> tuple[tuple[Shape, ...], bytes, Blobs]:
    """Messages as shapes, a body, and the blobs of their images."""
    blobs: list[tuple[bytes, bytes]] = []
    stored = tuple(_without_images(key, message, blobs) for message in messages)
    shapes = tuple(_shape(message) for message in stored)
    return shapes, bodies.encode(stored), tuple(blobs)


def stored_parts(key: bytes, parts: Sequence[Any]) -> tuple[tuple[Any, ...], Blobs]:
    """The parts of a context edit, with the images of messages that are put in as blobs."""
    blobs: list[tuple[bytes, bytes]] = []
    stored = tuple(
        part if isinstance(part, tuple) else _without_images(key, part, blobs) for part in parts
    )
    return stored, tuple(blobs)


def stored_content(key: bytes, content: Sequence[Content]) -> tuple[tuple[Content, ...], Blobs]:
    """Content with its images as blobs."""
    blobs: list[tuple[bytes, bytes]] = []
    return _stored_content(key, tuple(content), blobs), tuple(blobs)


def _without_images(key: bytes, message: Message, blobs: list[tuple[bytes, bytes]]) -> Message:
    if not isinstance(message, UserMessage | ToolResultMessage):
        return message
    return replace(message, content=_stored_content(key, message.content, blobs))


def _stored_content(
    key: bytes, content: tuple[Content, ...], blobs: list[tuple[bytes, bytes]]
) -> tuple[Content, ...]:
    stored: list[Content] = []
    for block in content:
        if isinstance(block, Image) and block.data:
            digest = blob_digest(key, block.data)
            blobs.append((digest, block.data))
            block = Image(media_type=block.media_type, blob=digest)
        stored.append(block)
    return tuple(stored)


def stored_result(key: bytes, result: ToolResult, limit: int) -> tuple[bytes, Blobs]:
    """A tool's result as a body, and its blobs: images, and text beyond `limit` characters.

    Of a text that is too long, the model is told the first and the last part.
    """
    blobs: list[tuple[bytes, bytes]] = []
    text = result.text
    if len(text) > limit:
        whole = text.encode()
        digest = blob_digest(key, whole)
        blobs.append((digest, whole))
        half, left = limit // 2, len(text) - 2 * (limit // 2)
        notice = f"\n[{left} characters of {len(text)} are left out here]\n"
        cut = Text(text[:half] + notice + text[len(text) - half :])
        others = tuple(block for block in result.content if not isinstance(block, Text))
        result = replace(result, content=(cut, *others), whole=digest)
    content = _stored_content(key, result.content, blobs)
    return bodies.encode(replace(result, content=content)), tuple(blobs)


def _shape(message: Message) -> Shape:
    size = len(message.text)
    match message:
        case UserMessage():
            return Shape(role="user", size=size)
        case AssistantMessage():
            return Shape(
                role="assistant",
                size=size,
                stop_reason=message.stop_reason or "stop",
                calls=tuple(CallHead(call.id, call.name) for call in message.tool_calls),
            )
        case ToolResultMessage():
            return Shape(
                role="tool_result",
                size=size,
                call=CallHead(message.tool_call_id, message.tool_name),
                is_error=message.is_error,
            )
        case CustomMessage():
            return Shape(role="custom", size=size + len(message.data.text))
