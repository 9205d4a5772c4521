"""Chunks of a reply become pieces, whatever servers leave out, repeat or rename."""

from __future__ import annotations

import json
from typing import Any

import pytest

from refold.actors.providers.failure import ReplyError
from refold.actors.providers.openai_reply import OpenAIReply
from refold.actors.providers.provider import Began
from refold.events.agent.bodies import Piece, assembled
from refold.events.agent.messages import AssistantContent, Text, Thinking, ToolCall
from refold.events.agent.usage import Usage
from refold.events.canonical import Json


class Read:
    """A reply that was read to its end."""

    def __init__(self, *chunks: dict[str, Any] | str, call: int = 7) -> None:
        self.reply = OpenAIReply(call)
        events = []
        for chunk in chunks:
            data = chunk if isinstance(chunk, str) else json.dumps(chunk)
            events += list(self.reply.take(data))
        events += list(self.reply.end())
        self.pieces = [event for event in events if isinstance(event, Piece)]
        assert [event for event in events if isinstance(event, Began)] == events[:1]

    @property
    def content(self) -> tuple[AssistantContent, ...]:
        return assembled(self.pieces)

    @property
    def calls(self) -> list[tuple[str, str, Any]]:
        return [
            (block.id, block.name, block.arguments.value)
            for block in self.content
            if isinstance(block, ToolCall)
        ]


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def call(arguments: Any = "", *, id: str = "", name: str = "", **entry: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return delta(tool_calls=[{"id": id, "type": "function", "function": function, **entry}])


STOP = delta("stop")
CALLED = delta("tool_calls")


def test_text_is_one_block_of_deltas() -> None:
    read = Read(delta(content="a"), delta(content=" "), delta(content="b"), STOP)
    assert read.pieces == [
        Piece("text_start", 0),
        Piece("text_delta", 0, "a"),
        Piece("text_delta", 0, " "),
        Piece("text_delta", 0, "b"),
        Piece("text_end", 0),
    ]
    assert read.reply.stop_reason == "stop"


def test_thinking_and_text_are_blocks_of_their_own() -> None:
    read = Read(
        delta(reasoning_content="hm"), delta(content="a"), delta(reasoning_content="so"), STOP
    )
    assert read.content == (
        Thinking("hm", "reasoning_content"),
        Text("a"),
        Thinking("so", "reasoning_content"),
    )


def test_reasoning_under_two_names_is_taken_once() -> None:
    read = Read(delta(reasoning="hm", reasoning_content="hm"), STOP)
    assert read.content == (Thinking("hm", "reasoning_content"),)


def test_content_may_be_a_list_of_parts() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    read = Read(delta(content=[thought, {"type": "text", "text": "a"}, {"type": "new"}]), STOP)
    assert read.content == (Thinking("hm"), Text("a"))


def test_a_refusal_is_text() -> None:
    assert Read(delta(content=None, refusal="I won't."), STOP).content == (Text("I won't."),)


def test_a_whole_message_is_read_like_a_stream() -> None:
    message = {
        "role": "assistant",
        "content": "a",
        "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}],
    }
    read = Read({"choices": [{"message": message, "finish_reason": "tool_calls"}]})
    assert read.content == (Text("a"), ToolCall("c", "f"))


def test_a_whole_message_behind_its_own_stream_is_passed_over() -> None:
    last = {"choices": [{"message": {"content": "ab"}, "finish_reason": "stop"}]}
    assert Read(delta(content="a"), delta(content="b"), last).content == (Text("ab"),)


def test_halves_of_an_emoji_in_two_deltas_are_joined() -> None:
    halves = [
        '{"choices":[{"delta":{"content":"x\\ud83d"}}]}',
        '{"choices":[{"delta":{"content":"\\ude00y"},"finish_reason":"stop"}]}',
    ]
    read = Read(*halves)
    assert read.content == (Text("x\N{GRINNING FACE}y"),)
    assert [piece.text for piece in read.pieces if piece.kind == "text_delta"] == [
        "x",
        "\N{GRINNING FACE}y",
    ]


def test_a_lone_half_of_an_emoji_and_nul_are_replaced() -> None:
    read = Read('{"choices":[{"delta":{"content":"a\\u0000\\ud83d"},"finish_reason":"stop"}]}')
    assert read.content == (Text("a\ufffd\ufffd"),)


def test_arguments_are_shown_as_they_come() -> None:
    read = Read(call('{"a"', id="c", name="f", index=0), call(":1}", index=0), CALLED)
    assert read.pieces == [
        Piece("tool_call_start", 0, id="c", name="f"),
        Piece("tool_call_delta", 0, '{"a"'),
        Piece("tool_call_delta", 0, ":1}"),
        Piece("tool_call_end", 0),
    ]
    assert read.reply.stop_reason == "tool_use"


def test_calls_may_be_interleaved_by_their_index() -> None:
    read = Read(
        call('{"a":', id="c", name="f", index=0),
        call('{"b":', id="d", name="g", index=1),
        call("1}", index=0),
        call("2}", index=1),
        CALLED,
    )
    assert read.calls == [("c", "f", {"a": 1}), ("d", "g", {"b": 2})]


def test_whole_calls_that_all_have_the_index_0_are_calls_of_their_own() -> None:
    read = Read(
        call('{"a":1}', id="c", name="f", index=0),
        call('{"a":2}', id="d", name="f", index=0),
        CALLED,
    )
    assert read.calls == [("c", "f", {"a": 1}), ("d", "f", {"a": 2})]


def test_an_id_that_changes_in_mid_call_is_that_of_its_beginning() -> None:
    read = Read(call('{"a":', id="c", name="f", index=0), call("1}", id="other", index=0), CALLED)
    assert read.calls == [("c", "f", {"a": 1})]


def test_a_name_that_changes_before_the_id_comes_is_the_first() -> None:
    read = Read(call(name="f", index=0), call("{}", id="c", name="g", index=0), CALLED)
    assert read.calls == [("c", "f", {})]


def test_a_part_without_index_and_id_goes_on_with_the_latest_call() -> None:
    read = Read(call("{}", id="c", name="f"), call('{"a":', id="d", name="g"), call("1}"), CALLED)
    assert read.calls == [("c", "f", {}), ("d", "g", {"a": 1})]


def test_a_part_without_index_goes_on_with_the_call_of_its_id() -> None:
    read = Read(
        call('{"a":', id="c", name="f"), call("{}", id="d", name="g"), call("1}", id="c"), CALLED
    )
    assert read.calls == [("c", "f", {"a": 1}), ("d", "g", {})]


def test_an_id_given_twice_is_made_different() -> None:
    read = Read(
        call("{}", id="c", name="f", index=0), call("{}", id="c", name="g", index=1), CALLED
    )
    assert read.calls == [("c", "f", {}), ("c_2", "g", {})]


def test_ids_that_are_never_given_are_made_from_the_call() -> None:
    read = Read(call("{}", name="f", index=0), call("{}", name="g", index=1), CALLED, call=7)
    assert [id for id, _, _ in read.calls] == ["call_7_0", "call_7_1"]


def test_a_call_without_a_name_is_kept_for_the_loop_to_answer() -> None:
    assert Read(call("{}", id="c", index=0), CALLED).calls == [("c", "", {})]


def test_a_call_of_which_nothing_came_is_none() -> None:
    assert Read(delta(content="a"), call(index=0), STOP).content == (Text("a"),)


def test_arguments_may_be_an_object_instead_of_its_text() -> None:
    assert Read(call({"a": 1}, id="c", name="f"), CALLED).calls == [("c", "f", {"a": 1})]


def test_arguments_that_are_no_json_are_kept_as_text() -> None:
    read = Read(call('{"a": ', id="c", name="f"), CALLED)
    assert read.calls == [("c", "f", '{"a": ')]
    assert read.pieces[-1] == Piece("tool_call_end", 0, Json.of('{"a": ').text)


def test_arguments_are_brought_into_canonical_form() -> None:
    read = Read(call('{"a":NaN,"b":"\\ud800","c":1}', id="c", name="f"), CALLED)
    assert read.calls == [("c", "f", {"a": None, "b": "\ufffd", "c": 1})]


def test_a_call_that_has_not_ended_has_no_arguments() -> None:
    reply = OpenAIReply(1)
    pieces = list(reply.take(json.dumps(call('{"a":1}', id="c", name="f"))))
    assert assembled(piece for piece in pieces if isinstance(piece, Piece)) == (ToolCall("c", "f"),)


@pytest.mark.parametrize(
    ("reason", "with_calls", "stop_reason"),
    [
        ("stop", False, "stop"),
        ("stop", True, "tool_use"),
        ("end_turn", False, "stop"),
        ("length", False, "length"),
        ("length", True, "length"),
        ("max_tokens", False, "length"),
        ("tool_calls", True, "tool_use"),
        ("tool_calls", False, "stop"),
    ],
)
def test_the_stop_reason(reason: str, with_calls: bool, stop_reason: str) -> None:
    first = call("{}", id="c", name="f") if with_calls else delta(content="a")
    assert Read(first, delta(reason)).reply.stop_reason == stop_reason


@pytest.mark.parametrize("reason", ["content_filter", "error", "never heard of"])
def test_a_reply_that_ended_for_a_bad_reason_failed(reason: str) -> None:
    with pytest.raises(ReplyError) as failed:
        Read(delta(content="a"), delta(reason))
    assert reason.replace("_", " ") in failed.value.message.replace("_", " ")


def test_done_ends_a_reply_whose_server_gives_no_reason() -> None:
    assert Read(delta(content="a"), "[DONE]").content == (Text("a"),)


@pytest.mark.parametrize("chunks", [[], ["[DONE]"], [{"choices": []}, "[DONE]"]])
def test_a_stream_without_a_reply_is_no_reply(chunks: list[Any]) -> None:
    with pytest.raises(ReplyError) as failed:
        Read(*chunks)
    assert failed.value.kind == "network"  # which may pass: it is tried again


def test_a_reply_that_says_nothing_and_stops_is_empty() -> None:
    assert Read(STOP).content == ()


@pytest.mark.parametrize("data", ["{", "nonsense", "[]", "3", '"text"'])
def test_what_is_no_chunk_is_a_protocol_error_that_shows_it(data: str) -> None:
    with pytest.raises(ReplyError, match="sent what is") as failed:
        Read(data)
    assert failed.value.kind == "protocol"
    assert data in failed.value.message


def test_the_response_id_is_the_first() -> None:
    read = Read({"id": "r1", **delta(content="a")}, {"id": "r2", **STOP})
    assert read.reply.response_id == "r1"


def usage(prompt: int, completion: int, **fields: Any) -> dict[str, Any]:
    return {"usage": {"prompt_tokens": prompt, "completion_tokens": completion, **fields}}


def test_input_leaves_out_cached_tokens() -> None:
    details = {"cached_tokens": 60, "cache_write_tokens": 10}
    read = Read(
        delta(content="a"), STOP, {"choices": [], **usage(100, 5, prompt_tokens_details=details)}
    )
    assert read.reply.usage == Usage.of(input=30, output=5, cache_read=60, cache_write=10)


def test_cached_tokens_under_another_name() -> None:
    read = Read(STOP, {"choices": [], **usage(100, 5, prompt_cache_hit_tokens=60)})
    assert read.reply.usage == Usage.of(input=40, output=5, cache_read=60)


def test_usage_is_replaced_field_by_field_not_added() -> None:
    details = {"cached_tokens": 4}
    read = Read(
        {**delta(content="a"), **usage(10, 1, prompt_tokens_details=details)},
        {**STOP, "usage": {"completion_tokens": 3, "prompt_tokens": None}},
        {"choices": [], "usage": None},
    )
    assert read.reply.usage == Usage.of(input=6, output=3, cache_read=4)


def test_usage_may_stand_in_the_choice() -> None:
    choice = {"index": 0, "delta": {}, "finish_reason": "stop", **usage(10, 1)}
    assert Read({"choices": [choice]}).reply.usage == Usage.of(input=10, output=1)


@pytest.mark.parametrize("nonsense", ["many", -1, None, {}, [1]])
def test_usage_that_is_no_number_is_passed_over(nonsense: Any) -> None:
    read = Read(STOP, {"choices": [], "usage": {"prompt_tokens": nonsense}})
    assert read.reply.usage == Usage()


@pytest.mark.parametrize(
    "odd",
    [
        {"choices": None},
        {"choices": [None]},
        {"choices": [{"delta": None}]},
        {"choices": [{"delta": {"content": 3, "tool_calls": "x", "reasoning": {}}}]},
        {"choices": [{"delta": {"tool_calls": [None, {"function": None}, {"index": "x"}]}}]},
        {"object": "ping"},
    ],
)
def test_parts_of_the_wrong_type_are_passed_over(odd: dict[str, Any]) -> None:
    assert Read(odd, delta(content="a"), STOP).content == (Text("a"),)
