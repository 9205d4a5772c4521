"""The door lets so many inputs of a session in at once, and answers everybody."""

from __future__ import annotations

from os import urandom
from typing import Any

import pytest

from refold.actors.messages import Accepted, Enter, Offered, Refused
from refold.actors.queues import Queues
from refold.actors.waiters import Waiters
from refold.events.errors import BusyError, ClosedError
from refold.events.fact import Offer
from tests.support.boxes import Box, send
from tests.support.counter import Added

A, B = urandom(16), urandom(16)


class Bench:
    """Queues with three credits, without a thread."""

    def __init__(self) -> None:
        self.loop = Box()
        self.waiters = Waiters()
        self.queues: Any = Queues(loop=self.loop, waiters=self.waiters, credits=3)  # type: ignore[arg-type]

    def enter(self, stream: bytes, number: int) -> tuple[int, Any]:
        token, future = self.waiters.wait()
        offer = Offer(Added(number=number))
        send(self.queues, Enter(stream=stream, token=token, offer=offer))
        return token, future

    def inside(self) -> list[tuple[bytes, int]]:
        return [
            (offered.stream, offered.offers[0].fact.number)  # type: ignore[attr-defined]
            for offered in self.loop.take(Offered)
        ]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_caller_beyond_the_credits_waits_outside(bench: Bench) -> None:
    for number in range(5):
        bench.enter(A, number)
    assert bench.inside() == [(A, 0), (A, 1), (A, 2)]


def test_a_full_door_of_one_session_is_open_for_the_others(bench: Bench) -> None:
    for number in range(5):
        bench.enter(A, number)
    bench.enter(B, 9)
    assert bench.inside()[-1] == (B, 9)


@pytest.mark.parametrize("refused", [False, True], ids=["accepted", "refused"])
def test_an_answer_lets_the_next_caller_in_in_the_order_of_their_coming(
    bench: Bench, refused: bool
) -> None:
    tokens = [bench.enter(A, number)[0] for number in range(6)]
    bench.inside()
    for token in tokens[:2]:
        answer = (
            Refused(stream=A, token=token, error=BusyError("busy"))
            if refused
            else Accepted(stream=A, token=token, version=1)
        )
        send(bench.queues, answer)
    assert bench.inside() == [(A, 3), (A, 4)]


def test_a_caller_hears_the_version_of_its_input(bench: Bench) -> None:
    token, future = bench.enter(A, 1)
    send(bench.queues, Accepted(stream=A, token=token, version=12))
    assert future.result(0) == 12


def test_a_caller_hears_why_its_input_was_refused(bench: Bench) -> None:
    token, future = bench.enter(A, 1)
    send(bench.queues, Refused(stream=A, token=token, error=BusyError("busy with run 1")))
    with pytest.raises(BusyError, match="busy with run 1"):
        future.result(0)


def test_an_answer_to_a_caller_that_waits_no_more_is_nothing(bench: Bench) -> None:
    token, future = bench.enter(A, 1)
    future.cancel()
    send(bench.queues, Accepted(stream=A, token=token, version=1))
    send(bench.queues, Accepted(stream=A, token=token, version=1))
    for number in range(4):
        bench.enter(A, number)
    assert len(bench.inside()) == 4  # one before, three now: no credit was lost or won


def test_all_who_wait_can_be_refused_at_once() -> None:
    waiters = Waiters()
    futures = [waiters.wait()[1] for _ in range(3)]
    waiters.refuse_all(ClosedError("closed"))
    assert [type(future.exception(0)) for future in futures] == [ClosedError] * 3
    assert len({waiters.wait()[0] for _ in range(3)}) == 3
