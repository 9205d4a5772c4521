"""The content that stands beside inputs: its structs, and how they become bytes."""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby
from typing import Any, Literal

import msgspec

from refold.events.agent.messages import (
    AssistantContent,
    Content,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from refold.events.agent.usage import Usage
from refold.events.canonical import Json

PieceKind = Literal[
    "text_start",
    "text_delta",
    "text_end",
    "thinking_start",
    "thinking_delta",
    "thinking_end",
    "tool_call_start",
    "tool_call_delta",
    "tool_call_end",
]


class Piece(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True, gc=False):
    """A step of a streamed reply.

    Attributes:
        index: which content block of the message.
        text: what is new (of a `tool_call_delta`: a part of the arguments' JSON text); of a
            `tool_call_end`: the arguments, where they are not what the deltas say.
        id, name: of a tool call, with its `tool_call_start`. With `text_end` and `thinking_end`
            `id` is the provider's signature of the block.
    """

    kind: PieceKind
    index: int
    text: str = ""
    id: str = ""
    name: str = ""


class AssistantEnd(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What the end of a model call adds to its deltas.

    Attributes:
        content: all of the content; None if it is what the deltas say.
        problems: (call id, text) for each call whose arguments do not fit.
    """

    provider: str
    model: str
    timestamp: int
    content: tuple[AssistantContent, ...] | None = None
    error_message: str | None = None
    response_id: str = ""
    problems: tuple[tuple[str, str], ...] = ()


class Failure(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What was raised, in words."""

    message: str
    provider: str = ""
    model: str = ""
    timestamp: int = 0


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What was decided of a tool call before it ran.

    Attributes:
        text: why it is not to run; empty if nothing was said.
        arguments: what to run it with; None: what it had.
    """

    text: str = ""
    arguments: Json | None = None


class ResultPatch(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The parts of a tool's result that a hook overrides; None leaves a part as it is."""

    content: tuple[Content, ...] | None = None
    details: Json | None = None
    usage: Usage | None = None
    terminate: bool | None = None


class ContextEdit(msgspec.Struct, frozen=True, gc=False):
    """What the model sees instead of the run's context: ranges of it, and messages put in."""

    parts: tuple[tuple[int, int] | Message, ...]


_encode = msgspec.msgpack.Encoder().encode
_messages = msgspec.msgpack.Decoder(tuple[Message, ...])
_pieces = msgspec.msgpack.Decoder(tuple[Piece, ...])
_ends = msgspec.msgpack.Decoder(AssistantEnd)
_failures = msgspec.msgpack.Decoder(Failure)
_results = msgspec.msgpack.Decoder(ToolResult)
_verdicts = msgspec.msgpack.Decoder(Verdict)
_patches = msgspec.msgpack.Decoder(ResultPatch)
_edits = msgspec.msgpack.Decoder(ContextEdit)
_specs = msgspec.msgpack.Decoder(tuple[ToolSpec, ...])


def encode(content: Any) -> bytes:
    """A body's bytes, from a struct of this module, a `ToolResult`, or a tuple of messages."""
    return _encode(content)


def messages_of(body: bytes) -> tuple[Message, ...]:
    """The messages of `prompted`, `queued` and `history_replaced`."""
    return _messages.decode(body)


def pieces_of(body: bytes) -> tuple[Piece, ...]:
    """The pieces of a `model_delta`."""
    return _pieces.decode(body)


def end_of(body: bytes) -> AssistantEnd:
    """The body of a `model_finished`."""
    return _ends.decode(body)


def failure_of(body: bytes) -> Failure:
    """The body of `model_failed`, `hook_raised` and `listener_failed`."""
    return _failures.decode(body)


def result_of(body: bytes) -> ToolResult:
    """The body of `tool_returned`, `tool_failed` and `tool_progressed`."""
    return _results.decode(body)


def verdict_of(body: bytes) -> Verdict:
    """The body of a `hook_returned` before a tool runs."""
    return _verdicts.decode(body)


def patch_of(body: bytes) -> ResultPatch:
    """The body of a `hook_returned` after a tool ran."""
    return _patches.decode(body)


def edit_of(body: bytes) -> ContextEdit:
    """The body of a `hook_returned` of `transform_context`."""
    return _edits.decode(body)


@lru_cache(maxsize=256)
def specs_of(blob: bytes) -> tuple[ToolSpec, ...]:
    """The tool specs of a blob."""
    return _specs.decode(blob)


class _Block:
    """A content block while its pieces are gathered."""

    def __init__(self, piece: Piece) -> None:
        self.kind, self.id, self.name = piece.kind, piece.id, piece.name
        self.texts: list[str] = []
        self.signature, self.arguments, self.ended = "", "", False

    def content(self) -> AssistantContent:
        if self.kind == "tool_call_start":
            raw = self.arguments or ("".join(self.texts) if self.ended else "")
            return ToolCall(self.id, self.name, Json(raw or "{}"))
        text = "".join(self.texts)
        if self.kind == "thinking_start":
            return Thinking(text, self.signature)
        return Text(text, self.signature)


def assembled(pieces: Any) -> tuple[AssistantContent, ...]:
    """The content that `pieces` (an iterable of `Piece`) amount to; a call that has not ended
    has no arguments yet.
    """
    blocks: dict[int, _Block] = {}
    for piece in pieces:
        if piece.kind.endswith("_start"):
            blocks[piece.index] = _Block(piece)
            continue
        block = blocks[piece.index]
        if piece.kind.endswith("_delta"):
            block.texts.append(piece.text)
        else:
            block.ended, block.signature, block.arguments = True, piece.id, piece.text
    return tuple(blocks[index].content() for index in sorted(blocks))


def merged(pieces: list[Piece]) -> tuple[Piece, ...]:
    """The same pieces with neighbouring deltas of one block joined."""
    joined: list[Piece] = []
    for (kind, index), group in groupby(pieces, key=lambda piece: (piece.kind, piece.index)):
        same = list(group)
        if kind.endswith("_delta") and len(same) > 1:
            same = [Piece(kind, index, "".join(piece.text for piece in same))]
        joined.extend(same)
    return tuple(joined)
