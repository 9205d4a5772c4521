"""A model call that failed for a passing reason is made again: by whom, when, and how often."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import refold
from refold import MessageEnd, MessageStart, ModelError, Reply
from refold.events.agent import facts as marks
from refold.events.agent.state import Phase
from tests.actors.providers.replies import run
from tests.actors.providers.server import HELLO, Answer, Server
from tests.support.gates import Gate
from tests.support.looking import answers, coming, facts, in_time, user_texts
from tests.support.models import MODEL, Model

BUSY = Reply(error_kind="overloaded", error_message="come back later")


def scheduled(session: refold.Session) -> list[tuple[int, int]]:
    """Attempts and delays."""
    return [(each.attempt, each.delay) for each in facts(session, marks.RetryScheduled)]


def test_it_is_made_again_until_it_is_answered() -> None:
    model = Model(BUSY, BUSY, "hello")
    with refold.open(None, providers=[model]) as runtime:
        session = runtime.session("s", model=MODEL, retry_delay=0)
        assert in_time(session.prompt("go").result).text == "hello"
        assert [attempt for attempt, _ in scheduled(session)] == [1, 2]
        assert answers(session.state.messages) == ["hello"]
    assert all(list(each.messages) == list(model.requests[0].messages) for each in model.requests)


def test_the_last_failure_is_told_as_any_other() -> None:
    with refold.open(None, providers=[Model(BUSY, BUSY, BUSY, "hello")]) as runtime:
        session = runtime.session("s", model=MODEL, max_retries=2, retry_delay=0)
        end = in_time(session.prompt("go").result)
        assert (end.stop_reason, end.error_kind) == ("error", "overloaded")
        assert end.error_message == "come back later"
        assert in_time(session.prompt("now?").result).text == "hello"


@pytest.mark.parametrize("kind", ["auth", "invalid_request", "context_overflow", "unknown"])
def test_a_failure_that_will_not_pass_is_told_at_once(kind: Any) -> None:
    model = Model(Reply(error_kind=kind, error_message="no"), "hello")
    with refold.open(None, providers=[model]) as runtime:
        session = runtime.session("s", model=MODEL)
        assert in_time(session.prompt("go").result).error_kind == kind
        assert scheduled(session) == []


def test_a_provider_that_raises_a_model_error_is_tried_again() -> None:
    model = Model(Reply(raises=ModelError("no route", "network")), "hello")
    with refold.open(None, providers=[model]) as runtime:
        session = runtime.session("s", model=MODEL, retry_delay=0)
        assert in_time(session.prompt("go").result).text == "hello"


def test_what_was_shown_of_a_failed_attempt_is_shown_anew() -> None:
    half = Reply("half of it", error_kind="network", error_message="gone")
    with refold.open(None, providers=[Model(half, "all of it")]) as runtime:
        session = runtime.session("s", model=MODEL, retry_delay=0)
        events = in_time(lambda: list(session.prompt("go")))
        starts = [e for e in events if isinstance(e, MessageStart) and e.message.text == ""]
        ends = [e.message.text for e in events if isinstance(e, MessageEnd)]
    assert len(starts) == 2
    assert ends == ["go", "all of it"]


def test_the_provider_says_how_long_to_wait() -> None:
    busy = Reply(error_kind="rate_limit", error_message="slow down", retry_after=0.02)
    with refold.open(None, providers=[Model(busy, "hello")]) as runtime:
        session = runtime.session("s", model=MODEL, retry_delay=60_000)
        assert in_time(session.prompt("go").result).text == "hello"
        assert scheduled(session) == [(1, 20)]


@pytest.mark.parametrize("status", [429, 503, 529])
def test_a_servers_word_on_when_to_come_back_is_kept(status: int) -> None:
    busy = Answer([b"slow down"], status=status, headers={"Retry-After": "0.02"})

    async def talk() -> tuple[str, list[int]]:
        async with Server(busy, HELLO) as server:
            provider = refold.OpenAIChat(base_url=server.url, api_key="key", trust_env=False)
            async with await refold.open_async(None, providers=[provider]) as runtime:
                session = await runtime.session("s", model="openai/m", retry_delay=60_000)
                end = await (await session.prompt("go")).result()
                return end.text, [f.delay for f in facts(session.past, marks.RetryScheduled)]

    assert run(talk()) == ("Hello", [20])


class TestAcrossAReopening:
    """Attempts are facts, so they are counted across restarts."""

    def test_the_attempts_of_both_lives_are_counted_together(self, tmp_path: Path) -> None:
        gate = Gate()
        stuck = Reply("never", gates={"open": gate})
        settings = {"model": MODEL, "max_retries": 3, "retry_delay": 0}
        runtime = refold.open(tmp_path / "log", providers=[Model(BUSY, stuck)])
        runtime.session("s", **settings).prompt("go")
        gate.await_arrival()
        runtime.close()
        again = Model(BUSY, BUSY, BUSY, "one too many")
        with refold.open(tmp_path / "log", providers=[again]) as runtime:
            session = runtime.session("s", **settings)
            in_time(session.wait)
            assert [attempt for attempt, _ in scheduled(session)] == [1, 2, 3]
            assert len(again.requests) == 3
            assert session.state.error_message == "come back later"

    def test_a_wait_that_was_cut_off_is_waited_again(self, tmp_path: Path) -> None:
        settings = {"model": MODEL, "retry_delay": 60_000}
        runtime = refold.open(tmp_path / "log", providers=[Model(BUSY)])
        session = runtime.session("s", **settings)
        session.prompt("go")
        assert coming(session, marks.RetryScheduled).wait()
        runtime.close()
        again = Model("not yet")
        with refold.open(tmp_path / "log", providers=[again]) as runtime:
            session = runtime.session("s")
            assert session.machine.phase is Phase.RETRY
            assert again.requests == []
            session.abort()
            in_time(session.wait)
            assert scheduled(session) == [(1, 60_000)]
            assert user_texts(session.state.messages) == ["go"]

    def test_a_wait_that_was_cut_off_goes_on_to_the_answer(self, tmp_path: Path) -> None:
        busy = Reply(error_kind="rate_limit", error_message="slow down", retry_after=0.3)
        runtime = refold.open(tmp_path / "log", providers=[Model(busy)])
        session = runtime.session("s", model=MODEL)
        session.prompt("go")
        assert coming(session, marks.RetryScheduled).wait()
        runtime.close()
        with refold.open(tmp_path / "log", providers=[Model("hello")]) as runtime:
            session = runtime.session("s")
            in_time(session.wait)
            assert answers(session.state.messages) == ["hello"]
            assert scheduled(session) == [(1, 300)]
