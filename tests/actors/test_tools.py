"""What surrounds a tool: its progress, its limits, its place in a process."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from refold import (
    MessageEnd,
    Reply,
    Session,
    ToolContext,
    ToolExecutionStart,
    ToolExecutionUpdate,
    ToolResultMessage,
    tool,
)
from refold.events.record import Recorded
from refold.store.log import Log
from tests.support.gates import Gate
from tests.support.models import MODEL, Model, call, calls
from tests.support.sessions import await_event, await_rest, engine_of, opened, within


def results(session: Session) -> list[tuple[str, bool]]:
    return [
        (message.text, message.is_error)
        for message in session.state.messages
        if isinstance(message, ToolResultMessage)
    ]


# Progress


def test_a_report_is_in_the_log_when_the_tool_goes_on() -> None:
    seen = []

    @tool
    def work(context: ToolContext) -> str:
        """Work."""
        context.update("half")
        seen.append([entry.type for entry in session.past.entries()][-2:])
        return "done"

    with opened(Model(calls(call("work")), "well")) as runtime:
        session = runtime.session("s", model=MODEL, tools=[work])
        run = session.prompt("go")
        updates = [event for event in run if isinstance(event, ToolExecutionUpdate)]
        assert [update.partial_result.text for update in updates] == ["half"]
        assert seen == [["tool_progressed", "tool_execution_update"]]


def test_an_async_tool_awaits_its_reports() -> None:
    @tool
    async def work(context: ToolContext) -> str:
        """Work."""
        for step in ("one", "two"):
            await context.update(step)
        return "done"

    with opened(Model(calls(call("work")), "well")) as runtime:
        session = runtime.session("s", model=MODEL, tools=[work])
        run = session.prompt("go")
        updates = [event for event in run if isinstance(event, ToolExecutionUpdate)]
        assert [update.partial_result.text for update in updates] == ["one", "two"]


def test_a_report_after_the_end_of_its_tool_is_ignored() -> None:
    kept: list[ToolContext] = []
    ended, reported = Gate(), Gate()

    @tool
    def work(context: ToolContext) -> str:
        """Work."""

        def late() -> None:
            ended.wait()
            context.update("too late")
            reported.open()

        kept.append(context)
        threading.Thread(target=late, daemon=True).start()
        return "done"

    with opened(Model(calls(call("work")), "well")) as runtime:
        session = runtime.session("s", model=MODEL, tools=[work])
        within(session.prompt("go").result)
        version = session.past.version
        ended.open()
        assert reported.wait()
        assert session.past.version == version


def test_a_report_of_a_tool_that_was_given_up_is_ignored() -> None:
    at_work, let_go, reported = Gate(), Gate(), Gate()

    @tool(timeout=0.001)
    def slow(context: ToolContext) -> str:
        """Work too long."""
        at_work.wait(0)
        let_go.wait()
        context.update("too late")
        reported.open()
        return "too late"

    with opened(Model(calls(call("slow")), "well")) as runtime:
        session = runtime.session("s", model=MODEL, tools=[slow])
        run = session.prompt("go")
        at_work.await_arrival()
        within(run.result)
        assert results(session) == [
            ("slow did not end within 0.001 s; what it still does is ignored", True)
        ]
        let_go.open()
        assert reported.wait()
        types = {entry.type for entry in session.past.entries()}
        assert "tool_progressed" not in types


# Failures


def test_whatever_a_tool_raises_is_its_result() -> None:
    @tool
    def leave() -> str:
        """Leave."""
        raise SystemExit("bye")

    @tool
    async def stop() -> str:
        """Stop."""
        raise KeyboardInterrupt

    @tool
    def iterate() -> str:
        """Iterate."""
        raise StopIteration

    batch = calls(call("leave"), call("stop"), call("iterate"))
    with opened(Model(batch, "well")) as runtime:
        session = runtime.session("s", model=MODEL, tools=[leave, stop, iterate])
        assert within(session.prompt("go").result).text == "well"
        assert results(session) == [
            ("SystemExit: bye", True),
            ("KeyboardInterrupt", True),
            ("StopIteration", True),
        ]


def test_a_result_that_is_no_json_is_a_failure() -> None:
    @tool
    def odd() -> object:
        """Return something odd."""
        return object()

    with opened(Model(calls(call("odd")), "well")) as runtime:
        session = runtime.session("s", model=MODEL, tools=[odd])
        assert within(session.prompt("go").result).text == "well"
        ((text, is_error),) = results(session)
        assert "is not JSON" in text
        assert is_error


# Tools that this process does not have


@tool
def far() -> str:
    """Do something that only some processes can."""
    return "from afar"


def test_a_run_rests_at_a_tool_that_is_missing_and_goes_on_once_it_is_registered() -> None:
    gate = Gate()
    reply = calls(call("far"), gates={"close": gate})
    with opened(Model(reply)) as before:
        session = before.session("s", model=MODEL, tools=[far])
        session.prompt("go")
        gate.await_arrival()
        log = engine_of(before).log.crash()  # type: ignore[attr-defined]
        gate.open()
    model = Model(calls(call("far")), "well")
    with opened(model, log=log) as after:
        session = after.session("s")
        await_event(session.watch(), ToolExecutionStart)
        assert session.is_busy
        assert session.state.pending_tool_calls != ()
        session.set(tools=[far])
        await_rest(session)
        assert session.state.messages[-1].text == "well"
        assert results(session) == [("from afar", False)]
    assert model.faults == []


def test_a_run_rests_at_a_hook_that_is_missing_and_goes_on_once_it_is_registered() -> None:
    gate = Gate()
    hooks = {"transform_context": lambda messages, signal: None}
    with opened(Model(Reply("hello", gates={"close": gate}))) as before:
        session = before.session("s", model=MODEL, hooks=hooks)
        session.prompt("go")
        gate.await_arrival()
        log = engine_of(before).log.crash()  # type: ignore[attr-defined]
        gate.open()
    calls_before = len(list(_of_type(log, "hook_called")))
    with opened(Model("first", "well"), log=log) as after:
        session = after.session("s")
        await_rest(session)  # the run that was cut off had its context already
        run = session.prompt("again")
        await_event(run, MessageEnd)
        assert session.is_busy
        session.set(hooks=hooks)
        assert within(run.result).text == "well"
    assert calls_before == 1


def _of_type(log: Log, wanted: str) -> Iterator[Recorded]:
    for _, records in log.read_all():
        yield from (recorded for recorded in records if recorded.event.type == wanted)


def test_an_abort_ends_a_run_that_rests_at_a_missing_tool() -> None:
    gate = Gate()
    reply = calls(call("far"), gates={"close": gate})
    with opened(Model(reply)) as before:
        session = before.session("s", model=MODEL, tools=[far])
        session.prompt("go")
        gate.await_arrival()
        log = engine_of(before).log.crash()  # type: ignore[attr-defined]
        gate.open()
    with opened(Model(calls(call("far")), "well"), log=log) as after:
        session = after.session("s")
        await_event(session.watch(), ToolExecutionStart)
        session.abort()
        await_rest(session)
        ((text, is_error),) = results(session)
        assert "far was not run" in text
        assert is_error
