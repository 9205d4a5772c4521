"""B29: a run is aborted while its tools are at work."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import refold
from refold import Options, Tool, ToolContext
from refold.events.agent import inputs
from tests.bugs.corpus import CORPUS, read
from tests.bugs.loop import Play
from tests.support.gates import Gate, Turnstile
from tests.support.looking import coming, facts, in_time, tool_results
from tests.support.models import MODEL, Model, call, calls

BOUND = 2.0
"""Seconds within which the inputs want things to be over."""


def is_alive(pid: int) -> bool:
    """True if there is such a process, and it has not ended yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return not Path("/proc/self").exists() and _answers(pid)
    return state not in "ZX"


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def gone_in_time(pids: list[int]) -> bool:
    """True once none of them is alive; False if that takes longer than the inputs allow."""
    end = time.monotonic() + BOUND
    while any(map(is_alive, pids)):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def written(folder: Path) -> list[int]:
    """The ids of a process and its child, once they have written them."""
    found: list[int] = []
    waiting = threading.Event()
    while len(found) < 2:
        paths = [folder / name for name in ("pid", "cpid")]
        texts = [path.read_text() if path.exists() else "" for path in paths]
        found = [int(text) for text in texts if text.endswith("\n")]
        waiting.wait(0.005)
    return found


class Watched(Play):
    """The script of the input, and what its statements are about.

    Attributes:
        returned: seconds that the abort took.
        gone: the processes were gone in time.
        resting: whether the session was busy, and what was pending, when it had come to rest.
    """

    returned: float
    gone: bool
    resting: tuple[bool, Any]

    def __init__(self, script: Any, folder: Path) -> None:
        super().__init__(script, folder, disk=True)
        self._folder = folder

    async def _abort(self, line: Any) -> None:
        pids = await asyncio.to_thread(written, self._folder)
        began = time.monotonic()
        await super()._abort(line)
        self.returned = time.monotonic() - began
        self.gone = await asyncio.to_thread(gone_in_time, pids)

    async def _prompt(self, line: Any) -> None:
        if line["text"] == "next":
            self.resting = (self.session.is_busy, self.session.state.pending_tool_calls)
        await super()._prompt(line)


class TestTheScript:
    """The statements of the input itself."""

    @pytest.fixture
    def play(self, tmp_path: Path) -> Watched:
        bug = read(CORPUS / "B29")
        play = Watched(bug.script(bug.cases[0]), tmp_path)
        asyncio.run(play.run())
        assert play.trouble() is None
        return play

    def test_abort_returns_although_a_tool_is_deaf(self, play: Watched) -> None:
        assert play.returned < BOUND

    def test_the_process_and_its_child_are_gone_soon(self, play: Watched) -> None:
        assert play.gone

    def test_the_session_rests_and_nothing_is_pending(self, play: Watched) -> None:
        assert play.resting == (False, ())

    def test_the_next_request_holds_one_result_for_each_call(self, play: Watched) -> None:
        results = tool_results(play.model.requests[1].messages)
        assert [each.tool_call_id for each in results] == ["c1", "c2", "c3", "c4"]
        assert [each.is_error for each in results] == [True, True, False, False]
        assert [each.text for each in results[2:]] == ["cancelled by signal", "D"]
        assert "aborted" in results[0].text
        assert "abort" in results[1].text
        assert play.model.requests[1].messages[-1].text == "next"

    def test_what_the_deaf_tool_does_later_is_no_event_and_no_result(
        self, play: Watched, tmp_path: Path
    ) -> None:
        with refold.open(tmp_path / "log", providers=[Model()]) as runtime:
            past = runtime.session("played").past
            ends = [
                each.tool_call_id
                for each in past.lifecycle()
                if isinstance(each, refold.ToolExecutionEnd)
            ]
            assert sorted(ends) == ["c1", "c2", "c3", "c4"]
            assert all("late" not in each.text.lower() for each in past.at().messages)
            updates = [
                each.tool_call_id
                for each in past.lifecycle()
                if isinstance(each, refold.ToolExecutionUpdate)
            ]
            assert "c2" not in updates


def aborted_run(*tools: Tool, options: Options | None = None) -> Any:
    """A session whose first run calls each of the tools; with its runtime, and the model."""
    blocks = [call(tool.name, f"c{n}") for n, tool in enumerate(tools, 1)]
    model = Model(calls(*blocks), "unsent", "after")
    runtime = refold.open(None, providers=[model], options=options or Options(grace=0.1))
    return runtime, runtime.session("s", model=MODEL, tools=list(tools)), model


class TestTools:
    """However a tool takes the abort, the run ends soon, and each call has one result."""

    def test_a_deaf_tool_is_given_up_and_its_later_result_is_only_noted(self) -> None:
        begun, open_now = Gate(), Gate()

        @refold.tool
        def deaf() -> str:
            begun.open()
            open_now.wait()
            return "late"

        runtime, session, _ = aborted_run(deaf)
        with runtime:
            run = session.prompt("go")
            begun.wait()
            began = time.monotonic()
            session.abort()
            in_time(run.result)
            assert time.monotonic() - began < BOUND
            result = tool_results(session.state.messages)[0]
            assert result.is_error
            assert "abort" in result.text
            messages, events = len(session.state.messages), list(session.past.lifecycle())
            open_now.open()
            assert coming(session, inputs.ToolReturnedLate).wait()
            assert [each.failed for each in facts(session, inputs.ToolReturnedLate)] == [False]
            assert len(session.state.messages) == messages
            assert len(list(session.past.lifecycle())) == len(events)
            late = [e.body for e in session.past.entries() if e.type == "tool_returned_late"]
            assert b"late" in late[0]

    def test_a_deaf_tool_that_raises_later_is_noted_as_failed(self) -> None:
        begun, open_now = Gate(), Gate()

        @refold.tool
        def deaf() -> str:
            begun.open()
            open_now.wait()
            raise SystemExit("late")

        runtime, session, _ = aborted_run(deaf)
        with runtime:
            run = session.prompt("go")
            begun.wait()
            session.abort()
            in_time(run.result)
            open_now.open()
            assert coming(session, inputs.ToolReturnedLate).wait()
            assert [each.failed for each in facts(session, inputs.ToolReturnedLate)] == [True]

    def test_a_tool_that_heeds_the_signal_keeps_its_result(self) -> None:
        @refold.tool
        def polite(context: ToolContext) -> str:
            session.abort()
            context.signal.wait(10)
            return "so far"

        runtime, session, _ = aborted_run(polite, options=Options(grace=10))
        with runtime:
            in_time(session.prompt("go").result)
            result = tool_results(session.state.messages)[0]
            assert (result.text, result.is_error) == ("so far", False)
            # Nothing is noted behind the end of a tool that ended in time.
            assert facts(session, inputs.ToolReturnedLate) == []

    def test_an_async_tool_that_does_not_look_is_cancelled(self) -> None:
        begun, told = Gate(), Gate()

        @refold.tool
        async def sleeping() -> str:
            begun.open()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                told.open()
                raise
            return "slept"

        runtime, session, _ = aborted_run(sleeping)
        with runtime:
            run = session.prompt("go")
            begun.wait()
            session.abort()
            in_time(run.result)
            assert told.wait()
            assert tool_results(session.state.messages)[0].is_error

    def test_an_async_tool_that_makes_a_result_of_its_cancellation_sends_no_request(
        self,
    ) -> None:
        begun, over = Gate(), Gate()

        @refold.tool
        async def stubborn() -> str:
            begun.open()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                over.open()
            return "as if nothing had happened"

        runtime, session, _ = aborted_run(stubborn)
        with runtime:
            run = session.prompt("go")
            begun.wait()
            session.abort()
            end = in_time(run.result)
            assert over.wait()
            assert end.stop_reason == "aborted"
            assert tool_results(session.state.messages)[0].is_error
            assert coming(session, inputs.ToolReturnedLate).wait()
            assert session.state.messages[-1].stop_reason == "aborted"

    def test_no_further_request_is_sent(self) -> None:
        """The model is asked once more, with the signal set: nothing goes over the wire then."""
        signals: list[bool] = []

        class Watched(Model):
            async def stream(self, request: Any, signal: Any) -> Any:
                signals.append(signal.aborted)
                async for event in super().stream(request, signal):
                    yield event

        def stop() -> str:
            session.abort()
            return "stopped"

        model = Watched(calls(call("stop")), "unsent", "after")
        with refold.open(None, providers=[model]) as runtime:
            session = runtime.session("s", model=MODEL, tools=[refold.tool(stop)])
            assert in_time(session.prompt("go").result).stop_reason == "aborted"
            assert signals == [False, True]
            assert in_time(session.prompt("next").result).text == "after"
            assert model.faults == []

    def test_more_deaf_tools_than_threads_do_not_hold_up_a_later_run(self) -> None:
        open_now, begun = Gate(), Turnstile()
        ran: list[str] = []

        @refold.tool
        def deaf() -> str:
            begun.arrive()
            open_now.wait()
            return "late"

        @refold.tool
        def queued() -> str:
            ran.append("queued")
            return "ran"

        model = Model(
            calls(*[call("deaf", f"c{n}") for n in range(2)], call("queued", "c3")), "x", "after"
        )
        options = Options(grace=0.05, threads=2)
        with refold.open(None, providers=[model], options=options) as runtime:
            session = runtime.session("s", model=MODEL, tools=[deaf, queued])
            run = session.prompt("go")
            begun.await_count(2)
            session.abort()
            in_time(run.result)
            assert [each.is_error for each in tool_results(session.state.messages)] == [True] * 3
            assert in_time(session.prompt("next").result).text == "after"
            open_now.open()
            # A call that was given up before a thread was free for it never runs.
            in_time(runtime._engine._pool.submit(lambda: None).result)
            in_time(runtime._engine._pool.submit(lambda: None).result)
            assert ran == []

    def test_aborting_twice_is_as_aborting_once(self) -> None:
        def stop(context: ToolContext) -> str:
            session.abort()
            session.abort()
            return "stopped"

        runtime, session, _ = aborted_run(refold.tool(stop))
        with runtime:
            assert in_time(session.prompt("go").result).stop_reason == "aborted"
            assert len(tool_results(session.state.messages)) == 1


TREES = {
    "child": "sh -c 'echo $$ > pid; sleep 60 & echo $! > cpid; wait'",
    "child that does not heed": (
        "trap '' TERM; echo $$ > pid; (trap '' TERM; sleep 60) & echo $! > cpid; "
        "wait; wait; sleep 60"
    ),
    "grandchild": "sh -c 'sh -c \"sleep 60 & echo \\$! > cpid; wait\" & echo $$ > pid; wait'",
}
"""Commands that write their own id and that of a process which they start."""


class TestShell:
    """A command and all that it started end with the run."""

    @pytest.mark.parametrize("command", TREES.values(), ids=TREES)
    def test_its_processes_are_gone_soon(self, command: str, tmp_path: Path) -> None:
        shell = refold.shell(cwd=tmp_path, grace=0.2)
        model = Model(calls(call("shell", command=command)), "unsent")
        with refold.open(None, providers=[model]) as runtime:
            session = runtime.session("s", model=MODEL, tools=[shell])
            run = session.prompt("go")
            pids = in_time(written, tmp_path)
            began = time.monotonic()
            session.abort()
            in_time(run.result)
            assert time.monotonic() - began < BOUND
            assert gone_in_time(pids)
            result = tool_results(session.state.messages)[0]
            assert result.is_error
            assert "aborted" in result.text

    def test_they_are_gone_when_the_runtime_is_closed(self, tmp_path: Path) -> None:
        shell = refold.shell(cwd=tmp_path)
        command = TREES["child"]
        model = Model(calls(call("shell", command=command)), "unsent")
        runtime = refold.open(None, providers=[model])
        runtime.session("s", model=MODEL, tools=[shell]).prompt("go")
        pids = in_time(written, tmp_path)
        in_time(runtime.close)
        assert gone_in_time(pids)
