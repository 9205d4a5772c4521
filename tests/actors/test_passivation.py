"""Sessions that rest are let go beyond a number, and folded again at their next message."""

from __future__ import annotations

import threading

from refold import Reply
from tests.support.gates import Gate, Turnstile
from tests.support.models import MODEL, Model
from tests.support.sessions import await_rest, engine_of, opened, within


def test_no_more_sessions_are_kept_than_are_to_be() -> None:
    with opened(Model(every=lambda _: "hello"), most_hosted=3) as runtime:
        for number in range(10):
            session = runtime.session(str(number), model=MODEL)
            within(session.prompt("hi").result)
        assert len(engine_of(runtime).hub.known()) <= 4


def test_a_session_that_was_let_go_takes_the_next_message_as_if_nothing_had_been() -> None:
    with opened(Model(every=lambda _: "hello"), most_hosted=1) as runtime:
        sessions = [runtime.session(str(number), model=MODEL) for number in range(4)]
        for _ in range(3):
            for session in sessions:
                within(session.prompt("hi").result)
        for session in sessions:
            assert [message.text for message in session.state.messages] == ["hi", "hello"] * 3
            assert session.past.reexecute() is None


def test_the_state_of_a_session_that_was_let_go_can_be_looked_at() -> None:
    with opened(Model(every=lambda _: "hello"), most_hosted=1) as runtime:
        first = runtime.session("first", model=MODEL)
        within(first.prompt("hi").result)
        known = first.state
        for number in range(3):
            within(runtime.session(str(number), model=MODEL).prompt("hi").result)
        assert engine_of(runtime).hub.latest(first.stream) is None
        assert first.state.version == known.version
        assert first.state.messages == known.messages
        assert not first.is_busy


def test_a_session_with_a_run_is_not_let_go() -> None:
    gate = Gate()
    model = Model(Reply("slow", gates={"open": gate}), *["quick"] * 5)
    with opened(model, most_hosted=1) as runtime:
        slow = runtime.session("slow", model=MODEL)
        run = slow.prompt("hi")
        gate.await_arrival()
        for number in range(5):
            within(runtime.session(str(number), model=MODEL).prompt("hi").result)
        gate.open()
        assert within(run.result).text == "slow"
        types = {entry.type for entry in slow.past.entries()}
        assert "recovered" not in types


def test_a_session_with_a_listener_is_not_let_go() -> None:
    heard: list[object] = []
    with opened(Model(every=lambda _: "hello"), most_hosted=1) as runtime:
        first = runtime.session("first", model=MODEL)
        first.listen(heard.append)
        for number in range(3):
            within(runtime.session(str(number), model=MODEL).prompt("hi").result)
        within(first.prompt("hi").result)
        assert heard


def test_queued_messages_are_still_queued_after_a_revival() -> None:
    with opened(Model(every=lambda _: "hello"), most_hosted=1) as runtime:
        first = runtime.session("first", model=MODEL, idle_queue="hold")
        first.follow_up("later")
        for number in range(3):
            within(runtime.session(str(number), model=MODEL).prompt("hi").result)
        within(first.prompt("hi").result)
        texts = [message.text for message in first.state.messages]
        assert texts == ["hi", "hello", "later", "hello"]


def test_a_thousand_sessions_live_on_a_handful_of_threads() -> None:
    before = set(threading.enumerate())
    gate, at_work = Gate(), Turnstile()

    async def hold() -> None:
        at_work.arrive()
        await gate.passed()

    class Held:
        async def wait(self) -> None:
            await hold()

    held = Held()
    model = Model(every=lambda _: Reply("hello", gates={"open": held}))
    with opened(model) as runtime:
        sessions = [runtime.session(str(number), model=MODEL) for number in range(1000)]
        runs = [session.prompt("hi") for session in sessions]
        at_work.await_count(1000)  # all of them are in the middle of a run
        threads = set(threading.enumerate()) - before
        assert len(threads) <= 10, sorted(thread.name for thread in threads)
        gate.open()
        assert {within(run.result).text for run in runs[-1:]} == {"hello"}
        for session in sessions:
            await_rest(session)
        assert model.faults == []
