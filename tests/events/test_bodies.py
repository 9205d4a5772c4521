"""Bodies to bytes and back, and the pieces of a streamed reply."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refold.events.agent import bodies
from refold.events.agent.bodies import (
    AssistantEnd,
    ContextEdit,
    Failure,
    Piece,
    PieceKind,
    ResultPatch,
    Verdict,
    assembled,
    encode,
    merged,
)
from refold.events.agent.messages import (
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from refold.events.canonical import Json
from tests.support.strategies import values_of

READERS: list[tuple[Any, Callable[[bytes], Any]]] = [
    (tuple[Message, ...], bodies.messages_of),
    (tuple[Piece, ...], bodies.pieces_of),
    (AssistantEnd, bodies.end_of),
    (Failure, bodies.failure_of),
    (ToolResult, bodies.result_of),
    (Verdict, bodies.verdict_of),
    (ResultPatch, bodies.patch_of),
    (ContextEdit, bodies.edit_of),
    (tuple[ToolSpec, ...], bodies.specs_of),
]


@pytest.mark.parametrize(("kind", "read"), READERS, ids=lambda item: getattr(item, "__name__", ""))
@given(data=st.data())
def test_every_body_comes_back_as_it_was(
    kind: Any, read: Callable[[bytes], Any], data: st.DataObject
) -> None:
    content = data.draw(values_of(kind))
    assert read(encode(content)) == content


def streamed(blocks: list[tuple[str, list[str]]]) -> list[Piece]:
    """Whole blocks, one after the other, as a provider would stream them."""
    pieces = []
    for index, (kind, texts) in enumerate(blocks):
        start, delta, end = (f"{kind}_{step}" for step in ("start", "delta", "end"))
        pieces.append(Piece(start, index, id="id", name="name"))  # type: ignore[arg-type]
        pieces += [Piece(delta, index, text) for text in texts]  # type: ignore[arg-type]
        pieces.append(Piece(end, index))  # type: ignore[arg-type]
    return pieces


blocks = st.lists(
    st.tuples(
        st.sampled_from(["text", "thinking", "tool_call"]),
        st.lists(st.text(max_size=5), max_size=5),
    ),
    max_size=4,
)


@given(blocks, st.integers(0, 40))
def test_merged_pieces_say_the_same_and_are_no_more(
    given_blocks: list[tuple[str, list[str]]], cut: int
) -> None:
    pieces = streamed(given_blocks)[:cut]
    joined = merged(pieces)
    assert assembled(joined) == assembled(pieces)
    assert len(joined) <= len(pieces)


@given(blocks, st.lists(st.integers(0, 40)))
def test_it_does_not_matter_where_a_stream_was_cut_into_facts(
    given_blocks: list[tuple[str, list[str]]], cuts: list[int]
) -> None:
    pieces = streamed(given_blocks)
    borders = [0, *sorted(min(cut, len(pieces)) for cut in cuts), len(pieces)]
    parts = [merged(pieces[a:b]) for a, b in pairwise(borders)]
    assert assembled(piece for part in parts for piece in part) == assembled(pieces)


def piece(kind: PieceKind, text: str = "", id: str = "", name: str = "", index: int = 0) -> Piece:
    return Piece(kind, index, text, id, name)


@pytest.mark.parametrize(
    ("pieces", "content"),
    [
        ([piece("text_start"), piece("text_delta", "he")], Text("he")),
        (
            [piece("text_start"), piece("text_delta", "hi"), piece("text_end", id="sig")],
            Text("hi", "sig"),
        ),
        (
            [
                piece("thinking_start"),
                piece("thinking_delta", "hm"),
                piece("thinking_end", id="sig"),
            ],
            Thinking("hm", "sig"),
        ),
        (
            [
                piece("tool_call_start", id="1", name="add"),
                piece("tool_call_delta", '{"a":'),
                piece("tool_call_delta", "1}"),
                piece("tool_call_end"),
            ],
            ToolCall("1", "add", Json('{"a":1}')),
        ),
        (
            [piece("tool_call_start", id="1", name="add"), piece("tool_call_delta", '{"a":')],
            ToolCall("1", "add", Json("{}")),
        ),
        (
            [
                piece("tool_call_start", id="1", name="add"),
                piece("tool_call_delta", '{"a":1,}'),
                piece("tool_call_end", '{"a":1}'),
            ],
            ToolCall("1", "add", Json('{"a":1}')),
        ),
    ],
    ids=["text so far", "text", "thinking", "a call", "a call so far", "repaired arguments"],
)
def test_pieces_amount_to_content(pieces: list[Piece], content: object) -> None:
    assert assembled(pieces) == (content,)


def test_blocks_stand_in_the_order_of_their_numbers() -> None:
    pieces = [
        piece("text_start", index=1),
        piece("text_start", index=0),
        piece("text_delta", "second", index=1),
        piece("text_delta", "first", index=0),
    ]
    assert assembled(pieces) == (Text("first"), Text("second"))
