"""The translation `openai-chat/1`: from a request to the body of an OpenAI chat completion.

It is pure: the same request gives the same bytes for ever, and its name and the digest of what it
gave are recorded with each call. Whoever changes what it gives, gives it a new number.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from refold.actors.providers.arguments import arguments_object
from refold.events.agent.context import Request, answered
from refold.events.agent.messages import (
    AssistantMessage,
    Content,
    Image,
    Message,
    Text,
    Thinking,
    ToolResultMessage,
    ToolSpec,
    UserMessage,
)
from refold.events.canonical import Json, canonical
from refold.events.errors import InvalidArgumentError

NAME = "openai-chat/1"
RESERVED = frozenset({"model", "messages", "tools", "stream"})
"""Fields of the body that come from the request alone."""

REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
"""Where servers put reasoning. The field's name is kept as the signature of the thinking, and a
server that sent some gets it back there: a few want to see it again between tool calls.
"""

_NO_IMAGE = "(the image is not available)"
_IMAGES_BELOW = "(see the images below)"
_IMAGES_OF = "Images from the tool {name}:"
_encode = msgspec.json.Encoder().encode


def translation(options: Mapping[str, Any]) -> str:
    """The translation's full name: with options, they are part of it."""
    return f"{NAME} {Json.of(options, 'options').text}" if options else NAME


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Further fields of a body, in canonical form.

    Raises:
        InvalidArgumentError: one of them is made from the request, or is not JSON.
    """
    clash = sorted(RESERVED.intersection(options))
    if clash:
        raise InvalidArgumentError(
            f"options hold {', '.join(clash)}, which each request brings along: leave them out"
        )
    fixed: dict[str, Any] = canonical(dict(options), "options")
    return fixed


def render_by(translation: str, request: Request) -> bytes:
    """The body as the translation of this name makes it; for checking a recorded digest.

    Raises:
        InvalidArgumentError: this release does not know the translation.
    """
    name, _, options = translation.partition(" ")
    if name != NAME:
        raise InvalidArgumentError(
            f"no translation is named {name!r}: this release of refold knows {NAME}"
        )
    return render(request, json.loads(options) if options else {})


class Kept:
    """The bytes of messages that were rendered lately, so that a long conversation is rendered
    once and joined ever after. Messages never change, so the object itself is the key.

    When it is full it forgets everything: what is still in use comes back with the next call.
    """

    def __init__(self, limit: int = 64 * 2**20) -> None:
        self._limit = limit
        self._size = 0
        # The message is kept as well: while it lives, no other object has its id.
        self._entries: dict[int, tuple[Message, str, bytes]] = {}

    def rendered(self, message: Message, model: str) -> bytes:
        """The message as a model is sent it."""
        entry = self._entries.get(id(message))
        if entry is not None and entry[1] == model:
            return entry[2]
        data = _encode(_message(message, model))
        if self._size > self._limit:
            self._entries.clear()
            self._size = 0
        self._entries[id(message)] = (message, model, data)
        self._size += len(data)
        return data


def render(
    request: Request, options: Mapping[str, Any] | None = None, kept: Kept | None = None
) -> bytes:
    """The body of an HTTP request, as JSON.

    Args:
        options: further fields, such as `temperature`. They win over those that are made here;
            None takes a field away.
        kept: where to look for messages that were rendered before; it does not change the result.
    """
    fields: dict[str, Any] = {
        "model": request.model_id,
        "messages": msgspec.Raw(b"[" + b",".join(_messages(request, kept or Kept())) + b"]"),
    }
    if request.tools:
        fields["tools"] = [_tool(spec) for spec in request.tools]
    if request.thinking_level != "off":
        fields["reasoning_effort"] = request.thinking_level
    fields["stream"] = True
    fields["stream_options"] = {"include_usage": True}
    fields.update(options or {})
    return _encode({name: value for name, value in fields.items() if value is not None})


def _messages(request: Request, kept: Kept) -> Iterator[bytes]:
    if request.system_prompt.strip():
        yield _encode({"role": "system", "content": request.system_prompt})
    pictures: list[dict[str, Any]] = []
    for message in answered(request.messages):
        if isinstance(message, ToolResultMessage):
            pictures += _pictures(message)
        elif pictures:
            yield _encode({"role": "user", "content": pictures})
            pictures = []
        yield kept.rendered(message, request.model)
    if pictures:
        yield _encode({"role": "user", "content": pictures})


def _message(message: Message, model: str) -> dict[str, Any]:
    if isinstance(message, AssistantMessage):
        return _assistant(message, model)
    if isinstance(message, ToolResultMessage):
        return _tool_result(message)
    assert isinstance(message, UserMessage)
    return {"role": "user", "content": _content(message.content)}


def _content(content: tuple[Content, ...]) -> str | list[dict[str, Any]]:
    if len(content) == 1 and isinstance(content[0], Text):
        return content[0].text
    return [_part(block) for block in content]


def _part(block: Content) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if not block.data:  # erased, or from a log that lacks it: the conversation can go on
        return {"type": "text", "text": _NO_IMAGE}
    url = f"data:{block.media_type};base64,{b64encode(block.data).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


def _assistant(message: AssistantMessage, model: str) -> dict[str, Any]:
    text = message.text
    fields: dict[str, Any] = {"role": "assistant", "content": text or None}
    if f"{message.provider}/{message.model}" == model:
        for block in message.content:
            if isinstance(block, Thinking) and block.signature in REASONING_FIELDS:
                fields[block.signature] = fields.get(block.signature, "") + block.thinking
    calls = message.tool_calls
    if calls:
        fields["tool_calls"] = [
            {
                "id": _id(call.id),
                "type": "function",
                "function": {
                    "name": _name(call.name),
                    "arguments": arguments_object(call.arguments),
                },
            }
            for call in calls
        ]
    return fields


def _id(call_id: str) -> str:
    """An id that servers take back: those of other providers may be longer than the 40 characters
    that OpenAI takes, or hold other ones. Both ends of a pair come here, so they stay a pair.
    """
    if re.fullmatch("[a-zA-Z0-9_-]{1,40}", call_id):
        return call_id
    return "call_" + blake2b(call_id.encode(), digest_size=16).hexdigest()


def _name(name: str) -> str:
    """A name that servers take back: a model may have called what no tool could be named."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "unnamed"


def _tool_result(message: ToolResultMessage) -> dict[str, Any]:
    text = "\n".join(block.text for block in message.content if isinstance(block, Text))
    return {
        "role": "tool",
        "tool_call_id": _id(message.tool_call_id),
        "content": text or _IMAGES_BELOW,
    }


def _pictures(message: ToolResultMessage) -> list[dict[str, Any]]:
    """A result's images. A tool message takes text only, so they follow as a user's message."""
    images = [_part(block) for block in message.content if isinstance(block, Image)]
    if not images:
        return []
    return [{"type": "text", "text": _IMAGES_OF.format(name=message.tool_name)}, *images]


def _tool(spec: ToolSpec) -> dict[str, Any]:
    parameters = spec.parameters.text
    if parameters == "{}":  # which says nothing, and is refused by some
        parameters = '{"type":"object","properties":{}}'
    function = {"name": spec.name, "description": spec.description}
    return {
        "type": "function",
        "function": {**function, "parameters": msgspec.Raw(parameters.encode())},
    }
