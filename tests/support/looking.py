"""Looking at sessions: what was said in them, and what their log holds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any, TypeVar

from refold import AssistantMessage, Message, Past, Session, ToolResultMessage, UserMessage
from refold.actors.hub import Published
from tests.support.gates import Gate

T = TypeVar("T")
F = TypeVar("F")

LIMIT = 10.0
"""Seconds after which a call that hangs fails its test."""


def in_time(function: Callable[..., T], *args: Any, limit: float = LIMIT) -> T:
    """What a function returns, or raises; one that takes longer than the limit fails."""
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(function(*args))
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return answer.result(limit)
    except TimeoutError:
        assert answer.done(), f"{function!r} was not over within {limit:g} s"
        raise


def facts(past: Past | Session, kind: type[F]) -> list[F]:
    """The facts of one kind in a session's log, in order."""
    past = past.past if isinstance(past, Session) else past
    return [entry.fact for entry in past.entries() if isinstance(entry.fact, kind)]


def coming(session: Session, kind: type[F], *, behind: int = 0) -> Gate:
    """A gate that opens when a fact of this kind has come into the session's log.

    Args:
        behind: the version from which it counts.
    """
    gate = Gate()

    def look(published: Published | Exception) -> None:
        if isinstance(published, Published) and any(isinstance(f, kind) for f in published.facts):
            gate.open()

    session._engine.hub.watch(session.stream, look)
    for entry in session.past.entries(behind):
        if isinstance(entry.fact, kind):
            gate.open()
    return gate


def user_texts(messages: Iterable[Message]) -> list[str]:
    """What users said, in order."""
    return [each.text for each in messages if isinstance(each, UserMessage)]


def answers(messages: Iterable[Message]) -> list[str]:
    """What the model said, in order."""
    return [each.text for each in messages if isinstance(each, AssistantMessage)]


def tool_results(messages: Iterable[Message]) -> list[ToolResultMessage]:
    """What came of tool calls, in order."""
    return [each for each in messages if isinstance(each, ToolResultMessage)]
