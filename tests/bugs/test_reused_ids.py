"""B25: a server gives ids of calls again, in later messages or within one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

import refold
from refold import AssistantMessage, Message, Options, Request, ToolContext, ToolResultMessage
from refold.actors.providers.openai_wire import render
from refold.events.agent.context import answered
from tests.support.looking import in_time, tool_results
from tests.support.models import MODEL, Model, call, calls
from tests.support.validity import faults

Mode = Literal["parallel", "sequential"]
MODES: tuple[Mode, ...] = ("parallel", "sequential")

each_mode = pytest.mark.parametrize("mode", MODES)


@refold.tool
def read(p: str) -> str:
    return p


def reading(*texts: str, id: str = "dup") -> refold.Reply:
    return calls(*[call("read", id, p=text) for text in texts])


def pairs(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """The text asked for and the text got of each call, paired as a provider would."""
    found = []
    waiting: dict[str, str] = {}
    for message in messages:
        if isinstance(message, AssistantMessage):
            waiting = {each.id: each.arguments.value["p"] for each in message.tool_calls}
            assert len(waiting) == len(message.tool_calls)
        elif isinstance(message, ToolResultMessage):
            found.append((waiting.pop(message.tool_call_id), message.text))
    return found


def sent(request: Request) -> list[Message]:
    return list(answered(request.messages))


SCRIPT = (reading("one"), reading("two"), reading("three", "four"), "done")
TEXTS = ["one", "two", "three", "four"]


class TestTheScript:
    """The statements of the input itself, in both modes."""

    @pytest.fixture(params=MODES)
    def talk(self, request: pytest.FixtureRequest, tmp_path: Path) -> Any:
        ran: list[str] = []

        @refold.tool(name="read")
        def read_and_note(p: str) -> str:
            ran.append(p)
            return p

        model = Model(*SCRIPT)
        with refold.open(tmp_path / "log", providers=[model]) as runtime:
            session = runtime.session(
                "s", model=MODEL, tools=[read_and_note], tool_execution=request.param
            )
            in_time(session.prompt("go").result)
            pending = session.state.pending_tool_calls
        return model, ran, pending, tmp_path / "log"

    def test_each_call_runs_with_its_own_arguments(self, talk: Any) -> None:
        _, ran, _, _ = talk
        assert sorted(ran) == sorted(TEXTS)

    def test_each_call_keeps_its_own_result(self, talk: Any) -> None:
        model, _, _, _ = talk
        last = sent(model.requests[3])
        said = [each for each in last if isinstance(each, AssistantMessage)]
        assert [len(each.tool_calls) for each in said] == [1, 1, 2]
        assert [each.text for each in tool_results(last)] == TEXTS

    def test_each_result_answers_a_call_of_the_message_before_it(self, talk: Any) -> None:
        model, _, _, _ = talk
        assert pairs(sent(model.requests[3])) == [(text, text) for text in TEXTS]

    def test_all_ids_of_a_request_are_distinct(self, talk: Any) -> None:
        model, _, _, _ = talk
        for request in model.requests:
            ids = [
                each.id
                for message in sent(request)
                if isinstance(message, AssistantMessage)
                for each in message.tool_calls
            ]
            assert len(set(ids)) == len(ids)

    def test_the_context_is_the_same_when_it_is_reopened(self, talk: Any) -> None:
        model, _, _, log = talk
        with refold.open(log, providers=[again := Model("again")]) as runtime:
            session = runtime.session("s", model=MODEL, tools=[read])
            rebuilt = session.context(4)
            assert list(rebuilt.messages) == list(model.requests[3].messages)
            in_time(session.prompt("next").result)
            # What was sent before is sent again, byte for byte.
            before, after = (
                json.loads(render(request))["messages"]
                for request in (model.requests[3], again.requests[0])
            )
            assert after[: len(before)] == before

    def test_no_call_is_pending_at_the_end(self, talk: Any) -> None:
        _, _, pending, _ = talk
        assert not pending

    def test_a_provider_would_take_each_request(self, talk: Any) -> None:
        model, _, _, _ = talk
        assert model.faults == []


@each_mode
@pytest.mark.parametrize("id", ["", "dup", "dup_2"])
def test_calls_of_one_message_with_one_id_are_told_apart(id: str, mode: Mode) -> None:
    ran: list[tuple[str, str]] = []

    @refold.tool(name="read")
    def noting(p: str, context: ToolContext) -> str:
        ran.append((context.tool_call_id, p))
        return p

    model = Model(reading("a", "b", "c", id=id), "done")
    with refold.open(None, providers=[model]) as runtime:
        session = runtime.session("s", model=MODEL, tools=[noting], tool_execution=mode)
        events = in_time(lambda: list(session.prompt("go")))
        assert pairs(session.state.messages) == [("a", "a"), ("b", "b"), ("c", "c")]
    assert len(dict(ran)) == 3
    started = [e.tool_call_id for e in events if isinstance(e, refold.ToolExecutionStart)]
    assert len(set(started)) == 3
    assert model.faults == []


def test_the_id_of_a_twin_is_not_that_of_a_third_call() -> None:
    block = calls(
        call("read", "dup", p="a"), call("read", "dup", p="b"), call("read", "dup_2", p="c")
    )
    model = Model(block, "done")
    with refold.open(None, providers=[model]) as runtime:
        session = runtime.session("s", model=MODEL, tools=[read])
        in_time(session.prompt("go").result)
        assert pairs(session.state.messages) == [("a", "a"), ("b", "b"), ("c", "c")]


@each_mode
def test_a_call_that_was_not_answered_does_not_take_a_later_ones_result(mode: Mode) -> None:
    """The first call is aborted; another of its id comes in the next run."""

    @refold.tool(name="read")
    def waiting(p: str, context: ToolContext) -> str:
        if p == "one":
            session.abort()
            context.signal.wait(10)
        return p

    def reply(request: Request) -> Any:
        asked = request.messages[-1]
        return reading(asked.text) if isinstance(asked, refold.UserMessage) else "done"

    model = Model(every=reply)
    with refold.open(None, providers=[model], options=Options(grace=10)) as runtime:
        session = runtime.session("s", model=MODEL, tools=[waiting], tool_execution=mode)
        assert in_time(session.prompt("one").result).stop_reason == "aborted"
        assert in_time(session.prompt("two").result).text == "done"
        conversation = list(answered(session.state.messages))
    assert pairs(conversation) == [("one", "one"), ("two", "two")]
    assert model.faults == faults(conversation) == []


def test_what_was_imported_with_one_id_in_two_messages_is_paired_by_place() -> None:
    def asked(text: str) -> AssistantMessage:
        block = refold.ToolCall("dup", "read", refold.Json.of({"p": text}))
        return AssistantMessage(content=(block,), stop_reason="tool_use")

    def got(text: str) -> ToolResultMessage:
        return ToolResultMessage(tool_call_id="dup", tool_name="read", content=(refold.Text(text),))

    model = Model("done")
    with refold.open(None, providers=[model]) as runtime:
        session = runtime.session("s", model=MODEL, tools=[read])
        session.replace_messages([asked("one"), got("one"), asked("two"), asked("three")])
        in_time(session.prompt("go").result)
    request = sent(model.requests[0])
    assert pairs(request)[0] == ("one", "one")
    assert [each.is_error for each in tool_results(request)] == [False, True, True]
    assert faults(request) == []


def test_a_crash_in_the_middle_leaves_each_call_with_its_own_result(tmp_path: Path) -> None:
    reached = refold.AbortSignal()

    @refold.tool(name="read")
    def stuck(p: str, context: ToolContext) -> str:
        if p == "four":
            reached.set()
            context.signal.wait(10)
        return p

    model = Model(*SCRIPT)
    runtime = refold.open(tmp_path / "log", providers=[model])
    session = runtime.session("s", model=MODEL, tools=[stuck], tool_execution="sequential")
    session.prompt("go")
    assert reached.wait(10)
    runtime.close()
    with refold.open(tmp_path / "log", providers=[again := Model("done")]) as runtime:
        session = runtime.session("s", model=MODEL, tools=[stuck])
        in_time(session.wait)
        request = sent(again.requests[0])
        assert [asked for asked, _ in pairs(request)] == TEXTS
        assert [each.is_error for each in tool_results(request)] == [False, False, False, True]
        assert again.faults == []
