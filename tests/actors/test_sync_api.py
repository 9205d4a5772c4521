"""The API for threads: it says when it cannot be used, and closes cleanly."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest

import refold
from refold import BusyError, ClosedError, InvalidArgumentError, Reply
from refold.store import MemoryLog
from tests.support.gates import PATIENCE, Gate
from tests.support.models import MODEL, Model
from tests.support.sessions import await_rest, background, engine_of, opened, within


def test_opening_inside_a_running_event_loop_names_the_async_way() -> None:
    async def main() -> None:
        with pytest.raises(refold.CallerError, match=r"await refold\.open_async"):
            refold.open(None)

    asyncio.run(main())


@pytest.mark.parametrize("name", ["", "a\0b", "lone \ud800", "x" * 401])
def test_a_name_that_cannot_be_one_is_refused(name: str) -> None:
    with (
        opened(Model()) as runtime,
        pytest.raises(InvalidArgumentError, match="cannot be the name of a session"),
    ):
        runtime.session(name, model=MODEL)


def test_a_session_is_found_again_by_its_name() -> None:
    with opened(Model("hello")) as runtime:
        first = runtime.session("s", model=MODEL)
        within(first.prompt("hi").result)
        again = runtime.session("s")
        assert again.stream == first.stream
        assert again.state == first.state


def test_sessions_are_listed_in_the_order_of_their_creation() -> None:
    with opened(Model()) as runtime:
        for name in ("b", "a", "c"):
            runtime.session(name, model=MODEL)
        assert [info.name for info in runtime.sessions()] == ["b", "a", "c"]


def test_a_second_prompt_is_refused_while_the_first_is_answered() -> None:
    gate = Gate()
    with opened(Model(Reply("hello", gates={"open": gate}))) as runtime:
        session = runtime.session("s", model=MODEL)
        session.prompt("hi")
        with pytest.raises(BusyError):
            session.prompt("and?")
        gate.open()
        await_rest(session)


def test_a_session_can_be_used_from_several_threads() -> None:
    with opened(Model(every=lambda _: "hello")) as runtime:
        session = runtime.session("s", model=MODEL, idle_queue="hold")
        within(session.prompt("hi").result)
        threads = [
            threading.Thread(target=session.follow_up, args=(str(number),)) for number in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert len(session.queued["follow_up"]) == 20
        session.continue_()
        await_rest(session)
        texts = {message.text for message in session.state.messages}
        assert {str(number) for number in range(20)} <= texts


# Closing


def test_nothing_is_taken_after_the_close() -> None:
    with opened(Model()) as runtime:
        session = runtime.session("s", model=MODEL)
    with pytest.raises(ClosedError, match="open the log again"):
        session.prompt("hi")


def test_closing_twice_is_closing_once() -> None:
    runtime = opened(Model())
    runtime.close()
    runtime.close()


def test_whoever_follows_a_run_hears_of_the_close() -> None:
    gate = Gate()
    runtime = opened(Model(Reply("hello", gates={"open": gate})))
    session = runtime.session("s", model=MODEL)
    run = session.prompt("hi")
    gate.await_arrival()
    with background(run.result) as result:
        within(runtime.close)
        with pytest.raises(ClosedError, match="the runtime was closed"):
            result.result(PATIENCE)
    gate.open()


def test_a_close_in_mid_run_leaves_a_run_that_goes_on_at_the_next_opening() -> None:
    gate, log = Gate(), _Kept()
    with opened(Model(Reply("hello", gates={"b0.d0": gate})), log=log) as runtime:
        runtime.session("s", model=MODEL).prompt("hi")
        gate.await_arrival()
        gate.open()
    model = Model("hello again")
    with opened(model, log=log.reopened()) as runtime:
        session = runtime.session("s")
        await_rest(session)
        texts = [message.text for message in session.state.messages]
        assert texts in (["hi", "hello again"], ["hi", "hello"])


class _Kept(MemoryLog):
    """A log whose content outlives its closing."""

    def reopened(self) -> MemoryLog:
        after = MemoryLog()
        after._kept, after._key = self._kept, self._key
        return after


def test_a_closed_runtime_leaves_no_threads_of_its_own() -> None:
    before = set(threading.enumerate())
    with opened(Model("hello")) as runtime:
        within(runtime.session("s", model=MODEL).prompt("hi").result)
    left = {
        thread.name
        for thread in set(threading.enumerate()) - before
        if not thread.name.startswith(("test", "asyncio"))
    }
    assert left == set()


# Runs


def test_a_run_that_nobody_follows_goes_on() -> None:
    with opened(Model("hello")) as runtime:
        session = runtime.session("s", model=MODEL)
        session.prompt("hi")
        gc.collect()
        await_rest(session)
        assert session.state.messages[-1].text == "hello"


def test_a_run_that_was_let_go_of_is_not_kept() -> None:
    with opened(Model("hello")) as runtime:
        session = runtime.session("s", model=MODEL)
        run = session.prompt("hi")
        assert session.stream in engine_of(runtime).hub._watchers
        del run
        gc.collect()
        await_rest(session)
        assert session.stream not in engine_of(runtime).hub._watchers


def test_a_run_that_was_read_to_its_end_is_not_kept() -> None:
    with opened(Model("hello")) as runtime:
        session = runtime.session("s", model=MODEL)
        run = session.prompt("hi")
        within(run.result)
        assert session.stream not in engine_of(runtime).hub._watchers
        assert run.result().text == "hello"


def test_the_result_of_a_run_can_be_asked_for_in_the_middle_of_its_events() -> None:
    with opened(Model("hello")) as runtime:
        run = runtime.session("s", model=MODEL).prompt("hi")
        events = within(lambda: [next(iter(run)), next(iter(run))])
        assert [type(event).__name__ for event in events] == ["AgentStart", "TurnStart"]
        assert within(run.result).text == "hello"


def test_a_refused_prompt_leaves_nothing_behind() -> None:
    gate = Gate()
    with opened(Model(Reply("hello", gates={"open": gate}))) as runtime:
        session = runtime.session("s", model=MODEL)
        run = session.prompt("hi")
        for _ in range(3):
            with pytest.raises(BusyError):
                session.prompt("and?")
        gc.collect()
        assert len(engine_of(runtime).hub._watchers[session.stream]) == 1
        gate.open()
        within(run.result)


def test_the_events_of_a_run_end_with_it() -> None:
    with opened(Model("hello", "there")) as runtime:
        session = runtime.session("s", model=MODEL)
        first = within(lambda: list(session.prompt("hi")))
        second = within(lambda: list(session.prompt("again")))
        assert [type(event).__name__ for event in first] == [
            type(event).__name__ for event in second
        ]
        assert first[-1].version < second[0].version
