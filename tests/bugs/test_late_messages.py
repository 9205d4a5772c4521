"""B27: a message comes when the run has looked at its queues for the last time."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

import refold
from refold import LifecycleEvent, Options, Session
from refold.events.agent import facts as marks
from tests.support.looking import answers, facts, in_time, user_texts
from tests.support.models import MODEL, Model, call, calls

Queue = Literal["steer", "follow_up"]
QUEUES: tuple[Queue, ...] = ("steer", "follow_up")

EVENTS = [
    refold.AgentStart,
    refold.TurnStart,
    refold.MessageStart,
    refold.MessageUpdate,
    refold.MessageEnd,
    refold.ToolExecutionStart,
    refold.ToolExecutionEnd,
    refold.TurnEnd,
    refold.AgentEnd,
]

each_queue = pytest.mark.parametrize("queue", QUEUES)


@refold.tool
def look() -> str:
    return "nothing"


def at_the_last(kind: type, action: Callable[[], Any]) -> Callable[[LifecycleEvent], None]:
    """A listener that acts once: at the first event of a kind in the last turn of the first run."""
    state = {"turns": 0, "done": False}

    def listener(event: LifecycleEvent) -> None:
        state["turns"] += isinstance(event, refold.TurnStart)
        # Tools are called in the first of two turns only.
        last = 1 if issubclass(kind, refold.ToolExecutionStart | refold.ToolExecutionEnd) else 2
        early = kind is refold.AgentStart
        if isinstance(event, kind) and not state["done"] and (early or state["turns"] == last):
            state["done"] = True
            action()

    return listener


def delivered_once(session: Session, text: str) -> bool:
    return user_texts(session.state.messages).count(text) == 1


@each_queue
@pytest.mark.parametrize("kind", EVENTS)
def test_a_message_queued_at_any_event_is_answered_without_another_prompt(
    queue: Queue, kind: type
) -> None:
    model = Model(calls(call("look")), *["said"] * 5)
    with refold.open(None, providers=[model], options=Options(delta_interval=0)) as runtime:
        session = runtime.session("s", model=MODEL, tools=[look])
        session.listen(at_the_last(kind, lambda: getattr(session, queue)("late")))
        session.prompt("go")
        in_time(session.wait)
        assert delivered_once(session, "late")
        assert not any(session.queued.values())
        assert "late" in user_texts(model.requests[-1].messages)
        assert answers(session.state.messages)[-1] == "said"


@each_queue
@pytest.mark.parametrize("kind", EVENTS)
def test_a_watcher_that_queues_at_any_event_is_answered(queue: Queue, kind: type) -> None:
    model = Model(calls(call("look")), *["said"] * 5)
    with refold.open(None, providers=[model], options=Options(delta_interval=0)) as runtime:
        session = runtime.session("s", model=MODEL, tools=[look])
        listener = at_the_last(kind, lambda: getattr(session, queue)("late"))

        def follow() -> None:
            for event in session.prompt("go"):
                listener(event)

        in_time(follow)
        in_time(session.wait)
        assert delivered_once(session, "late")
        assert not any(session.queued.values())


class TestTheRace:
    """Two hundred rounds, each with a message that comes about when the run ends."""

    ROUNDS = 200
    JITTER = 0.003

    @each_queue
    def test_the_message_is_sent_once_and_the_session_comes_to_rest(self, queue: Queue) -> None:
        seed = random.randrange(2**32)
        chance = random.Random(seed)
        model = Model(every=lambda _: "said")
        with refold.open(None, providers=[model]) as runtime:
            for number in range(self.ROUNDS):
                session = runtime.session(f"s{number}", model=MODEL)
                sent = self.sent_later(session, queue, chance.uniform(0, self.JITTER))
                in_time(sent.join)
                in_time(session.wait, limit=5)
                assert user_texts(session.state.messages) in (["go", "late"], ["late", "go"]), seed
                assert answers(session.state.messages)[-1] == "said"
                assert not any(session.queued.values())

    def sent_later(self, session: Session, queue: Queue, delay: float) -> threading.Thread:
        def send() -> None:
            for event in run:
                if isinstance(event, refold.MessageEnd) and event.message.text == "said":
                    break
            time.sleep(delay)  # the jitter of the input
            getattr(session, queue)("late")

        run = session.prompt("go")
        thread = threading.Thread(target=send, daemon=True)
        thread.start()
        return thread

    def test_of_many_threads_at_once_each_message_is_sent_once(self) -> None:
        model = Model(every=lambda _: "said")
        with refold.open(None, providers=[model]) as runtime:
            session = runtime.session("s", model=MODEL)

            def send(name: int) -> None:
                for n in range(20):
                    getattr(session, QUEUES[n % 2])(f"{name}.{n}")

            threads = [threading.Thread(target=send, args=(n,), daemon=True) for n in range(5)]
            for thread in threads:
                thread.start()
            for thread in threads:
                in_time(thread.join)
            in_time(session.wait)
            said = user_texts(session.state.messages)
            assert sorted(said) == sorted(f"{n}.{m}" for n in range(5) for m in range(20))
            for name in range(5):
                for start in (0, 1):  # a queue keeps the order in which it was given
                    mine = [f"{name}.{n}" for n in range(start, 20, 2)]
                    assert [text for text in said if text in mine] == mine


class TestBehindAnAbort:
    """An abort leaves what was queued before it; what comes behind it is wanted."""

    @each_queue
    def test_a_message_is_answered_by_a_run_of_its_own(self, queue: Queue) -> None:
        def stop(context: refold.ToolContext) -> str:
            session.abort()
            getattr(session, queue)("instead")
            return "stopped"

        model = Model(
            every=lambda sent: (
                calls(call("stop")) if sent.messages[-1].text == "go" else "as you wish"
            )
        )
        with refold.open(None, providers=[model]) as runtime:
            session = runtime.session("s", model=MODEL, tools=[refold.tool(stop)])
            session.prompt("go")
            in_time(session.wait)
            assert delivered_once(session, "instead")
            assert answers(session.state.messages)[-1] == "as you wish"
            assert len(facts(session, marks.AgentStart)) == 2

    def test_what_was_queued_before_waits_for_the_next_prompt(self) -> None:
        def stop() -> str:
            session.follow_up("before")
            session.abort()
            return "stopped"

        model = Model(
            every=lambda sent: calls(call("stop")) if sent.messages[-1].text == "go" else "yes"
        )
        with refold.open(None, providers=[model]) as runtime:
            session = runtime.session("s", model=MODEL, tools=[refold.tool(stop)])
            session.prompt("go")
            in_time(session.wait)
            assert not delivered_once(session, "before")
            assert len(session.queued["follow_up"]) == 1
            in_time(session.prompt("next").result)
            in_time(session.wait)
            assert user_texts(session.state.messages) == ["go", "next", "before"]

    def test_the_older_message_goes_first_where_a_younger_one_starts_the_run(self) -> None:
        def stop() -> str:
            session.follow_up("before")
            session.abort()
            session.follow_up("behind")
            return "stopped"

        model = Model(
            every=lambda sent: calls(call("stop")) if sent.messages[-1].text == "go" else "yes"
        )
        with refold.open(None, providers=[model]) as runtime:
            session = runtime.session("s", model=MODEL, tools=[refold.tool(stop)])
            session.prompt("go")
            in_time(session.wait)
            assert user_texts(session.state.messages) == ["go", "before", "behind"]


def test_a_message_for_a_session_that_is_not_in_memory_starts_a_run(tmp_path: Path) -> None:
    with refold.open(tmp_path / "log", providers=[Model("one")]) as runtime:
        in_time(runtime.session("s", model=MODEL).prompt("go").result)
    with refold.open(tmp_path / "log", providers=[Model("two")]) as runtime:
        session = runtime.session("s")
        session.follow_up("late")
        in_time(session.wait)
        assert answers(session.state.messages) == ["one", "two"]


def test_a_prompt_is_over_for_its_caller_while_a_message_behind_it_is_still_answered() -> None:
    """`result` is that of the caller's own run; `wait` waits for all that is queued."""
    model = Model("one", "two")
    with refold.open(None, providers=[model]) as runtime:
        session = runtime.session("s", model=MODEL)
        session.listen(at_the_end(lambda: session.follow_up("late")))
        assert in_time(session.prompt("go").result).text == "one"
        in_time(session.wait)
        assert answers(session.state.messages) == ["one", "two"]
        assert not any(session.queued.values())


def at_the_end(action: Callable[[], Any]) -> Callable[[LifecycleEvent], None]:
    done: list[bool] = []

    def listener(event: LifecycleEvent) -> None:
        if isinstance(event, refold.AgentEnd) and not done:
            done.append(True)
            action()

    return listener
