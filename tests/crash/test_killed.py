"""SIGKILL, and what is there when the log is opened again by another process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import refold
from refold import AssistantMessage, Runtime, ToolContext, UserMessage
from refold.events.agent.context import answered
from refold.store import LmdbLog, verify
from tests.support.models import Model
from tests.support.validity import faults

ROOT = Path(__file__).parents[2]
PATIENCE = 20.0
"""Seconds for a child to start, on a busy machine."""

Line = dict[str, Any]


@contextmanager
def killed(path: Path, scene: str, when: Callable[[list[Line]], bool]) -> Iterator[list[Line]]:
    """What a child has said by the time it is killed, which is as soon as `when` is true of it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.crash.child", str(path), scene]
    child = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    said: list[Line] = []
    try:
        assert child.stdout is not None
        for line in child.stdout:
            said.append(json.loads(line))
            if when(said):
                break
        else:
            pytest.fail(f"the child ended by itself with {child.wait(PATIENCE)}: {said}")
        child.send_signal(signal.SIGKILL)
        assert child.wait(PATIENCE) == -signal.SIGKILL
        # What it had said into the pipe before it died, it had said.
        said += [json.loads(line) for line in child.stdout if line.endswith("\n")]
        yield said
    finally:
        child.kill()
        child.wait()
        if child.stdout is not None:
            child.stdout.close()


def all_of(said: list[Line], what: str) -> list[Line]:
    return [line for line in said if line["what"] == what]


def shown(said: list[Line], text: str) -> bool:
    return any(line.get("text") == text for line in all_of(said, "shown"))


def opened(path: Path, model: Model) -> Runtime:
    return refold.open(path, providers=[model])


def texts(session: refold.Session) -> list[str]:
    return [message.text for message in session.state.messages if isinstance(message, UserMessage)]


@refold.tool
def quick() -> str:
    """End at once."""
    return "quick is done"


def in_mid_stream(said: list[Line]) -> bool:
    return shown(said, "one two ") and bool(all_of(said, "played"))


def test_all_that_a_watcher_was_shown_is_in_the_folded_state(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with killed(path, "in_stream", in_mid_stream) as said, refold.read(path) as archive:
        past = archive.session("s")
        for line in all_of(said, "shown"):
            streaming = past.at(line["version"]).streaming_message
            assert streaming is not None
            assert streaming.text == line["text"]


def test_every_acknowledged_input_is_there_once_after_a_kill_in_mid_stream(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log"
    model = Model("again", "brief", "then this", "next")
    with killed(path, "in_stream", in_mid_stream) as said, opened(path, model) as runtime:
        session = runtime.session("s", tools=[quick])
        session.wait()
        for line in all_of(said, "accepted"):
            assert texts(session).count(line["text"]) == 1
        assert texts(session) == ["go", "be brief", "and then?"]


def test_a_session_takes_the_next_prompt_with_a_valid_context_after_a_kill(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log"
    model = Model("again", "brief", "then this", "next")
    with killed(path, "in_stream", in_mid_stream), opened(path, model) as runtime:
        session = runtime.session("s", tools=[quick])
        session.wait()
        reply = session.prompt("what now?").result()
        assert reply.text == "next"
        assert model.faults == []
        assert model.requests[-1].messages[-1].text == "what now?"


def test_a_stream_that_was_cut_off_stays_in_the_log_and_out_of_the_conversation(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log"
    model = Model("again", "brief", "then this")
    with killed(path, "in_stream", in_mid_stream) as said, opened(path, model) as runtime:
        session = runtime.session("s", tools=[quick])
        session.wait()
        cut_off = all_of(said, "shown")[-1]
        past = session.at(cut_off["version"]).streaming_message
        assert past is not None
        assert past.text == cut_off["text"] == "one two "
        assert all(message.text != "one two " for message in session.state.messages)


def test_a_run_goes_on_in_a_new_process_without_running_ended_tools_again(
    tmp_path: Path,
) -> None:
    runs: list[str] = []

    @refold.tool(name="quick")
    def noted() -> str:
        """End at once."""
        runs.append("quick")
        return "quick is done"

    path = tmp_path / "log"
    model = Model("again", "brief", "then this")
    with killed(path, "in_stream", in_mid_stream), opened(path, model) as runtime:
        runtime.session("s", tools=[noted]).wait()
        assert runs == []
        assert len(model.requests) == 3


def running(said: list[Line]) -> bool:
    begun = {line["tool"] for line in all_of(said, "running")}
    return begun == {"once", "again"} and bool(all_of(said, "ended"))


def reopened_tools(began: list[tuple[str, str, bool]]) -> list[refold.Tool]:
    @refold.tool
    def once(context: ToolContext) -> str:
        """Must not run a second time."""
        began.append(("once", context.idempotency_key, context.again))
        return "once is done"

    @refold.tool(replay="safe")
    def again(context: ToolContext) -> str:
        """May run a second time."""
        began.append(("again", context.idempotency_key, context.again))
        return "again is done"

    return [quick, once, again]


def test_only_a_tool_that_allows_it_runs_again_and_under_the_same_key(tmp_path: Path) -> None:
    path, began = tmp_path / "log", list[tuple[str, str, bool]]()
    with killed(path, "in_tools", running) as said, opened(path, Model("done")) as runtime:
        runtime.session("s", tools=reopened_tools(began)).wait()
        keys = {line["tool"]: line["key"] for line in all_of(said, "running")}
        assert began == [("again", keys["again"], True)]


def test_a_tool_that_was_cut_off_has_a_result_that_says_so(tmp_path: Path) -> None:
    path, model = tmp_path / "log", Model("done")
    with killed(path, "in_tools", running), opened(path, model) as runtime:
        session = runtime.session("s", tools=reopened_tools([]))
        session.wait()
        results = {
            message.tool_name: message
            for message in session.state.messages
            if isinstance(message, refold.ToolResultMessage)
        }
        assert results["once"].is_error
        assert "interrupted" in results["once"].text
        assert results["again"].text == "again is done"
        assert results["quick"].text == "quick is done"
        assert model.faults == []


def test_what_waited_in_a_queue_waits_still(tmp_path: Path) -> None:
    path, model = tmp_path / "log", Model("one", "two", "three")
    with (
        killed(path, "at_rest", lambda said: bool(all_of(said, "played"))),
        opened(path, model) as runtime,
    ):
        session = runtime.session("s")
        assert [len(session.queued[queue]) for queue in ("steering", "follow_up")] == [1, 1]
        session.prompt("go on").result()
        session.wait()
        assert texts(session) == ["go", "go on", "first", "second"]


@pytest.mark.parametrize("lines", [1, 7, 31, 83, 200])
def test_nothing_is_lost_by_a_kill_at_any_moment(tmp_path: Path, lines: int) -> None:
    path = tmp_path / "log"
    model = Model(every=lambda request: f"about {request.messages[-1].text}")
    with (
        killed(path, "in_a_hurry", lambda said: len(said) >= lines) as said,
        opened(path, model) as runtime,
    ):
        session = runtime.session("s", tools=[quick])
        session.wait()
        for line in all_of(said, "shown"):
            streaming = session.at(line["version"]).streaming_message
            assert streaming is not None
            assert streaming.text == line["text"]
        assert session.prompt("still there?").result().text == "about still there?"
        session.wait()
        accepted = [line["text"] for line in all_of(said, "accepted")]
        assert [text for text in texts(session) if text in accepted] == accepted
        assert model.faults == []


@pytest.mark.parametrize("scene", ["in_stream", "in_tools"])
def test_a_killed_log_is_sound(tmp_path: Path, scene: str) -> None:
    path = tmp_path / "log"
    when = in_mid_stream if scene == "in_stream" else running
    with killed(path, scene, when):
        log = LmdbLog.open(path, readonly=True, create=False)
        try:
            assert verify(log).problems == ()
        finally:
            log.close()


def test_the_conversation_before_recovery_can_be_sent_to_a_model(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with killed(path, "in_tools", running), refold.read(path) as archive:
        messages = archive.session("s").at("end").messages
        assert isinstance(messages[-1], AssistantMessage)
        assert faults(answered(messages)) == []
