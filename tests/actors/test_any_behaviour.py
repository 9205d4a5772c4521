"""Journal, Loop, Reader and Queues know nothing of agents: a counter of ten lines gets the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from os import urandom

import pytest

from refold.actors.engine import Engine
from refold.events.errors import InvalidArgumentError
from refold.events.fact import Fact, Offer
from refold.events.fold import fold
from refold.store import MemoryLog
from refold.store.log import Log
from tests.support.counter import COUNTER, Added, Rounded, Woken
from tests.support.gates import PATIENCE

STREAM = urandom(16)


@pytest.fixture
def engine_over() -> Iterator[Callable[[Log], Engine]]:
    """Makes engines that host the stream as a counter; they are closed at the end."""
    made: list[Engine] = []

    def make(log: Log) -> Engine:
        engine = Engine(log)
        engine.behave(STREAM, COUNTER)
        made.append(engine)
        return engine

    yield make
    for engine in made:
        engine.close()


def add(engine: Engine, number: int) -> int:
    return engine.enter(STREAM, Offer(Added(number=number))).result(PATIENCE)


def facts_in(log: Log) -> list[Fact]:
    return [COUNTER.codec.decode(recorded.event) for recorded in log.read(STREAM)]


def test_an_input_is_durable_when_its_caller_has_its_version(engine_over) -> None:
    log = MemoryLog()
    assert add(engine_over(log), 3) == 1
    assert facts_in(log) == [Added(number=3)]


def test_what_a_machine_does_by_itself_is_in_the_append_of_the_input(engine_over) -> None:
    log = MemoryLog()
    engine = engine_over(log)
    add(engine, 12)
    assert facts_in(log) == [Added(number=12), Rounded()]
    assert {recorded.record for recorded in log.read(STREAM)} == {1}
    assert engine.hub.latest(STREAM) == 10


def test_a_refusal_reaches_the_caller_and_writes_nothing(engine_over) -> None:
    log = MemoryLog()
    with pytest.raises(InvalidArgumentError, match="-1 is below zero"):
        add(engine_over(log), -1)
    assert facts_in(log) == []


def test_an_input_that_needs_no_fact_has_version_zero(engine_over) -> None:
    log = MemoryLog()
    assert add(engine_over(log), 0) == 0
    assert facts_in(log) == []


def test_a_new_process_goes_on_from_the_folded_state(engine_over) -> None:
    before = MemoryLog()
    add(engine_over(before), 7)
    after = before.crash()
    engine = engine_over(after)
    assert add(engine, 4) == 3
    assert facts_in(after) == [Added(number=7), Woken(), Added(number=4), Rounded()]
    assert engine.hub.latest(STREAM) == 10


def test_an_unfinished_decision_is_finished_by_the_new_process(engine_over) -> None:
    # No append is cut in a log, but a machine may have had its next step before it at the end.
    log = MemoryLog()
    log.append(STREAM, 0, [COUNTER.codec.encode(Added(number=12))], time=0)
    engine = engine_over(log)
    add(engine, 5)
    assert facts_in(log) == [
        Added(number=12),
        Woken(),
        Rounded(),
        Added(number=5),
        Rounded(),
    ]


def test_a_foreign_append_is_folded_and_what_waits_is_decided_again(engine_over) -> None:
    log = MemoryLog()
    engine = engine_over(log)
    add(engine, 3)
    log.append(STREAM, 1, [COUNTER.codec.encode(Added(number=4))], time=0)
    assert add(engine, 2) == 3
    assert facts_in(log) == [Added(number=3), Added(number=4), Added(number=2)]
    assert engine.hub.latest(STREAM) == fold(COUNTER, facts_in(log)) == 9
