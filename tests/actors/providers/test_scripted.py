"""The scripted model: replies given as data, streamed event by event."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

from refold.actors.providers.provider import ABORTED, Began, Finish, StreamEvent
from refold.actors.providers.scripted import Reply, Scripted
from refold.actors.signal import AbortSignal
from refold.events.agent.bodies import Piece
from refold.events.agent.messages import AssistantContent, Text, Thinking, ToolCall
from refold.events.agent.usage import Usage
from refold.events.canonical import Json
from refold.events.errors import InvalidArgumentError
from tests.actors.providers.replies import Outcome, outcome, request, run


def reply(data: Any, **fields: Any) -> Outcome:
    return run(outcome(Scripted([data], **fields)))


def test_a_text_is_one_block_in_one_part() -> None:
    assert reply("Hello").events == (
        Began(),
        Piece("text_start", 0),
        Piece("text_delta", 0, "Hello"),
        Piece("text_end", 0),
        Finish(stop_reason="stop"),
    )


def test_blocks_may_be_structs_or_data() -> None:
    structs: list[AssistantContent] = [
        Thinking("hm", "s"),
        Text("a"),
        ToolCall("c", "add", Json('{"a":1}')),
    ]
    data = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "a"},
        {"type": "tool_call", "id": "c", "name": "add", "arguments": {"a": 1}},
    ]
    assert (
        reply({"content": structs}).events
        == reply(json.loads(json.dumps({"content": data}))).events
    )
    assert reply(Reply(structs)).content == tuple(structs)
    assert reply(Reply(structs)).finish.stop_reason == "tool_use"


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        ({"content": "abcde", "chunks": 2}, ["ab", "cd", "e"]),
        ({"content": "abc", "chunks": ["a", "", "bc"]}, ["a", "", "bc"]),
        ({"content": "", "chunks": 5}, [""]),
        ({"content": [{"type": "text", "text": "ab", "chunks": ["a", "b"]}]}, ["a", "b"]),
        (
            {"content": [{"type": "tool_call", "name": "f", "arguments": {"a": 1}}], "chunks": 3},
            ['{"a', '":1', "}"],
        ),
        (
            {"content": [ToolCall("c", "f", Json('{"a":1}'))], "chunks": ['{"a": ', "1}"]},
            ['{"a": ', "1}"],
        ),
    ],
)
def test_chunks_say_in_which_parts_a_block_is_streamed(data: Any, parts: list[str]) -> None:
    result = reply(data)
    assert [p.text for p in result.pieces if p.kind.endswith("_delta")] == parts


def test_a_call_without_an_id_gets_one_of_its_own() -> None:
    two = {"content": [{"type": "tool_call", "name": "f"}, {"type": "tool_call", "name": "g"}]}
    provider = Scripted([two, two])
    first = run(outcome(provider, request(call=1)))
    second = run(outcome(provider, request(call=2)))
    ids = [call.id for result in (first, second) for call in result.calls]
    assert len(set(ids)) == 4


def test_arguments_that_are_no_json_are_what_the_model_wrote() -> None:
    broken = {"type": "tool_call", "name": "f", "arguments": '{"a": '}
    result = reply({"content": [broken]})
    assert result.calls[0].arguments.value == '{"a": '
    whole = reply({"content": [broken], "streamed": False})
    assert whole.content == result.content


def test_a_reply_may_be_computed_from_its_request() -> None:
    provider = Scripted([lambda sent: f"call {sent.call}", "fixed"])
    assert run(outcome(provider, request(call=5))).text == "call 5"
    assert run(outcome(provider)).text == "fixed"


def test_a_function_in_place_of_the_script_answers_every_call() -> None:
    provider = Scripted(lambda sent: {"content": sent.model_id})
    assert [run(outcome(provider)).text for _ in range(3)] == ["test-model"] * 3


def test_the_calls_are_noted() -> None:
    provider = Scripted(["a", "b"])
    run(outcome(provider, request(call=1)))
    assert [call.call for call in provider.calls] == [1]
    assert provider.replies_left == 1


def test_an_exhausted_script_is_an_error_that_says_so() -> None:
    provider = Scripted(["a"])
    run(outcome(provider))
    assert run(outcome(provider)).events == (
        Finish(
            stop_reason="error",
            error_kind="invalid_request",
            error_message="the script has no reply left",
        ),
    )


def test_usage_and_reasons_are_as_given() -> None:
    end = reply(
        {"content": "a", "stop_reason": "length", "usage": {"input": 3, "output": 1}}
    ).finish
    assert (end.stop_reason, end.usage) == ("length", Usage.of(input=3, output=1))
    usage = Usage.of(input=3, total=9)
    assert reply(Reply("a", usage=usage)).finish.usage == usage
    assert reply({"content": "a", "usage": {"input": 3, "total": 9}}).finish.usage == usage


def test_an_error_comes_behind_what_was_said() -> None:
    result = reply({"content": "half", "error_message": "busy", "error_kind": "overloaded"})
    assert result.text == "half"
    assert result.finish == Finish(
        stop_reason="error", error_message="busy", error_kind="overloaded"
    )


def test_an_error_may_be_given_by_its_kind_alone() -> None:
    end = reply(Reply(error_kind="rate_limit", retry_after=2.5)).finish
    assert (end.stop_reason, end.retry_after) == ("error", 2.5)


def test_a_reply_that_is_not_streamed_comes_in_one() -> None:
    assert reply(Reply("a", streamed=False)).events == (
        Finish(stop_reason="stop", content=(Text("a"),)),
    )


def test_a_call_may_raise() -> None:
    with pytest.raises(RuntimeError, match="a bug"):
        reply({"raises": "a bug"})
    with pytest.raises(KeyError):
        reply(Reply(raises=KeyError("x")))


# --- Abort ----------------------------------------------------------------------------------------

FULL = Reply("abc", chunks=1)


@pytest.mark.parametrize("count", range(1, 7))
def test_an_abort_at_any_event_ends_with_the_content_so_far(count: int) -> None:
    whole = reply(FULL).events
    signal = AbortSignal()
    seen: list[StreamEvent] = []

    def on(event: StreamEvent) -> None:
        seen.append(event)
        if len(seen) == count:
            signal.set()

    result = run(outcome(Scripted([FULL]), signal=signal, on=on))
    assert result.events == (*whole[:count], ABORTED)


def test_an_aborted_call_gives_nothing_and_uses_its_reply() -> None:
    provider = Scripted(["a"])
    result = run(outcome(provider, signal=AbortSignal(aborted=True)))
    assert result.events == (ABORTED,)
    assert provider.replies_left == 0


def test_a_reply_may_ignore_the_abort() -> None:
    deaf = Reply("a", ignores_abort=True, delay=0.001)
    assert run(outcome(Scripted([deaf]), signal=AbortSignal(aborted=True))).text == "a"


def test_an_abort_ends_a_delay() -> None:
    signal = AbortSignal()

    def on(event: StreamEvent) -> None:
        if event == Piece("text_start", 0):
            signal.set()

    # Nobody waits an hour for it: the limit of the test would end it.
    result = run(outcome(Scripted(["ab"], delay=3600), signal=signal, on=on))
    assert result.finish == ABORTED


# --- Gates ----------------------------------------------------------------------------------------


def test_a_gate_holds_the_stream_until_it_opens() -> None:
    gate = threading.Event()
    provider = Scripted([Reply("abc", chunks=1, gates={"b0.d1": gate})])

    async def call() -> tuple[list[StreamEvent], Outcome]:
        seen: list[StreamEvent] = []
        first = asyncio.Event()

        def on(event: StreamEvent) -> None:
            seen.append(event)
            if event == Piece("text_delta", 0, "a"):
                first.set()

        calling = asyncio.create_task(outcome(provider, on=on))
        await first.wait()
        before = list(seen)
        gate.set()
        return before, await calling

    before, result = run(call())
    assert before == [Began(), Piece("text_start", 0), Piece("text_delta", 0, "a")]
    assert result.text == "abc"


def test_a_closed_gate_is_left_when_the_run_is_aborted() -> None:
    signal = AbortSignal()
    provider = Scripted([Reply("abc", chunks=1, gates={"b0.d1": threading.Event()})])

    def on(event: StreamEvent) -> None:
        if event == Piece("text_delta", 0, "a"):
            signal.set()

    result = run(outcome(provider, signal=signal, on=on))
    assert (result.text, result.finish) == ("a", ABORTED)


def test_a_closed_gate_is_left_when_the_call_is_cancelled() -> None:
    # run() would wait at its end for a thread that does not leave.
    gate = threading.Event()
    opened_late = threading.Timer(20, gate.set)
    opened_late.start()

    async def call() -> None:
        reached = asyncio.Event()
        provider = Scripted([Reply("a", gates={"b0.start": gate})])
        calling = asyncio.create_task(outcome(provider, on=lambda event: reached.set()))
        await reached.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling

    run(call())
    opened_late.cancel()
    assert not gate.is_set()


class Steps:
    """A gate that does something before it opens, as a coroutine."""

    def __init__(self, signal: AbortSignal) -> None:
        self.signal = signal
        self.done: list[str] = []

    async def wait(self) -> None:
        self.signal.set()
        await asyncio.sleep(0)
        self.done.append("behind the abort")


@pytest.mark.parametrize("place", ["open", "b0.start", "b0.d0", "b0.end", "close"])
def test_a_coroutine_gate_is_waited_for_to_its_end(place: str) -> None:
    signal = AbortSignal()
    steps = Steps(signal)
    result = run(outcome(Scripted([Reply("a", gates={place: steps})]), signal=signal))
    assert steps.done == ["behind the abort"]
    assert result.finish == ABORTED


# --- What cannot be used --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (3, "is of type int"),
        ({"text": "a"}, "unknown field 'text'"),
        ({"content": 3}, "content is of type int"),
        ({"content": [3]}, r"content\[0\] is of type int"),
        ({"content": [{"type": "toolcall"}]}, "type 'toolcall'"),
        ({"content": [{"type": "text", "txt": "a"}]}, "unknown field 'txt'"),
        ({"content": [{"type": "text", "text": 3}]}, r"content\[0\].text is 3"),
        ({"content": "ab", "chunks": ["a"]}, "chunks make 'a', not 'ab'"),
        ({"content": "ab", "chunks": 0}, "chunks are 0"),
        ({"content": ["a", "b"], "chunks": ["a", "b"]}, "give each block its own"),
        (
            {"content": [{"type": "tool_call", "name": "f", "chunks": ['{"b":1}']}]},
            "chunks make",
        ),
        ({"stop_reason": "done"}, "stop_reason is 'done'"),
        ({"error_kind": "bad"}, "error_kind is 'bad'"),
        ({"usage": {"input": "many"}}, "usage is"),
        ({"usage": 3}, "usage is 3"),
    ],
)
def test_a_reply_that_cannot_be_used_is_refused_at_once_by_its_place(data: Any, told: str) -> None:
    with pytest.raises(InvalidArgumentError, match=told) as refused:
        Scripted(["fine", data])
    assert str(refused.value).startswith("replies[1]")


@pytest.mark.parametrize("replies", ["a", {"content": "a"}])
def test_one_reply_is_no_list_of_replies(replies: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="list of replies"):
        Scripted(replies)


def test_a_computed_reply_that_cannot_be_used_is_refused_by_its_call() -> None:
    with pytest.raises(InvalidArgumentError, match="the reply to call 4"):
        run(outcome(Scripted([lambda sent: {"oops": 1}]), request(call=4)))
