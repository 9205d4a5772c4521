"""B31: several queues are filled at once."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Literal

import pytest

import refold
from refold import AssistantMessage, Session, ToolResultMessage
from refold.events.agent import facts as marks
from tests.support.looking import facts, in_time, user_texts
from tests.support.models import MODEL, Model, call, calls

Mode = Literal["one_at_a_time", "all"]
MODES: tuple[Mode, ...] = ("one_at_a_time", "all")

each_mode = pytest.mark.parametrize("mode", MODES)


def fill(session: Session) -> None:
    """Fill all queues, in an order that is not that of their delivery."""
    session.next_turn("N1")
    session.follow_up("F1")
    session.follow_up("F2")
    session.steer("S1")
    session.steer("S2")
    session.next_turn("N2")


def new_texts(model: Model) -> list[list[str]]:
    """What users said in each request that was not in the one before."""
    told, before = [], 0
    for request in model.requests:
        texts = user_texts(request.messages)
        told.append(texts[before:])
        before = len(texts)
    return told


EXPECTED = {
    "one_at_a_time": [["go"], ["S1"], ["S2"], ["F1"], ["F2"]],
    "all": [["go"], ["S1", "S2"], ["F1", "F2"]],
}


def a_tool(session_of: list[Session]) -> refold.Tool:
    @refold.tool
    def a() -> str:
        fill(session_of[0])
        return "A"

    return a


@each_mode
def test_steering_goes_first_then_follow_ups_and_the_rest_with_the_next_prompt(
    mode: Mode,
) -> None:
    model = Model(calls(call("a", "c1")), *["said"] * 9)
    held: list[Session] = []
    with refold.open(None, providers=[model]) as runtime:
        session = runtime.session(
            "s", model=MODEL, tools=[a_tool(held)], steering_mode=mode, follow_up_mode=mode
        )
        held.append(session)
        session.prompt("go")
        in_time(session.wait)
        assert new_texts(model) == EXPECTED[mode]
        in_time(session.prompt("go2").result)
        assert new_texts(model)[-1] == ["N1", "N2", "go2"]


@each_mode
def test_the_result_of_a_call_comes_right_behind_it_and_before_any_message(mode: Mode) -> None:
    model = Model(calls(call("a", "c1")), *["said"] * 9)
    held: list[Session] = []
    with refold.open(None, providers=[model]) as runtime:
        session = runtime.session("s", model=MODEL, tools=[a_tool(held)], steering_mode=mode)
        held.append(session)
        session.prompt("go")
        in_time(session.wait)
    messages = list(model.requests[1].messages)
    place = next(n for n, each in enumerate(messages) if isinstance(each, AssistantMessage))
    answer = messages[place + 1]
    assert isinstance(answer, ToolResultMessage)
    assert answer.tool_call_id == "c1"
    assert messages[place + 2].text == "S1"


@each_mode
def test_the_order_survives_a_restart(mode: Mode, tmp_path: Path) -> None:
    with refold.open(tmp_path / "log", providers=[Model()]) as runtime:
        session = runtime.session(
            "s", model=MODEL, idle_queue="hold", steering_mode=mode, follow_up_mode=mode
        )
        fill(session)
    model = Model(*["said"] * 9)
    with refold.open(tmp_path / "log", providers=[model]) as runtime:
        session = runtime.session("s")
        assert {name: len(items) for name, items in session.queued.items()} == {
            "steering": 2,
            "follow_up": 2,
            "next_turn": 2,
        }
        in_time(session.prompt("go").result)
        in_time(session.wait)
    first, *rest = new_texts(model)
    steered = EXPECTED[mode][1:]
    assert [first, *rest] == [["N1", "N2", "go", *steered[0]], *steered[1:]]


class TestNextTurn:
    def test_it_starts_no_run_by_itself(self) -> None:
        with refold.open(None, providers=[Model("said")]) as runtime:
            session = runtime.session("s", model=MODEL)
            session.next_turn("N1")
            assert not session.is_busy
            assert facts(session, marks.AgentStart) == []

    def test_it_waits_while_other_messages_start_runs(self) -> None:
        model = Model("one", "two", "three")
        with refold.open(None, providers=[model]) as runtime:
            session = runtime.session("s", model=MODEL)
            session.next_turn("N1")
            session.follow_up("F1")
            in_time(session.wait)
            assert user_texts(session.state.messages) == ["F1"]
            in_time(session.prompt("go").result)
            in_time(session.prompt("go2").result)
        assert new_texts(model) == [["F1"], ["N1", "go"], ["go2"]]

    def test_it_goes_once_also_where_the_run_fails(self) -> None:
        failing = refold.Reply(error_kind="auth", error_message="no key")
        model = Model(failing, "said")
        with refold.open(None, providers=[model]) as runtime:
            session = runtime.session("s", model=MODEL)
            session.next_turn("N1")
            in_time(session.prompt("go").result)
            in_time(session.prompt("go2").result)
        assert new_texts(model) == [["N1", "go"], ["go2"]]


@each_mode
def test_an_error_loses_nothing_of_the_queues(mode: Mode) -> None:
    failing = refold.Reply(error_kind="auth", error_message="no key")
    held: list[Session] = []
    model = Model(calls(call("a", "c1")), failing, *["said"] * 9)
    with refold.open(None, providers=[model]) as runtime:
        session = runtime.session(
            "s", model=MODEL, tools=[a_tool(held)], steering_mode=mode, follow_up_mode=mode
        )
        held.append(session)
        session.prompt("go")
        in_time(session.wait)
        in_time(session.prompt("go2").result)
        in_time(session.wait)
        assert not any(session.queued.values())
        said = user_texts(session.state.messages)
    assert sorted(said) == sorted(["go", "go2", "N1", "N2", "F1", "F2", "S1", "S2"])
    for first, second in (("S1", "S2"), ("F1", "F2"), ("N1", "N2"), ("S1", "F1")):
        assert said.index(first) < said.index(second)


def test_what_cannot_wait_goes_before_all_that_waits() -> None:
    model = Model(*["said"] * 9)
    with refold.open(None, providers=[model]) as runtime:
        session = runtime.session("s", model=MODEL, idle_queue="hold")
        session.steer("S1")
        session.steer("S2")
        session.steer("first", now=True)
        in_time(session.prompt("go").result)
        assert user_texts(session.state.messages) == ["go", "first", "S1", "S2"]


@pytest.mark.parametrize("queue", ["steer", "follow_up"])
def test_a_queue_that_many_fill_keeps_the_order_of_each(queue: str) -> None:
    model = Model(every=lambda _: "said")
    with refold.open(None, providers=[model]) as runtime:
        session = runtime.session("s", model=MODEL, idle_queue="hold")

        def put(name: str) -> None:
            for number in range(20):
                getattr(session, queue)(f"{name}{number}")

        threads = [threading.Thread(target=put, args=(name,), daemon=True) for name in "abc"]
        for thread in threads:
            thread.start()
        for thread in threads:
            in_time(thread.join)
        in_time(session.prompt("go").result)
        in_time(session.wait)
        said = user_texts(session.state.messages)
    assert len(said) == 61
    for name in "abc":
        assert [text for text in said if text.startswith(name)] == [f"{name}{n}" for n in range(20)]
