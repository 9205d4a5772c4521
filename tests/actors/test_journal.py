"""The Journal commits what waits together, and tells everybody what became of it."""

from __future__ import annotations

from os import urandom
from typing import Any

import pytest

from refold.actors.hub import Hub, Published
from refold.actors.journal import Journal
from refold.actors.messages import Claim, Claimed, NotRevived, NotWritten, Write, Written
from refold.events.errors import BugError, ConflictError, FencedError, LogAccessError
from tests.support.boxes import Box, send
from tests.support.counter import COUNTER, Added
from tests.support.logs import WatchedLog

A, B, C = (urandom(16) for _ in range(3))


class Bench:
    """A Journal without a thread, its log, and the boxes of those it answers."""

    def __init__(self) -> None:
        self.log = WatchedLog()
        self.hub = Hub()
        self.loop, self.reader = Box(), Box()
        self.time = 0
        self.journal = self.new_journal()

    def new_journal(self) -> Any:
        return Journal(
            log=self.log,
            owner="test",
            loop=self.loop,  # type: ignore[arg-type]
            reader=self.reader,  # type: ignore[arg-type]
            hub=self.hub,
            clock=lambda: self.time,
        )

    def numbers(self, stream: bytes) -> list[int]:
        decode = COUNTER.codec.decode
        return [decode(read.event).number for read in self.log.read(stream)]  # type: ignore[attr-defined]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def write(stream: bytes, expected: int, *numbers: int, epoch: int | None = None) -> Write:
    facts = tuple(Added(number=number) for number in numbers)
    return Write(
        stream=stream,
        expected=expected,
        events=tuple(COUNTER.codec.encode(fact) for fact in facts),
        epoch=epoch,
        cause="test",
        facts=facts,
        states=(0,) * (len(facts) + 1),
    )


def test_all_appends_that_wait_are_one_commit(bench: Bench) -> None:
    streams = [urandom(16) for _ in range(50)]
    send(bench.journal, *(write(stream, 0, 1) for stream in streams))
    assert bench.log.commits == [50]
    assert {answer.stream for answer in bench.loop.take(Written)} == set(streams)


def test_an_append_behind_which_nothing_waits_is_committed_at_once(bench: Bench) -> None:
    for number in range(3):
        send(bench.journal, write(A, number, number))
    assert bench.log.commits == [1, 1, 1]


def test_appends_of_one_batch_have_one_time(bench: Bench) -> None:
    bench.time = 7
    send(bench.journal, write(A, 0, 1), write(B, 0, 1))
    assert {read.time for stream in (A, B) for read in bench.log.read(stream)} == {7}


def test_a_conflict_leaves_the_others_of_its_batch_as_they_are(bench: Bench) -> None:
    send(bench.journal, write(A, 0, 1), write(B, 5, 2), write(C, 0, 3))
    assert (bench.numbers(A), bench.numbers(B), bench.numbers(C)) == ([1], [], [3])
    refused = [answer for answer in bench.loop.messages if isinstance(answer, NotWritten)]
    assert [(answer.stream, type(answer.error)) for answer in refused] == [(B, ConflictError)]
    assert {answer.stream for answer in bench.loop.take(Written)} == {A, C}


def test_nobody_hears_of_an_append_before_it_is_durable(bench: Bench) -> None:
    heard: list[Any] = []
    bench.hub.watch(A, heard.append)
    bench.log.before_commit = lambda: heard.extend(bench.loop.messages)
    send(bench.journal, write(A, 0, 1), write(B, 0, 1))
    assert [type(item) for item in heard] == [Published]
    assert len(bench.loop.take(Written)) == 2


def test_watchers_get_the_facts_with_their_versions_and_states(bench: Bench) -> None:
    heard: list[Any] = []
    bench.hub.watch(A, heard.append)
    bench.time = 9
    send(bench.journal, write(A, 0, 1, 2), write(B, 0, 5), write(A, 2, 3))
    one, two, three = (Added(number=number) for number in (1, 2, 3))
    assert heard == [
        Published(A, 1, 9, (one, two), (0, 0, 0)),
        Published(A, 3, 9, (three,), (0, 0)),
    ]


def test_a_commit_that_fails_refuses_all_of_its_batch_and_leaves_nothing(bench: Bench) -> None:
    bench.log.before_commit = _full
    send(bench.journal, write(A, 0, 1), write(B, 0, 2), Claim(stream=C))
    assert {answer.stream for answer in bench.loop.take(NotWritten)} == {A, B}
    assert [answer.stream for answer in bench.reader.take(NotRevived)] == [C]
    assert bench.log.head(A) is None
    assert bench.log.head(C) is None


def test_the_batch_after_one_that_failed_is_written(bench: Bench) -> None:
    bench.log.before_commit = _full
    send(bench.journal, write(A, 0, 1))
    bench.log.before_commit = lambda: None
    bench.loop.messages.clear()
    send(bench.journal, write(A, 0, 1))
    assert bench.loop.take(Written) == [Written(stream=A, version=1)]


def _full() -> None:
    raise LogAccessError("no room")


def test_a_claim_is_answered_with_its_epoch_once_it_is_durable(bench: Bench) -> None:
    send(bench.journal, Claim(stream=A))
    send(bench.journal, Claim(stream=A))
    assert bench.reader.take(Claimed) == [Claimed(stream=A, epoch=1), Claimed(stream=A, epoch=2)]
    head = bench.log.head(A)
    assert head is not None
    assert head.owner == "test"


def test_an_append_under_an_older_claim_is_fenced(bench: Bench) -> None:
    send(bench.journal, Claim(stream=A), Claim(stream=A))
    send(bench.journal, write(A, 0, 1, epoch=1))
    (refused,) = bench.loop.take(NotWritten)
    assert isinstance(refused.error, FencedError)


def test_what_was_appended_before_a_claim_is_answered_before_it(bench: Bench) -> None:
    # Else the session could be hosted anew while an old answer is still on its way.
    both = Box()
    bench.loop = bench.reader = both
    bench.journal = bench.new_journal()
    send(bench.journal, write(A, 0, 1), Claim(stream=A))
    assert [type(answer) for answer in both.messages] == [Written, Claimed]


def test_a_journal_that_stops_commits_what_was_put_before(bench: Bench) -> None:
    bench.journal.handle(write(A, 0, 1))
    bench.journal.on_stop()
    assert bench.numbers(A) == [1]


@pytest.mark.parametrize("dies_at", ["append", "commit"])
def test_a_journal_that_dies_in_a_batch_leaves_nothing_of_it_and_tells_everybody(
    bench: Bench, dies_at: str
) -> None:
    calls = iter(range(9))

    def die() -> None:
        if dies_at == "commit" or next(calls) == 1:
            raise MemoryError

    setattr(bench.log, f"before_{dies_at}", die)
    with pytest.raises(MemoryError) as died:
        send(bench.journal, Claim(stream=C), write(A, 0, 1), write(B, 0, 2))
    bench.journal.abandon(write(B, 0, 2) if dies_at == "append" else None, died.value)

    answers = bench.loop.take(NotWritten)
    assert {answer.stream for answer in answers} == {A, B}
    assert {type(answer.error) for answer in answers} == {BugError}
    assert [answer.stream for answer in bench.reader.take(NotRevived)] == [C]
    bench.log.before_append = bench.log.before_commit = lambda: None
    send(bench.new_journal(), write(A, 0, 7))
    assert bench.numbers(A) == [7]
