"""How a session's appends are driven: one at a time, decided again on a conflict, few of them."""

from __future__ import annotations

import pytest

from refold import (
    BusyError,
    FencedError,
    LifecycleEvent,
    Reply,
    ToolExecutionEnd,
    tool,
)
from refold.actors.door import as_messages, queued
from refold.actors.loop import Loop
from refold.actors.messages import Offered
from refold.events.agent import inputs
from refold.events.agent.agent import CODEC
from refold.events.agent.bodies import encode
from refold.events.agent.heads import Shape
from refold.events.agent.messages import Text, UserMessage
from refold.events.fact import Offer
from refold.events.record import EventData
from refold.store import ANY, MemoryLog
from tests.support.gates import PATIENCE, Gate, Turnstile
from tests.support.logs import WatchedLog
from tests.support.models import MODEL, Model, call, calls
from tests.support.sessions import await_rest, background, engine_of, opened, within


def offered_by_others(text: str) -> EventData:
    """A steering message, as another process would append it."""
    shape = Shape(role="user", size=len(text))
    body = encode((UserMessage(content=(Text(text),)),))
    return CODEC.encode(inputs.Queued(queue="steering", shapes=(shape,)), body)


@pytest.fixture
def offers(monkeypatch: pytest.MonkeyPatch) -> Turnstile:
    """Counts what reaches the Loop from anybody."""
    turnstile = Turnstile()
    handle = Loop.handle

    def counted(loop: Loop, message: object) -> None:
        handle(loop, message)  # type: ignore[arg-type]
        if isinstance(message, Offered):
            turnstile.arrive()

    monkeypatch.setattr(Loop, "handle", counted)
    return turnstile


# One append in flight


def test_inputs_that_come_while_an_append_is_in_flight_go_in_together(
    offers: Turnstile,
) -> None:
    log, gate = WatchedLog(), Gate()
    with opened(Model("hello"), log=log) as runtime:
        session = runtime.session("s", model=MODEL, idle_queue="hold")
        log.commits.clear()
        log.before_commit = gate.wait
        known = offers.count
        with background(session.steer, "0") as first:
            gate.await_arrival()
            waiting = [engine_of(runtime).enter(session.stream, _queued(str(n))) for n in (1, 2, 3)]
            offers.await_count(known + 4)
            assert not first.done()
            gate.open()
            versions = [future.result(PATIENCE) for future in (first, *waiting)]
        assert log.commits == [1, 1]
        records = [read.record for read in log.read(session.stream) if read.version in versions]
        assert [record - records[0] for record in records] == [0, 1, 1, 1]


def _queued(text: str) -> Offer:
    return queued(b"", "steering", as_messages(text, (), 0))


def test_a_turn_with_a_tool_takes_two_commits() -> None:
    log = WatchedLog()

    @tool
    def look() -> str:
        """Look."""
        return "seen"

    reply = calls(call("look"), streamed=False)
    with opened(Model(reply, Reply("hello", streamed=False)), log=log) as runtime:
        session = runtime.session("s", model=MODEL, tools=[look])
        log.commits.clear()
        within(session.prompt("hi").result)
        # Prompt and call, reply and tool, result and call, reply: two barriers a turn.
        assert log.commits == [1, 1, 1, 1]


def test_sixteen_parallel_tools_take_three_commits(offers: Turnstile) -> None:
    log, gate, together = WatchedLog(), Gate(), Turnstile()

    @tool
    def work(n: int) -> str:
        """Work."""
        together.arrive()
        gate.wait()
        return str(n)

    batch = [call("work", n=n) for n in range(16)]
    model = Model(calls(*batch, streamed=False), Reply("ready", streamed=False))
    with opened(model, log=log) as runtime:
        session = runtime.session("s", model=MODEL, tools=[work])
        run = session.prompt("go")
        together.await_count(16)
        log.commits.clear()
        known = offers.count
        log.before_commit = lambda: offers.await_count(known + 16)
        gate.open()
        within(run.result)
        # The first result, the fifteen others with the next call, and the reply to it.
        assert log.commits == [1, 1, 1]
        assert len(session.state.messages) == 1 + 1 + 16 + 1


# Conflicts


def test_a_foreign_append_is_folded_and_the_inputs_are_decided_again() -> None:
    log, gate = MemoryLog(), Gate()
    model = Model(Reply("hello", gates={"close": gate}), "as you wish")
    with opened(model, log=log) as runtime:
        session = runtime.session("s", model=MODEL)
        session.prompt("hi")
        gate.await_arrival()
        log.append(session.stream, ANY, [offered_by_others("be brief")], time=0)
        gate.open()
        await_rest(session)
        assert [message.text for message in session.state.messages] == [
            "hi",
            "hello",
            "be brief",
            "as you wish",
        ]


def test_a_foreign_abort_reaches_what_is_under_way(offers: Turnstile) -> None:
    log, gate = MemoryLog(), Gate()
    model = Model(Reply(["hello ", "world"], gates={"b1.start": gate}))
    with opened(model, log=log) as runtime:
        session = runtime.session("s", model=MODEL)
        run = session.prompt("hi")
        gate.await_arrival()
        log.append(session.stream, ANY, [CODEC.encode(inputs.AbortRequested())], time=0)
        # Nobody looks at a log for what others append, until the next append meets it.
        session.follow_up("later")
        assert within(run.result).stop_reason == "aborted"


def test_a_foreign_message_to_a_resting_session_starts_its_run_at_the_next_append() -> None:
    log = MemoryLog()
    with opened(Model("hello", "there"), log=log) as runtime:
        session = runtime.session("s", model=MODEL)
        log.append(session.stream, ANY, [offered_by_others("anybody?")], time=0)
        session.follow_up("me too")
        await_rest(session)
        texts = [message.text for message in session.state.messages]
        assert texts == ["anybody?", "hello", "me too", "there"]


def test_a_prompt_that_meets_a_run_started_by_others_is_refused() -> None:
    log = MemoryLog()
    with opened(Model("hello", "there"), log=log) as runtime:
        session = runtime.session("s", model=MODEL)
        log.append(session.stream, ANY, [offered_by_others("anybody?")], time=0)
        with pytest.raises(BusyError, match="busy with run 1"):
            within(session.prompt, "hi")
        await_rest(session)


def test_watchers_see_what_others_appended() -> None:
    log = MemoryLog()
    with opened(Model("hello"), log=log) as runtime:
        session = runtime.session("s", model=MODEL)
        watch = session.watch(after="end")
        log.append(session.stream, ANY, [offered_by_others("anybody?")], time=0)
        session.set(thinking_level="high")
        texts = within(lambda: [next(e for e in watch if hasattr(e, "message")).message.text])
        assert texts == ["anybody?"]
        await_rest(session)


# Fencing


def test_a_session_claimed_by_another_process_is_let_go_and_its_callers_are_told() -> None:
    log = MemoryLog()
    with opened(Model("hello"), log=log) as runtime:
        session = runtime.session("s", model=MODEL)
        log.claim(session.stream, "somebody else")
        with pytest.raises(FencedError, match="somebody else"):
            within(session.prompt, "hi")


# Outcomes that come too late


def test_what_a_dropped_tool_still_returns_is_not_recorded() -> None:
    gate, ended = Gate(), Gate()

    @tool
    def slow() -> str:
        """Work on, whatever happens."""
        gate.wait()
        ended.open()
        return "too late"

    @tool
    def quick() -> str:
        """Work."""
        gate.await_arrival()
        return "done"

    with opened(Model(calls(call("slow"), call("quick")), "hello")) as runtime:
        session = runtime.session("s", model=MODEL, tools=[slow, quick])

        def fail(event: LifecycleEvent) -> None:
            if isinstance(event, ToolExecutionEnd):
                raise RuntimeError("no more")

        end = session.listen(fail)
        assert within(session.prompt("go").result).error_message == "no more"
        end()
        version = session.past.version
        gate.open()
        assert ended.wait()
        assert within(session.prompt("again").result).text == "hello"
        assert next(session.past.entries(after=version)).type == "prompted"
