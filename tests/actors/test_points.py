"""Points in a session's past: one grammar, and an error that names what there is."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from refold import InvalidPointError, Session
from refold.actors.point import version_at
from refold.events.record import EventData, Recorded
from tests.support.models import MODEL, Model, call, calls
from tests.support.sessions import opened, within

START = datetime(2026, 11, 30, 10, 15, tzinfo=UTC)
TYPES = ["created", "prompted", "model_called", "turn_end", "model_called", "turn_end"]


def events() -> Iterator[Recorded]:
    """One event a second."""
    for number, kind in enumerate(TYPES):
        time = int(START.timestamp() * 1000) + 1000 * number
        yield Recorded(bytes(16), number + 1, time, number + 1, EventData(kind, 1, True, b""))


def at(point: int | str) -> int:
    return version_at(point, len(TYPES), events)


@pytest.mark.parametrize(
    ("point", "version"),
    [
        (0, 0),
        (3, 3),
        ("3", 3),
        ("+3", 3),
        (" 3 ", 3),
        (6, 6),
        (-1, 5),
        ("-6", 0),
        ("end", 6),
        ("turn:1", 4),
        ("turn:2", 6),
        ("call:1", 3),
        ("call:2", 5),
        ("2026-11-30T10:15:00+00:00", 1),
        ("2026-11-30T10:15:02.500+00:00", 3),
        ("2026-11-30T11:15:03+01:00", 4),
        ("2027-01-01T00:00:00Z", 6),
    ],
)
def test_a_point_names_a_version(point: int | str, version: int) -> None:
    assert at(point) == version


def test_a_time_without_a_zone_is_local() -> None:
    local = START.astimezone().replace(tzinfo=None)
    assert at(local.isoformat()) == 1


@pytest.mark.parametrize(
    ("point", "told"),
    [
        (7, "there is no event 7: the session has 0 to 6"),
        (-7, "there is no event -7: the session has 0 to 6"),
        ("turn:3", "there is no turn 3: the session has 1 to 2"),
        ("turn:0", "there is no turn 0: the session has 1 to 2"),
        ("call:3", "there is no call 3: the session has 1 to 2"),
        ("yesterday", "'yesterday' is no point: give a version"),
        ("turn:", "'turn:' is no point"),
        ("", "'' is no point"),
        ("2020-01-01T00:00:00Z", "before the session began"),
    ],
)
def test_a_point_that_does_not_exist_is_refused_with_what_there_is(
    point: int | str, told: str
) -> None:
    with pytest.raises(InvalidPointError, match=told):
        at(point)


# Looking


@pytest.fixture
def session() -> Iterator[Session]:
    """A session of two runs, with a tool that does not exist."""
    model = Model(calls(call("nobody")), "hello", "there")
    with opened(model) as runtime:
        session = runtime.session("s", model=MODEL)
        within(session.prompt("hi").result)
        within(session.prompt("again").result)
        yield session


def test_the_state_at_the_end_is_the_state_now(session: Session) -> None:
    assert session.at("end") == session.at() == session.state


def test_the_state_before_everything_is_empty(session: Session) -> None:
    state = session.at(0)
    assert (state.version, len(state.messages), state.model) == (0, 0, "")


def test_the_state_at_a_turn_holds_what_was_said_until_then(session: Session) -> None:
    counts = [len(session.at(f"turn:{number}").messages) for number in (1, 2, 3)]
    assert counts == [3, 4, 6]


def test_looking_writes_nothing(session: Session) -> None:
    log = session.past._log
    end, head = log.end(), log.head(session.stream)
    for version in range(session.past.version + 1):
        session.at(version)
    session.context(call=1)
    list(session.past.entries())
    list(session.past.lifecycle())
    session.past.reexecute()
    assert (log.end(), log.head(session.stream)) == (end, head)


def test_the_context_of_a_call_is_what_was_sent(session: Session) -> None:
    sent = session._engine.catalog._providers[0].requests  # type: ignore[attr-defined]
    for number, request in enumerate(sent, 1):
        past = session.context(call=number)
        assert tuple(past.messages) == request.messages
        assert (past.call, past.model, past.tools) == (number, request.model, request.tools)
    assert session.context().call == session.context(call=-1).call == len(sent)


@pytest.mark.parametrize("call", [0, 4, -4])
def test_a_call_that_was_not_made_is_refused(session: Session, call: int) -> None:
    with pytest.raises(InvalidPointError, match="the session has 1 to 3"):
        session.context(call=call)


def test_a_session_that_called_no_model_says_so() -> None:
    with opened(Model()) as runtime:
        session = runtime.session("s", model=MODEL)
        with pytest.raises(InvalidPointError, match="called no model yet"):
            session.context()


def test_the_lifecycle_of_the_past_is_what_was_seen_live() -> None:
    with opened(Model("hello")) as runtime:
        session = runtime.session("s", model=MODEL)
        live = within(lambda: list(session.prompt("hi")))
        past = list(session.past.lifecycle())
        assert [type(event) for event in past] == [type(event) for event in live]
        assert [event.version for event in past] == [event.version for event in live]
