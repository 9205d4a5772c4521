"""A run waits for its listeners, and what they ask of the session counts before the next event."""

from __future__ import annotations

import asyncio
import threading

from refold import (
    AgentEnd,
    AssistantMessage,
    LifecycleEvent,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    Reply,
    ToolContext,
    ToolExecutionUpdate,
    TurnEnd,
    tool,
)
from tests.support.gates import Gate
from tests.support.models import MODEL, Model, call, calls
from tests.support.sessions import await_rest, opened, within


def test_listeners_hear_every_event_one_after_the_other_in_the_order_of_subscription() -> None:
    heard: list[tuple[str, str]] = []

    async def second(event: LifecycleEvent) -> None:
        await asyncio.sleep(0)
        heard.append(("second", type(event).__name__))

    with opened(Model(Reply("hello", chunks=3))) as runtime:
        session = runtime.session("s", model=MODEL)
        session.listen(lambda event: heard.append(("first", type(event).__name__)))
        session.listen(second)
        run = session.prompt("hi")
        shown = [type(event).__name__ for event in run]
        await_rest(session)
        assert heard == [(who, name) for name in shown for who in ("first", "second")]


def test_the_run_waits_for_a_listener() -> None:
    gate = Gate()

    def hold(event: LifecycleEvent) -> None:
        if isinstance(event, TurnEnd):
            gate.wait()

    with opened(Model("hello")) as runtime:
        session = runtime.session("s", model=MODEL)
        session.listen(hold)
        session.prompt("hi")
        gate.await_arrival()
        assert next(session.past.entries(after=session.past.version - 1)).type == "turn_end"
        assert session.is_busy
        gate.open()
        await_rest(session)


def test_a_listener_sees_the_state_right_after_its_event() -> None:
    versions: list[tuple[int, int]] = []
    with opened(Model(Reply("hello", chunks=2))) as runtime:
        session = runtime.session("s", model=MODEL)
        session.listen(lambda event: versions.append((event.version, session.state.version)))
        within(session.prompt("hi").result)
        assert versions
        assert all(event == state for event, state in versions)


def test_what_a_listener_asks_for_counts_before_the_next_event() -> None:
    with opened(Model("hello", "as you wish")) as runtime:
        session = runtime.session("s", model=MODEL)

        def steer(event: LifecycleEvent) -> None:
            if isinstance(event, MessageEnd) and event.message.text == "hi":
                session.steer("be brief")

        session.listen(steer)
        within(session.prompt("hi").result)
        request = session.context(call=1)
        assert [message.text for message in request.messages] == ["hi", "be brief"]


def test_a_listener_may_abort_the_run() -> None:
    with opened(Model(Reply("hello", chunks=1))) as runtime:
        session = runtime.session("s", model=MODEL)

        def stop(event: LifecycleEvent) -> None:
            if isinstance(event, MessageUpdate):
                session.abort()

        session.listen(stop)
        reply = within(session.prompt("hi").result)
        assert reply.stop_reason == "aborted"
        assert len(reply.text) < len("hello")


def test_a_reset_by_a_listener_in_mid_message_lets_the_run_go_on() -> None:
    with opened(Model("hello")) as runtime:
        session = runtime.session("s", model=MODEL)

        def reset(event: LifecycleEvent) -> None:
            if isinstance(event, MessageStart):
                session.reset()

        session.listen(reset)
        assert within(session.prompt("hi").result).text == "hello"
        assert [message.text for message in session.state.messages] == ["hello"]


def test_a_listener_that_raises_ends_the_run_with_its_words() -> None:
    heard: list[str] = []

    def fail(event: LifecycleEvent) -> None:
        heard.append(type(event).__name__)
        if isinstance(event, MessageStart) and isinstance(event.message, AssistantMessage):
            raise ValueError("no more")

    with opened(Model(Reply("hello", chunks=1), "there")) as runtime:
        session = runtime.session("s", model=MODEL)
        end = session.listen(fail)
        reply = within(session.prompt("hi").result)
        assert (reply.stop_reason, reply.error_message) == ("error", "no more")
        assert heard[-3:] == ["MessageEnd", "TurnEnd", "AgentEnd"]
        end()
        assert within(session.prompt("again").result).text == "there"


def test_whatever_a_listener_raises_is_its_failure_and_no_more() -> None:
    def leave(event: LifecycleEvent) -> None:
        raise SystemExit("bye")

    with opened(Model("hello", "there")) as runtime:
        session = runtime.session("s", model=MODEL)
        end = session.listen(leave)
        session.prompt("hi")
        await_rest(session)
        assert session.state.error_message == "SystemExit: bye"
        end()
        assert within(session.prompt("again").result).text == "hello"


def test_a_listener_that_takes_too_long_ends_the_run() -> None:
    async def dream(event: LifecycleEvent) -> None:
        await asyncio.Event().wait()

    with opened(Model("hello"), listener_limit=0.01) as runtime:
        session = runtime.session("s", model=MODEL)
        end = session.listen(dream)
        session.prompt("hi")
        await_rest(session)
        assert session.state.error_message == "a listener took over 0.01 s"
        end()


def test_listening_can_be_ended_in_mid_run() -> None:
    heard: list[str] = []
    with opened(Model("hello")) as runtime:
        session = runtime.session("s", model=MODEL)

        def once(event: LifecycleEvent) -> None:
            heard.append(type(event).__name__)
            end()

        end = session.listen(once)
        assert within(session.prompt("hi").result).text == "hello"
        assert heard == ["AgentStart"]


def test_a_listener_that_subscribes_in_mid_event_hears_of_it() -> None:
    heard: list[str] = []
    with opened(Model("hello")) as runtime:
        session = runtime.session("s", model=MODEL)

        def subscribe(event: LifecycleEvent) -> None:
            if isinstance(event, TurnEnd):
                session.listen(lambda event: heard.append(type(event).__name__))

        session.listen(subscribe)
        within(session.prompt("hi").result)
        await_rest(session)
        assert heard == ["TurnEnd", "AgentEnd"]


def test_a_progress_report_waits_for_the_listeners_that_are_told_of_it() -> None:
    order: list[str] = []

    @tool
    def work(context: ToolContext) -> str:
        """Work."""
        context.update("half")
        order.append("went on")
        return "done"

    def listen(event: LifecycleEvent) -> None:
        if isinstance(event, ToolExecutionUpdate):
            order.append("heard")

    with opened(Model(calls(call("work")), "well")) as runtime:
        session = runtime.session("s", model=MODEL, tools=[work])
        session.listen(listen)
        within(session.prompt("go").result)
        assert order == ["heard", "went on"]


def test_sync_listeners_run_outside_the_event_loop() -> None:
    threads: list[str] = []
    with opened(Model("hello")) as runtime:
        session = runtime.session("s", model=MODEL)
        session.listen(lambda event: threads.append(threading.current_thread().name))
        within(session.prompt("hi").result)
        assert all(name.startswith("refold_") for name in threads)


def test_iterating_over_a_run_shows_what_listeners_hear() -> None:
    with opened(Model("hello")) as runtime:
        session = runtime.session("s", model=MODEL)
        session.listen(lambda event: None)
        events = within(lambda: list(session.prompt("hi")))
        assert isinstance(events[-1], AgentEnd)
