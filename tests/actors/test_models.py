"""What a model's provider does wrong is the failure of its call, and of nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from refold import (
    AbortSignal,
    Began,
    Finish,
    MessageUpdate,
    ModelError,
    Piece,
    Reply,
    Request,
)
from refold.actors.providers.provider import StreamEvent
from tests.support.gates import Gate
from tests.support.models import MODEL, Model
from tests.support.sessions import opened, within


class Odd:
    """A provider whose first call goes as it is told, and whose others are answered."""

    name = "test"

    def __init__(self, *events: StreamEvent | BaseException) -> None:
        self._events = list(events)

    def check(self, model: str) -> None:
        """Any model is there."""

    async def stream(self, request: Request, signal: AbortSignal) -> AsyncIterator[StreamEvent]:
        """Say what is to be said."""
        if request.call > 1:
            yield Finish(stop_reason="stop")
            return
        for event in self._events:
            if isinstance(event, BaseException):
                raise event
            yield event

    async def close(self) -> None:
        """There is nothing to give back."""


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RuntimeError("broken"), "broken"),
        (ModelError("no such key", "auth"), "no such key"),
        (SystemExit("bye"), "SystemExit: bye"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (RuntimeError("lone \ud800"), "lone \ufffd"),
    ],
)
@pytest.mark.parametrize("begun", [False, True])
def test_what_a_provider_raises_ends_the_run_with_its_words(
    error: BaseException, told: str, begun: bool
) -> None:
    events = [Began(), Piece("text_start", 0), Piece("text_delta", 0, "so far")] if begun else []
    with opened(Odd(*events, error)) as runtime:
        session = runtime.session("s", model=MODEL, max_retries=0)
        reply = within(session.prompt("hi").result)
        assert (reply.stop_reason, reply.error_message) == ("error", told)
        assert within(session.prompt("again").result).stop_reason == "stop"


def test_a_provider_that_ends_without_a_word_has_failed() -> None:
    with opened(Odd()) as runtime:
        session = runtime.session("s", model=MODEL)
        reply = within(session.prompt("hi").result)
        assert reply.error_message == "the provider of test/model ended without a word"
        assert reply.error_kind == "protocol"


@pytest.mark.parametrize(
    "pieces",
    [
        [Piece("text_delta", 0, "without a start")],
        [Piece("text_start", 0), Piece("text_delta", 1, "of another block")],
        [Piece("text_end", 0)],
    ],
    ids=["no start", "another block", "only an end"],
)
def test_pieces_that_do_not_belong_together_leave_a_past_that_can_be_read(
    pieces: list[Piece],
) -> None:
    with opened(Odd(Began(), *pieces, Finish(stop_reason="stop"))) as runtime:
        session = runtime.session("s", model=MODEL)
        reply = within(session.prompt("hi").result)
        assert reply.error_kind == "protocol"
        for version in range(session.past.version + 1):
            session.at(version)
        assert within(session.prompt("again").result).stop_reason == "stop"


def test_what_comes_behind_the_end_of_a_reply_is_not_asked_for() -> None:
    late = RuntimeError("asked for more")
    with opened(Odd(Finish(stop_reason="stop"), late)) as runtime:
        session = runtime.session("s", model=MODEL)
        assert within(session.prompt("hi").result).stop_reason == "stop"


def test_pieces_that_come_while_an_append_is_in_flight_are_merged() -> None:
    gate = Gate()
    model = Model(Reply("abcdef", chunks=1, gates={"close": gate}))
    with opened(model, delta_interval=3600.0) as runtime:
        session = runtime.session("s", model=MODEL)
        run = session.prompt("hi")
        gate.await_arrival()
        gate.open()
        assert within(run.result).text == "abcdef"
        deltas = [entry for entry in session.past.entries() if entry.type == "model_delta"]
        assert len(deltas) == 1


def test_without_an_interval_each_piece_is_shown_by_itself() -> None:
    with opened(Model(Reply("abcdef", chunks=1))) as runtime:
        session = runtime.session("s", model=MODEL)
        events = within(lambda: list(session.prompt("hi")))
        deltas = [event.delta for event in events if isinstance(event, MessageUpdate)]
        assert deltas == ["", "a", "b", "c", "d", "e", "f", ""]
