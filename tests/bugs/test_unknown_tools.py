"""B19: a model calls a tool that is not there."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

import pytest

import refold
from refold import AgentEnd, AssistantMessage, LifecycleEvent, Message
from tests.support.looking import in_time, tool_results
from tests.support.models import MODEL, Model, call, calls

NAMES = ["nope", "", " ", "ok ", "OK", "__class__", "x" * 300, "nö\n"]


@refold.tool
def ok() -> str:
    return "fine"


def run(model: Model, **settings: Any) -> tuple[list[LifecycleEvent], list[Message]]:
    """What a run showed, and the conversation behind it."""
    with refold.open(None, providers=[model]) as runtime:
        session = runtime.session("s", model=MODEL, **settings)
        events = in_time(lambda: list(session.prompt("go")))
        assert not session.is_busy
        assert not session.state.pending_tool_calls
        return events, list(session.state.messages)


@pytest.mark.parametrize("mode", ["parallel", "sequential"])
@pytest.mark.parametrize("name", NAMES)
def test_it_gets_an_error_and_its_siblings_run(
    name: str, mode: Literal["parallel", "sequential"]
) -> None:
    model = Model(
        calls(call("ok", "c1"), call(name, "c2", x=1), call("ok", "c3"), call(name, "c4")),
        "done",
    )
    run(model, tools=[ok], tool_execution=mode)
    results = tool_results(model.requests[1].messages)
    assert [each.tool_call_id for each in results] == ["c1", "c2", "c3", "c4"]
    assert [each.is_error for each in results] == [False, True, False, True]
    assert name.strip() in results[1].text
    assert model.faults == []


@pytest.mark.parametrize("name", NAMES)
def test_the_run_ends_once_and_without_an_error(name: str) -> None:
    model = Model(calls(call(name, "c1"), call("ok", "c2")), "done")
    events, messages = run(model, tools=[ok])
    assert [type(event) for event in events].count(AgentEnd) == 1
    last = messages[-1]
    assert isinstance(last, AssistantMessage)
    assert (last.text, last.stop_reason) == ("done", "stop")


def test_it_is_an_error_in_a_session_without_any_tools() -> None:
    model = Model(calls(call("nope", "c1")), "done")
    run(model)
    assert "nope" in tool_results(model.requests[1].messages)[0].text


def test_a_model_that_goes_on_asking_is_answered_each_time() -> None:
    model = Model(*[calls(call("nope", f"c{n}")) for n in range(5)], "done")
    run(model, tools=[ok])
    assert len(tool_results(model.requests[5].messages)) == 5
    assert model.faults == []


def test_no_hook_is_asked_about_it() -> None:
    asked: Counter[str] = Counter()

    def before(about: refold.BeforeToolCall) -> None:
        asked[about.tool_name] += 1

    def after(about: refold.AfterToolCall) -> None:
        asked[about.tool_name] += 1

    model = Model(calls(call("nope", "c1"), call("ok", "c2")), "done")
    run(model, tools=[ok], hooks={"before_tool_call": before, "after_tool_call": after})
    assert asked == {"ok": 2}


def test_a_tool_that_was_taken_away_is_not_there() -> None:
    model = Model(calls(call("ok", "c1")), "done", calls(call("ok", "c2")), "done")
    with refold.open(None, providers=[model]) as runtime:
        session = runtime.session("s", model=MODEL, tools=[ok])
        in_time(session.prompt("go").result)
        session.set(tools=[])
        in_time(session.prompt("again").result)
        results = tool_results(session.state.messages)
    assert [each.is_error for each in results] == [False, True]
