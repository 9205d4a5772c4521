"""B23: what a tool reports comes while it runs, and nothing comes behind its end."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

import refold
from refold import Options, ToolContext, ToolExecutionEnd, ToolExecutionUpdate
from refold.events.agent import inputs
from tests.bugs.corpus import CORPUS, read
from tests.bugs.loop import Play, played
from tests.support.gates import Gate
from tests.support.looking import coming, facts, in_time, tool_results
from tests.support.models import MODEL, Model, call, calls

LATE = "LATE"


def updates(events: Any) -> list[str]:
    return [each.partial_result.text for each in events if isinstance(each, ToolExecutionUpdate)]


@pytest.fixture
def played_script(tmp_path: Path) -> Play:
    bug = read(CORPUS / "B23")
    play = asyncio.run(played(bug.script(bug.cases[0]), tmp_path))
    assert play.trouble() is None
    return play


class TestTheScript:
    """The statements of the input itself."""

    def test_the_first_update_is_seen_long_before_the_end(self, played_script: Play) -> None:
        first = self.place(played_script, ToolExecutionUpdate)
        end = self.place(played_script, ToolExecutionEnd)
        assert played_script.times[end] - played_script.times[first] >= 0.05

    def test_nothing_late_comes_behind_the_end(self, played_script: Play) -> None:
        end = self.place(played_script, ToolExecutionEnd)
        assert updates(played_script.events[end:]) == []
        assert updates(played_script.events) == ["10%", "50%"]

    def test_nothing_late_is_kept(self, played_script: Play, tmp_path: Path) -> None:
        with refold.read(tmp_path / "log") as archive:
            past = archive.session("played")
            assert all(LATE not in each.text for each in past.at().messages)
            assert all(LATE.encode() not in (entry.body or b"") for entry in past.entries())

    def test_the_thread_that_reports_late_notices_nothing(self, played_script: Play) -> None:
        assert played_script.tools.escaped == []

    def place(self, play: Play, kind: type) -> int:
        return next(place for place, event in enumerate(play.events) if isinstance(event, kind))


def test_an_update_is_seen_while_the_tool_still_runs() -> None:
    seen = Gate()

    @refold.tool
    def slow(context: ToolContext) -> str:
        context.update("half way")
        return "seen" if seen.wait() else "nobody saw it"

    with refold.open(None, providers=[Model(calls(call("slow")), "done")]) as runtime:
        session = runtime.session("s", model=MODEL, tools=[slow])

        def follow() -> None:
            for event in session.prompt("go"):
                if isinstance(event, ToolExecutionUpdate):
                    seen.open()

        in_time(follow)
        assert tool_results(session.state.messages)[0].text == "seen"


def test_an_update_is_in_the_log_when_the_tool_goes_on() -> None:
    there: list[list[str]] = []

    @refold.tool
    def slow(context: ToolContext) -> str:
        for n in range(3):
            context.update(f"step {n}")
            there.append(updates(session.past.lifecycle()))
        return "done"

    with refold.open(None, providers=[Model(calls(call("slow")), "done")]) as runtime:
        session = runtime.session("s", model=MODEL, tools=[slow])
        in_time(session.prompt("go").result)
    assert [len(each) for each in there] == [1, 2, 3]


def test_many_updates_keep_their_order() -> None:
    @refold.tool
    async def eager(context: ToolContext) -> str:
        for n in range(200):
            _ = context.update(str(n))  # not awaited: it goes its way
        return "done"

    with refold.open(None, providers=[Model(calls(call("eager")), "done")]) as runtime:
        session = runtime.session("s", model=MODEL, tools=[eager])
        events = in_time(lambda: list(session.prompt("go")))
    assert updates(events) == [str(n) for n in range(200)]


class TestBehindTheEnd:
    """Whoever reports too late is not heard, and not disturbed."""

    def test_from_a_thread_that_outlived_its_call(self) -> None:
        contexts: list[ToolContext] = []

        @refold.tool
        def leaving(context: ToolContext) -> str:
            contexts.append(context)
            return "gone"

        with refold.open(None, providers=[Model(calls(call("leaving")), "done")]) as runtime:
            session = runtime.session("s", model=MODEL, tools=[leaving])
            in_time(session.prompt("go").result)
            version = session.past.version
            in_time(contexts[0].update, LATE)
            assert session.past.version == version

    def test_from_a_task_that_outlived_its_call(self) -> None:
        open_now, reported = Gate(), threading.Event()

        @refold.tool
        async def leaving(context: ToolContext) -> str:
            async def later() -> None:
                await open_now.passed()
                await context.update(LATE)
                reported.set()

            tasks.append(asyncio.create_task(later()))
            return "gone"

        tasks: list[Any] = []
        with refold.open(None, providers=[Model(calls(call("leaving")), "done")]) as runtime:
            session = runtime.session("s", model=MODEL, tools=[leaving])
            in_time(session.prompt("go").result)
            version = session.past.version
            open_now.open()
            assert reported.wait(10)
            assert session.past.version == version

    def test_while_another_call_of_its_batch_still_runs(self) -> None:
        contexts: list[ToolContext] = []
        ended, tried = Gate(), Gate()

        @refold.tool
        def leaving(context: ToolContext) -> str:
            contexts.append(context)
            return "gone"

        @refold.tool
        def staying() -> str:
            return "stayed" if tried.wait() else "alone"

        model = Model(calls(call("leaving", "c1"), call("staying", "c2")), "done")
        with refold.open(None, providers=[model]) as runtime:
            session = runtime.session("s", model=MODEL, tools=[leaving, staying])
            run = session.prompt("go")

            def follow() -> list[Any]:
                events = []
                for event in run:
                    events.append(event)
                    if isinstance(event, ToolExecutionEnd) and event.tool_call_id == "c1":
                        ended.open()
                return events

            def report_late() -> None:
                assert ended.wait()
                contexts[0].update(LATE)
                tried.open()

            threading.Thread(target=report_late, daemon=True).start()
            assert updates(in_time(follow)) == []

    def test_of_a_tool_whose_time_was_over(self) -> None:
        given_up = Gate()

        @refold.tool(timeout=0.05)
        def deaf(context: ToolContext) -> str:
            given_up.wait()
            context.update(LATE)
            return LATE

        with refold.open(None, providers=[Model(calls(call("deaf")), "done")]) as runtime:
            session = runtime.session("s", model=MODEL, tools=[deaf])
            events = in_time(lambda: list(session.prompt("go")))
            given_up.open()
            assert coming(session, inputs.ToolReturnedLate).wait()
            assert updates(session.past.lifecycle()) == []
            assert updates(events) == []
            assert [each.failed for each in facts(session, inputs.ToolReturnedLate)] == [False]
            assert LATE not in tool_results(session.state.messages)[0].text

    def test_when_the_runtime_is_closed(self) -> None:
        contexts: list[ToolContext] = []
        closed, over = Gate(), Gate()

        @refold.tool
        def deaf(context: ToolContext) -> str:
            contexts.append(context)
            begun.open()
            closed.wait()
            context.update(LATE)
            over.open()
            return LATE

        begun = Gate()
        runtime = refold.open(
            None, providers=[Model(calls(call("deaf")), "done")], options=Options(grace=0.01)
        )
        session = runtime.session("s", model=MODEL, tools=[deaf])
        session.prompt("go")
        assert begun.wait()
        in_time(runtime.close)
        closed.open()
        assert over.wait()


@pytest.mark.parametrize("mode", ["parallel", "sequential"])
def test_an_update_that_is_not_json_is_the_tools_own_error(mode: Any) -> None:
    @refold.tool
    def odd(context: ToolContext) -> str:
        context.update(object())
        return "not reached"

    with refold.open(None, providers=[Model(calls(call("odd")), "done")]) as runtime:
        session = runtime.session("s", model=MODEL, tools=[odd], tool_execution=mode)
        in_time(session.prompt("go").result)
        result = tool_results(session.state.messages)[0]
        assert result.is_error
        assert "object" in result.text
