"""An abort reaches whatever is under way: the model's stream, tools, hooks, waits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from refold import (
    AbortSignal,
    MessageUpdate,
    Reply,
    Session,
    ToolContext,
    ToolResultMessage,
    tool,
)
from refold.events.record import Recorded
from tests.support.gates import Gate
from tests.support.models import MODEL, Model, call, calls
from tests.support.sessions import await_rest, opened, within


def results(session: Session) -> list[tuple[str, bool]]:
    return [
        (message.text, message.is_error)
        for message in session.state.messages
        if isinstance(message, ToolResultMessage)
    ]


def test_an_abort_in_mid_stream_keeps_what_came_until_then() -> None:
    gate = Gate()
    model = Model(Reply("hello world", chunks=["hello ", "world"], gates={"b0.d1": gate}))
    with opened(model) as runtime:
        session = runtime.session("s", model=MODEL)
        run = session.prompt("hi")
        shown = within(lambda: next(event for event in run if isinstance(event, MessageUpdate)))
        gate.await_arrival()
        session.abort()
        reply = within(run.result)
        assert reply.stop_reason == "aborted"
        assert reply.text == "hello "
        assert shown.version < session.past.version


def test_an_abort_before_the_first_word_ends_the_run() -> None:
    gate = Gate()
    with opened(Model(Reply("never", gates={"open": gate}))) as runtime:
        session = runtime.session("s", model=MODEL)
        run = session.prompt("hi")
        gate.await_arrival()
        session.abort()
        assert within(run.result).stop_reason == "aborted"


def test_a_sync_tool_sees_the_signal() -> None:
    at_work = Gate()

    @tool
    def work(context: ToolContext) -> str:
        """Work until told to stop."""
        at_work.wait(0)
        return "stopped" if context.signal.wait(20) else "never told"

    with opened(Model(calls(call("work")), "well")) as runtime:
        session = runtime.session("s", model=MODEL, tools=[work])
        session.prompt("go")
        at_work.await_arrival()
        session.abort()
        await_rest(session)
        assert results(session) == [("stopped", False)]


def test_an_async_tool_may_await_the_signal() -> None:
    at_work = Gate()

    @tool
    async def work(context: ToolContext) -> str:
        """Work until told to stop."""
        at_work.wait(0)
        await context.signal.wait_async()
        return "stopped"

    with opened(Model(calls(call("work")), "well")) as runtime:
        session = runtime.session("s", model=MODEL, tools=[work])
        session.prompt("go")
        at_work.await_arrival()
        session.abort()
        await_rest(session)
        assert results(session) == [("stopped", False)]


def test_an_async_tool_that_does_not_end_in_time_is_cancelled() -> None:
    at_work, cancelled = Gate(), Gate()

    @tool
    async def stubborn() -> str:
        """Work for ever."""
        at_work.wait(0)
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.open()
        return "never"

    with opened(Model(calls(call("stubborn")), "well"), grace=0.0) as runtime:
        session = runtime.session("s", model=MODEL, tools=[stubborn])
        session.prompt("go")
        at_work.await_arrival()
        session.abort()
        await_rest(session)
        assert cancelled.wait()
        ((text, is_error),) = results(session)
        assert "stubborn did not end within 0 s of the abort" in text
        assert is_error


def test_a_sync_tool_that_does_not_end_in_time_is_given_up_and_noted_when_it_ends() -> None:
    at_work, let_go = Gate(), Gate()

    @tool
    def stubborn() -> str:
        """Work whatever happens."""
        at_work.wait(0)
        let_go.wait()
        return "too late"

    with opened(Model(calls(call("stubborn")), "well"), grace=0.0) as runtime:
        session = runtime.session("s", model=MODEL, tools=[stubborn])
        session.prompt("go")
        at_work.await_arrival()
        session.abort()
        await_rest(session)
        assert "did not end within 0 s of the abort" in results(session)[0][0]
        let_go.open()
        assert within(lambda: next(facts_of_type(session, "tool_returned_late")))


def facts_of_type(session: Session, wanted: str) -> Iterator[Recorded]:
    """Facts of a type, those to come included."""
    for _, records in session._engine.log.follow():
        for recorded in records:
            if recorded.stream == session.stream and recorded.event.type == wanted:
                yield recorded


def test_a_hook_sees_the_signal() -> None:
    at_work = Gate()

    def transform(messages: list, signal: AbortSignal) -> None:
        at_work.wait(0)
        assert signal.wait(20)

    with opened(Model("never")) as runtime:
        session = runtime.session("s", model=MODEL, hooks={"transform_context": transform})
        run = session.prompt("hi")
        at_work.await_arrival()
        session.abort()
        assert within(run.result).stop_reason == "aborted"


def test_calls_that_did_not_run_are_answered_in_the_next_request() -> None:
    at_work = Gate()

    @tool(sequential=True)
    def work(context: ToolContext) -> str:
        """Work until told to stop."""
        at_work.wait(0)
        context.signal.wait(20)
        return "stopped"

    model = Model(calls(call("work"), call("work")), "never", "well")
    with opened(model) as runtime:
        session = runtime.session("s", model=MODEL, tools=[work])
        session.prompt("go")
        at_work.await_arrival()
        session.abort()
        await_rest(session)
        assert len(results(session)) == 1
        assert within(session.prompt("and now?").result).stop_reason in ("stop", "aborted")
    assert model.faults == []


def test_an_abort_ends_the_wait_for_a_model_that_is_tried_again() -> None:
    busy = Reply("", error_message="too many requests", error_kind="rate_limit")
    with opened(Model(busy, "well")) as runtime:
        session = runtime.session("s", model=MODEL, retry_delay=3_600_000)
        run = session.prompt("hi")
        within(lambda: next(facts_of_type(session, "retry_scheduled")))
        session.abort()
        assert within(run.result).stop_reason in ("aborted", "error")


def test_an_abort_at_rest_changes_nothing() -> None:
    with opened(Model("hello", "there")) as runtime:
        session = runtime.session("s", model=MODEL)
        session.abort()
        assert within(session.prompt("hi").result).text == "hello"


@pytest.mark.parametrize("twice", [False, True])
def test_the_run_after_an_aborted_one_has_a_signal_of_its_own(twice: bool) -> None:
    gate = Gate()
    with opened(Model(Reply("no", gates={"open": gate}), "hello")) as runtime:
        session = runtime.session("s", model=MODEL)
        run = session.prompt("hi")
        gate.await_arrival()
        session.abort()
        if twice:
            session.abort()
        within(run.result)
        assert within(session.prompt("again").result).text == "hello"
