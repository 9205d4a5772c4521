"""An actor that dies hurts no more than what it had in hand: it lives again, and all goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from refold import AgentEnd, BugError, ClosedError, LogAccessError, Reply, Request, Session, tool
from refold.actors.messages import Claim, Enter, Offered, Revive
from refold.actors.supervisor import MOST_DEATHS
from refold.events.agent import inputs
from refold.events.fact import Offer
from tests.support.gates import PATIENCE, Gate
from tests.support.logs import WatchedLog
from tests.support.models import MODEL, Model, call, calls
from tests.support.poison import ACTORS, Mortality, mortality
from tests.support.sessions import await_event, await_rest, background, engine_of, opened, within


@pytest.fixture(autouse=True)
def mortal() -> Iterator[Mortality]:
    with mortality() as mortal:
        yield mortal


everyone = pytest.mark.parametrize("actor", ACTORS)


def is_alive(session: Session) -> None:
    """Fail unless the session takes a prompt and answers it."""
    assert within(session.prompt("still there?").result).text == "yes"


def brain(*first: object) -> Callable[[Request], Any]:
    """Answers by what was said last, so that it does not matter how often it is asked.

    Args:
        first: replies that go out once each, before anything else.
    """
    once = list(first)

    def reply(request: Request) -> Any:
        if once:
            return once.pop(0)
        return "yes" if request.messages[-1].text == "still there?" else "hello"

    return reply


def texts(session: Session) -> list[str]:
    return [message.text for message in session.state.messages]


@everyone
@pytest.mark.parametrize("error", [RuntimeError("oh"), SystemExit(1), KeyboardInterrupt()])
def test_a_session_at_rest_takes_the_next_prompt(
    mortal: Mortality, actor: str, error: BaseException
) -> None:
    with opened(Model("hello", "yes")) as runtime:
        session = runtime.session("s", model=MODEL)
        session.prompt("hi").result()
        mortal.kill(engine_of(runtime), actor, error)
        mortal.go_on()
        is_alive(session)
        assert texts(session) == ["hi", "hello", "still there?", "yes"]


@everyone
def test_a_run_in_mid_stream_is_finished(mortal: Mortality, actor: str) -> None:
    gate = Gate()
    model = Model(every=brain(Reply("hello", chunks=2, gates={"b0.d1": gate})))
    with opened(model) as runtime:
        session = runtime.session("s", model=MODEL)
        session.prompt("hi")
        gate.await_arrival()
        mortal.kill(engine_of(runtime), actor)
        gate.open()
        mortal.go_on()
        await_rest(session)
        assert texts(session) == ["hi", "hello"]
        is_alive(session)
    assert model.faults == []


@everyone
def test_a_run_whose_tool_is_at_work_is_finished(mortal: Mortality, actor: str) -> None:
    gate = Gate()

    @tool(replay="safe")
    def work() -> str:
        gate.wait()
        return "done"

    model = Model(every=brain(calls(call("work"))))
    with opened(model) as runtime:
        session = runtime.session("s", model=MODEL, tools=[work])
        session.prompt("go")
        gate.await_arrival()
        mortal.kill(engine_of(runtime), actor)
        gate.open()
        mortal.go_on()
        await_rest(session)
        assert texts(session) == ["go", "", "done", "hello"]
        is_alive(session)
    assert model.faults == []


@pytest.mark.parametrize("actor", ["Models", "Journal", "Reader", "Queues"])
def test_a_tool_that_must_not_run_twice_is_not_disturbed_by_the_death_of_others(
    mortal: Mortality, actor: str
) -> None:
    gate = Gate()

    @tool
    def once() -> str:
        gate.wait()
        return "done"

    with opened(Model(calls(call("once")), "ready")) as runtime:
        session = runtime.session("s", model=MODEL, tools=[once])
        session.prompt("go")
        gate.await_arrival()
        mortal.kill(engine_of(runtime), actor)
        mortal.go_on()
        gate.open()
        await_rest(session)
        assert texts(session) == ["go", "", "done", "ready"]


@everyone
def test_what_is_said_to_an_actor_while_it_is_dead_is_heard_when_it_lives(
    mortal: Mortality, actor: str
) -> None:
    with opened(Model(every=brain())) as runtime:
        session = runtime.session("s", model=MODEL)
        mortal.kill(engine_of(runtime), actor)
        with background(lambda: session.prompt("hi").result()) as result:
            mortal.go_on()
            assert result.result(PATIENCE).text == "hello"


@pytest.mark.parametrize("actor", ["Journal", "Reader", "Loop", "Queues"])
def test_what_waits_behind_the_message_that_an_actor_dies_of_is_read_by_the_next(
    mortal: Mortality, actor: str
) -> None:
    gate = Gate()
    with opened(Model(every=brain())) as runtime:
        engine = engine_of(runtime)
        mortal.poison(engine, actor, gate=gate)
        gate.await_arrival()
        stream = os.urandom(16)
        created = Offer(inputs.Created(uid=stream, name="s"))
        messages = {
            "Journal": Claim(stream=stream),
            "Reader": Revive(stream=stream),
            "Loop": Offered(stream=stream, offers=(created,)),
            "Queues": Enter(stream=stream, token=0, offer=created),
        }
        handled = mortal.await_handling(actor, messages[actor])
        engine._addresses[actor].tell(messages[actor])
        gate.open()
        mortal.await_plans(1)
        mortal.go_on()
        handled()


@everyone
def test_the_other_sessions_go_on(mortal: Mortality, actor: str) -> None:
    gates = [Gate() for _ in range(5)]
    replies = [Reply("hello", gates={"b0.d0": gate}) for gate in gates]
    model = Model(every=brain(*replies))
    with opened(model) as runtime:
        sessions = [runtime.session(str(i), model=MODEL) for i in range(5)]
        for session, gate in zip(sessions, gates, strict=True):
            session.prompt("hi")
            gate.await_arrival()
        mortal.kill(engine_of(runtime), actor)
        for gate in gates:
            gate.open()
        mortal.go_on()
        for session in sessions:
            await_rest(session)
            assert texts(session) == ["hi", "hello"]


def test_a_caller_whose_input_was_in_hand_hears_that_nobody_knows(mortal: Mortality) -> None:
    log, gate = WatchedLog(), Gate()
    with opened(Model(every=brain()), log=log) as runtime:
        session = runtime.session("s", model=MODEL)
        log.before_commit = gate.wait
        with background(session.prompt, "hi") as prompted:
            gate.await_arrival()
            mortal.kill(engine_of(runtime), "Loop")
            with pytest.raises(BugError, match=r"Loop died of RuntimeError.*not known"):
                prompted.result(PATIENCE)
        gate.open()
        mortal.go_on()


def test_an_append_that_was_in_flight_when_the_loop_died_is_gone_on_from(
    mortal: Mortality,
) -> None:
    log, gate = WatchedLog(), Gate()
    with opened(Model(every=brain()), log=log) as runtime:
        session = runtime.session("s", model=MODEL)
        watch = session.watch(after="end")
        log.before_commit = gate.wait
        with background(session.prompt, "hi"):
            gate.await_arrival()
            mortal.kill(engine_of(runtime), "Loop")
        gate.open()
        mortal.go_on()
        await_event(watch, AgentEnd)
        is_alive(session)
        assert texts(session)[0] == "hi"


@pytest.mark.parametrize("dies_at", ["append", "commit"])
def test_a_run_whose_append_the_journal_died_of_is_finished(
    mortal: Mortality, dies_at: str
) -> None:
    log, gate = WatchedLog(), Gate()
    model = Model(every=brain(Reply("hello", chunks=2, gates={"b0.d1": gate})))
    errors = [MemoryError()]

    def die_once() -> None:
        if errors:
            raise errors.pop()

    with opened(model, log=log) as runtime:
        session = runtime.session("s", model=MODEL)
        session.prompt("hi")
        gate.await_arrival()
        setattr(log, f"before_{dies_at}", die_once)
        gate.open()
        mortal.await_plans(2)  # to start the journal again, and to try what it could not write
        mortal.go_on()
        await_rest(session)
        assert texts(session) == ["hi", "hello"]
        is_alive(session)


def test_listeners_are_waited_for_after_the_loop_has_died(mortal: Mortality) -> None:
    heard = []
    with opened(Model("hello", "yes")) as runtime:
        session = runtime.session("s", model=MODEL)
        session.listen(lambda event: heard.append(type(event).__name__))
        session.prompt("hi").result()
        mortal.kill(engine_of(runtime), "Loop")
        mortal.go_on()
        heard.clear()
        is_alive(session)
        assert heard[0] == "AgentStart"
        assert "MessageEnd" in heard


@pytest.mark.parametrize("actor", ["Journal", "Loop", "Queues"])
def test_an_actor_that_dies_too_often_stays_dead_and_everybody_is_told(
    mortal: Mortality, actor: str
) -> None:
    gate = Gate()
    with opened(Model(every=lambda _: Reply("hello", gates={"open": gate}))) as runtime:
        session = runtime.session("s", model=MODEL)
        run = session.prompt("hi")
        gate.await_arrival()
        for _ in range(MOST_DEATHS):
            mortal.kill(engine_of(runtime), actor)
            mortal.go_on()
        with background(run.result) as result:
            mortal.poison(engine_of(runtime), actor)
            with pytest.raises(BugError, match=f"{actor} died"):
                result.result(PATIENCE)
        with pytest.raises((BugError, ClosedError)):
            within(session.steer, "are you there?")
        gate.open()


# A log that cannot be written


def full() -> None:
    raise LogAccessError("no room")


def test_a_caller_hears_that_the_log_is_full_and_nothing_is_written() -> None:
    log = WatchedLog()
    with opened(Model("hello"), log=log) as runtime:
        session = runtime.session("s", model=MODEL)
        version = session.past.version
        log.before_commit = full
        with pytest.raises(LogAccessError, match="no room"):
            within(session.prompt, "hi")
        assert session.past.version == version
        log.before_commit = lambda: None
        assert within(session.prompt("again").result).text == "hello"


def test_outcomes_that_could_not_be_written_are_kept_and_written_later(
    mortal: Mortality,
) -> None:
    log, gate = WatchedLog(), Gate()
    runs = []

    @tool
    def once() -> str:
        gate.wait()
        runs.append("ran")
        return "done"

    with opened(Model(calls(call("once")), "ready"), log=log) as runtime:
        session = runtime.session("s", model=MODEL, tools=[once])
        session.prompt("go")
        gate.await_arrival()
        log.before_commit = full
        gate.open()
        mortal.await_plans(1)  # nobody died, but a retry is planned
        log.before_commit = lambda: None
        mortal.go_on()
        await_rest(session)
        assert texts(session) == ["go", "", "done", "ready"]
        assert runs == ["ran"]
