"""Content blocks of scripted replies: given as data, streamed in parts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from refold.actors.providers.arguments import sound_arguments
from refold.events.agent.bodies import Piece, PieceKind
from refold.events.agent.messages import AssistantContent, Text, Thinking, ToolCall
from refold.events.canonical import Json, canonical_text
from refold.events.errors import InvalidArgumentError

Kind = Literal["text", "thinking", "tool_call"]

BlockData = AssistantContent | Mapping[str, Any]
"""A content block: a struct, or the same as data, such as `{"type": "text", "text": "Hi"}`.

Types and their fields: `text` (text, signature), `thinking` (thinking, signature), `tool_call`
(name, arguments, id). Arguments that are text are what the model wrote, valid or not. A tool call
without an id gets one that no other call of the session has. `chunks` (a list of texts) says in
which parts a block is streamed.
"""

_FIELDS: dict[str, tuple[str, ...]] = {
    "text": ("text", "signature"),
    "thinking": ("thinking", "signature"),
    "tool_call": ("name", "arguments", "id"),
}
_STARTS: dict[Kind, PieceKind] = {
    "text": "text_start",
    "thinking": "thinking_start",
    "tool_call": "tool_call_start",
}
_DELTAS: dict[Kind, PieceKind] = {
    "text": "text_delta",
    "thinking": "thinking_delta",
    "tool_call": "tool_call_delta",
}
_ENDS: dict[Kind, PieceKind] = {
    "text": "text_end",
    "thinking": "thinking_end",
    "tool_call": "tool_call_end",
}


class ScriptBlock(NamedTuple):
    """A block, cut for streaming. `text` is a tool call's arguments as the model writes them."""

    kind: Kind
    text: str
    parts: tuple[str, ...]
    signature: str = ""
    id: str = ""
    name: str = ""

    @classmethod
    def of(cls, data: Any, chunks: int | Sequence[str] | None, where: str) -> ScriptBlock:
        """A block from what scripts hold.

        Raises:
            InvalidArgumentError: it is no block; the message begins with `where`.
        """
        match data:
            case str() | Text():
                block = cls("text", data if isinstance(data, str) else data.text, ())
                signature = "" if isinstance(data, str) else data.signature
                block = block._replace(signature=signature)
            case Thinking():
                block = cls("thinking", data.thinking, (), data.signature)
            case ToolCall():
                block = cls("tool_call", data.arguments.text, (), id=data.id, name=data.name)
            case Mapping():
                block = _from_mapping(data, where)
                chunks = data.get("chunks", chunks)
            case _:
                raise InvalidArgumentError(
                    f"{where} is of type {type(data).__name__}: give text or a content block"
                )
        text = canonical_text(block.text)
        return block._replace(text=text, parts=_cut(block.kind, text, chunks, where))

    def pieces(self, index: int, id: str) -> Iterator[tuple[str, Piece]]:
        """The block's pieces as block number `index`, each with its place in the stream."""
        start = Piece(_STARTS[self.kind], index, id=id, name=self.name)
        yield f"b{index}.start", start
        for number, part in enumerate(self.parts):
            yield f"b{index}.d{number}", Piece(_DELTAS[self.kind], index, part)
        if self.kind == "tool_call":
            text = sound_arguments("".join(self.parts))
            yield f"b{index}.end", Piece("tool_call_end", index, text)
        else:
            yield f"b{index}.end", Piece(_ENDS[self.kind], index, id=self.signature)

    def content(self, id: str) -> AssistantContent:
        """The finished block."""
        if self.kind == "text":
            return Text(self.text, self.signature)
        if self.kind == "thinking":
            return Thinking(self.text, self.signature)
        written = "".join(self.parts)
        return ToolCall(id, self.name, Json(sound_arguments(written) or written))


def _from_mapping(data: Mapping[str, Any], where: str) -> ScriptBlock:
    kind = data.get("type")
    if kind not in _FIELDS:
        raise InvalidArgumentError(
            f"{where} has the type {kind!r}: give one of {', '.join(_FIELDS)}"
        )
    unknown = sorted(set(data).difference(_FIELDS[kind], ("type", "chunks")))
    if unknown:
        raise InvalidArgumentError(
            f"{where} has the unknown field {unknown[0]!r}: a block of type {kind} has "
            f"{', '.join(_FIELDS[kind])} and chunks"
        )
    if kind == "tool_call":
        given = data.get("arguments", {})
        text = given if isinstance(given, str) else Json.of(given, f"{where}.arguments").text
        name, id = _text(data, "name", where), _text(data, "id", where)
        return ScriptBlock("tool_call", text, (), id=id, name=name)
    signature = _text(data, "signature", where)
    if kind == "text":
        return ScriptBlock("text", _text(data, "text", where), (), signature)
    return ScriptBlock("thinking", _text(data, "thinking", where), (), signature)


def _text(data: Mapping[str, Any], name: str, where: str) -> str:
    value = data.get(name, "")
    if not isinstance(value, str):
        raise InvalidArgumentError(f"{where}.{name} is {value!r}: give text")
    return canonical_text(value)


def _cut(kind: Kind, text: str, chunks: int | Sequence[str] | None, where: str) -> tuple[str, ...]:
    if chunks is None:
        return (text,)
    if isinstance(chunks, int) and chunks > 0:
        return tuple(text[at : at + chunks] for at in range(0, len(text), chunks)) or ("",)
    if isinstance(chunks, Sequence) and all(isinstance(part, str) for part in chunks):
        parts = tuple(map(canonical_text, chunks))
        joined = "".join(parts)
        if joined == text or (kind == "tool_call" and _same_json(joined, text)):
            return parts
        raise InvalidArgumentError(f"{where}: the chunks make {joined!r}, not {text!r}")
    raise InvalidArgumentError(
        f"{where}: chunks are {chunks!r}: give a list of texts, or a number of characters"
    )


def _same_json(one: str, other: str) -> bool:
    try:
        return bool(json.loads(one) == json.loads(other))
    except ValueError:
        return False
