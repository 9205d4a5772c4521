"""What every log must do: one suite, run by each of them through a subclass."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import pytest

from refold.events.errors import (
    BugError,
    ClosedError,
    ConflictError,
    CorruptError,
    FencedError,
    InvalidArgumentError,
    InvalidPointError,
)
from refold.events.record import INLINE_LIMIT, NO_HASH, EventData, blob_digest
from refold.store import ANY, START, Batch, Cursor, Head, Log
from refold.store.tables import PAGE_RECORDS
from tests.store.making import erased, event, events, named, numbers, uid

NOW = 1_700_000_000_000


class LogContract:
    """Subclasses say how a log is made: they override the fixture `log`."""

    @pytest.fixture
    def log(self) -> Iterator[Log]:
        raise NotImplementedError

    # Appending

    def test_an_append_moves_the_version_by_its_events(self, log: Log) -> None:
        stream = uid()
        assert log.append(stream, 0, events(1, 2, 3), time=NOW).version == 3
        assert log.append(stream, 3, events(4), time=NOW).version == 4
        assert numbers(log.read(stream)) == [1, 2, 3, 4]

    def test_what_was_appended_is_read_back_as_it_was(self, log: Log) -> None:
        stream = uid()
        written = EventData("turn_start", 7, False, b"\x81\xa1x\x01", b"hello")
        log.append(stream, 0, [event(), written], time=NOW, cause="test")
        _, read = log.read(stream)
        assert (read.stream, read.version, read.time, read.record) == (stream, 2, NOW, 1)
        assert read.event == EventData("turn_start", 7, False, b"\x81\xa1x\x01", b"hello", True)

    def test_records_of_a_stream_are_numbered_from_one(self, log: Log) -> None:
        stream = uid()
        log.append(stream, 0, events(1, 2), time=NOW)
        log.append(stream, 2, events(3), time=NOW)
        assert [read.record for read in log.read(stream)] == [1, 1, 2]

    def test_a_conflict_names_the_actual_version_and_writes_nothing(self, log: Log) -> None:
        stream = uid()
        log.append(stream, 0, events(1, 2), time=NOW)
        for expected in (0, 1, 3):
            with pytest.raises(ConflictError, match="version 2, not") as conflict:
                log.append(stream, expected, events(9), time=NOW)
            assert conflict.value.actual == 2
        assert numbers(log.read(stream)) == [1, 2]

    def test_a_new_stream_is_at_version_zero(self, log: Log) -> None:
        with pytest.raises(ConflictError) as conflict:
            log.append(uid(), 1, events(1), time=NOW)
        assert conflict.value.actual == 0

    def test_any_appends_wherever_the_stream_is(self, log: Log) -> None:
        stream = uid()
        assert log.append(stream, ANY, events(1, 2), time=NOW).version == 2
        assert log.append(stream, ANY, events(3), time=NOW).version == 3

    def test_an_append_without_events_is_refused(self, log: Log) -> None:
        with pytest.raises(InvalidArgumentError, match="no events"):
            log.append(uid(), 0, [], time=NOW)

    @pytest.mark.parametrize("stream", [b"", b"short", bytes(17)])
    def test_a_stream_is_named_by_16_bytes(self, log: Log, stream: bytes) -> None:
        with pytest.raises(InvalidArgumentError, match="16 bytes"):
            log.append(stream, 0, events(1), time=NOW)
        with pytest.raises(InvalidArgumentError, match="16 bytes"):
            log.claim(stream, "me")

    # Heads, claims and epochs

    def test_a_head_tells_where_a_stream_ends(self, log: Log) -> None:
        stream = uid()
        assert log.head(stream) is None
        log.append(stream, 0, events(1, 2), time=NOW)
        first = log.head(stream)
        log.append(stream, 2, events(3), time=NOW)
        second = log.head(stream)
        assert first is not None
        assert second is not None
        assert (first.version, first.record, first.epoch) == (2, 1, 0)
        assert (second.version, second.record, second.epoch) == (3, 2, 0)
        assert first.hash != second.hash

    def test_claims_count_epochs_from_one_and_name_the_owner(self, log: Log) -> None:
        stream = uid()
        assert log.claim(stream, "first") == 1
        assert log.head(stream) == Head(0, 0, NO_HASH, 1, "first")
        assert log.claim(stream, "second") == 2
        assert log.append(stream, 0, events(1), time=NOW, epoch=2).version == 1
        head = log.head(stream)
        assert head is not None
        assert (head.version, head.epoch, head.owner) == (1, 2, "second")

    def test_an_older_epoch_is_fenced_even_where_the_version_fits(self, log: Log) -> None:
        stream = uid()
        old = log.claim(stream, "old")
        log.append(stream, 0, events(1), time=NOW, epoch=old)
        new = log.claim(stream, "new")
        with pytest.raises(FencedError, match="new"):
            log.append(stream, 1, events(2), time=NOW, epoch=old)
        log.append(stream, 1, events(3), time=NOW, epoch=new)
        assert numbers(log.read(stream)) == [1, 3]

    def test_an_epoch_that_was_never_given_out_is_refused(self, log: Log) -> None:
        with pytest.raises(InvalidArgumentError, match="claim"):
            log.append(uid(), 0, events(1), time=NOW, epoch=1)

    def test_who_drives_nothing_may_offer_to_a_claimed_stream(self, log: Log) -> None:
        stream = uid()
        epoch = log.claim(stream, "driver")
        log.append(stream, 0, events(1), time=NOW, epoch=epoch)
        log.append(stream, ANY, events(2), time=NOW)
        with pytest.raises(ConflictError) as conflict:
            log.append(stream, 1, events(3), time=NOW, epoch=epoch)
        assert conflict.value.actual == 2

    # Batches

    def test_a_batch_is_seen_as_a_whole_when_it_commits(self, log: Log) -> None:
        one, two = uid(), uid()
        with log.batch() as batch:
            assert batch.append(one, 0, events(1), time=NOW).version == 1
            assert batch.append(one, 1, events(2), time=NOW).version == 2
            batch.append(two, 0, [named("two")], time=NOW)
            assert log.head(one) is None
            assert log.find("two") is None
            assert list(log.read_all()) == []
        assert numbers(log.read(one)) == [1, 2]
        assert log.find("two") == two

    def test_a_refused_append_leaves_the_others_of_its_batch(self, log: Log) -> None:
        one, two = uid(), uid()
        with log.batch() as batch:
            batch.append(one, 0, events(1), time=NOW)
            with pytest.raises(ConflictError):
                batch.append(one, 0, [event(9, b"x" * 5000)], time=NOW)
            with pytest.raises(InvalidArgumentError):
                batch.append(two, 0, [], time=NOW)
            batch.append(two, 0, events(2), time=NOW)
        assert numbers(log.read(one)) == [1]
        assert numbers(log.read(two)) == [2]
        assert [len(found) for _, found in log.read_all()] == [1, 1]

    def test_an_aborted_batch_leaves_nothing(self, log: Log) -> None:
        stream = uid()
        blob = b"picture"
        digest = blob_digest(log.key, blob)
        batch = log.batch()
        batch.append(stream, 0, [named("gone"), event(1, b"x" * 5000)], time=NOW)
        batch.append(uid(), 0, events(1), time=NOW, blobs=[(digest, blob)])
        batch.claim(stream, "me")
        batch.abort()
        assert log.head(stream) is None
        assert log.find("gone") is None
        assert log.end() == START
        with pytest.raises(CorruptError):
            log.blob(digest)

    def test_a_block_that_raises_aborts_its_batch(self, log: Log) -> None:
        stream = uid()

        def block() -> None:
            with log.batch() as batch:
                batch.append(stream, 0, events(1), time=NOW)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            block()
        assert log.head(stream) is None
        assert log.append(stream, 0, events(2), time=NOW).version == 1

    def test_positions_of_an_aborted_batch_are_used_again(self, log: Log) -> None:
        batch = log.batch()
        batch.append(uid(), 0, events(1), time=NOW)
        batch.abort()
        done = log.append(uid(), 0, events(1), time=NOW)
        assert [cursor for cursor, _ in log.read_all()] == [done.cursor]

    def test_an_empty_batch_commits(self, log: Log) -> None:
        with log.batch():
            pass
        assert log.end() == START

    def test_a_batch_is_over_after_its_end(self, log: Log) -> None:
        batch = log.batch()
        batch.commit()
        for use in (
            batch.commit,
            lambda: batch.claim(uid(), "me"),
            lambda: batch.append(uid(), 0, events(1), time=NOW),
        ):
            with pytest.raises(BugError):
                use()
        batch.abort()

    def test_a_batch_inside_a_batch_is_refused(self, log: Log) -> None:
        stream = uid()
        with log.batch() as batch:
            with pytest.raises(BugError, match="inside another"):
                log.batch()
            batch.append(stream, 0, events(1), time=NOW)
        assert numbers(log.read(stream)) == [1]

    def test_threads_that_append_wait_for_each_other(self, log: Log) -> None:
        stream = uid()
        start = threading.Barrier(8)

        def work(n: int) -> None:
            start.wait()
            for i in range(25):
                log.append(stream, ANY, events(100 * n + i), time=NOW)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
        found = numbers(log.read(stream))
        assert sorted(found) == [100 * n + i for n in range(8) for i in range(25)]
        for n in range(8):
            mine = [value for value in found if value // 100 == n]
            assert mine == sorted(mine)

    def test_a_batch_belongs_to_its_thread(self, log: Log) -> None:
        stream = uid()
        with ThreadPoolExecutor(1) as pool, log.batch() as batch:
            used = pool.submit(batch.append, stream, 0, events(1), time=NOW)
            with pytest.raises(BugError, match="thread"):
                used.result()
            batch.append(stream, 0, events(2), time=NOW)
        assert numbers(log.read(stream)) == [2]

    @pytest.mark.parametrize("kept", [True, False])
    def test_a_thread_that_dies_in_a_batch_takes_only_that_batch_along(
        self, log: Log, kept: bool
    ) -> None:
        stream = uid()
        abandoned: list[Batch] = []
        log.append(stream, 0, events(0), time=NOW)

        def die() -> None:
            batch = log.batch()
            batch.append(stream, 1, events(9), time=NOW)
            if kept:
                abandoned.append(batch)

        for _ in range(3):
            thread = threading.Thread(target=die)
            thread.start()
            thread.join()
        for n in range(1, 4):
            log.append(stream, n, events(n), time=NOW)
        assert numbers(log.read(stream)) == [0, 1, 2, 3]
        with log.batch() as living:
            living.append(stream, 4, events(4), time=NOW)
            for batch in abandoned:
                with pytest.raises(BugError):
                    batch.commit()
                batch.abort()
            living.append(stream, 5, events(5), time=NOW)
        assert numbers(log.read(stream)) == [0, 1, 2, 3, 4, 5]

    def test_who_waits_for_a_batch_is_served_though_another_one_is_busy(self, log: Log) -> None:
        """A thread whose next batch follows at once on its last one must not starve others."""
        served = threading.Event()
        begun = threading.Event()

        def hog() -> int:
            count = 0
            while not served.is_set():
                log.append(uid(), 0, events(1), time=NOW)
                begun.set()
                count += 1
            return count

        with ThreadPoolExecutor(1) as pool:
            busy = pool.submit(hog)
            begun.wait()
            for _ in range(20):
                log.append(uid(), 0, events(1), time=NOW)
            served.set()
            count = busy.result()
        assert len(list(log.streams())) == count + 20

    # Reading a stream

    @pytest.mark.parametrize("reverse", [False, True])
    @pytest.mark.parametrize("sizes", [[1, 1, 1, 1, 1, 1], [6], [2, 1, 3]])
    def test_any_stretch_is_read_in_both_directions(
        self, log: Log, sizes: list[int], reverse: bool
    ) -> None:
        stream, other = uid(), uid()
        version = 0
        for size in sizes:
            log.append(other, ANY, events(0), time=NOW)
            version = log.append(
                stream, version, events(*range(version + 1, version + size + 1)), time=NOW
            ).version
        for after in range(-1, 8):
            for until in (None, *range(-1, 8)):
                wanted = [n for n in range(1, 7) if after < n <= (6 if until is None else until)]
                read = list(log.read(stream, after, until, reverse=reverse))
                assert [r.version for r in read] == numbers(read)
                assert numbers(read) == (wanted[::-1] if reverse else wanted)

    @pytest.mark.parametrize("reverse", [False, True])
    @pytest.mark.parametrize("more", [-1, 0, 1, PAGE_RECORDS + 1])
    def test_reads_cross_the_borders_of_pages(self, log: Log, more: int, reverse: bool) -> None:
        stream = uid()
        count = PAGE_RECORDS + more
        with log.batch() as batch:
            for n in range(count):
                batch.append(stream, n, events(n + 1), time=NOW)
        wanted = list(range(1, count + 1))
        assert numbers(log.read(stream, reverse=reverse)) == (wanted[::-1] if reverse else wanted)
        assert numbers(log.read(stream, 1, count - 1)) == wanted[1:-1]
        assert [numbers(found) for _, found in log.read_all()] == [[n] for n in wanted]

    def test_a_stream_that_does_not_exist_reads_as_empty(self, log: Log) -> None:
        log.append(uid(), 0, events(1), time=NOW)
        assert list(log.read(uid())) == []
        assert list(log.read(bytes(16))) == []
        assert list(log.read(b"\xff" * 16, reverse=True)) == []

    def test_a_read_sees_the_log_as_it_was_when_it_began(self, log: Log) -> None:
        stream = uid()
        for n in range(3):
            log.append(stream, n, events(n), time=NOW)
        reading, backwards, everything = (
            log.read(stream),
            log.read(stream, reverse=True),
            log.read_all(),
        )
        assert numbers(islice(reading, 1)) == [0]
        log.append(stream, 3, events(3), time=NOW)
        assert numbers(reading) == [1, 2]
        assert numbers(backwards) == [2, 1, 0]
        assert len(list(everything)) == 3

    def test_a_reader_that_stops_halfway_holds_nothing(self, log: Log) -> None:
        stream = uid()
        log.append(stream, 0, events(*range(10)), time=NOW)
        reading = log.read(stream)
        next(reading)
        log.append(stream, 10, events(10), time=NOW)
        assert numbers(reading) == list(range(1, 10))

    # Bodies and blobs

    @pytest.mark.parametrize(
        "size", [0, 1, INLINE_LIMIT - 1, INLINE_LIMIT, INLINE_LIMIT + 1, 300_000]
    )
    def test_bodies_of_any_size_come_back(self, log: Log, size: int) -> None:
        stream = uid()
        body = bytes(i % 251 for i in range(size))
        log.append(stream, 0, [event(1), event(2, body), event(3)], time=NOW)
        for read in (log.read(stream), log.read(stream, reverse=True)):
            assert {r.version: (r.event.body, r.event.has_body) for r in read} == {
                1: (None, False),
                2: (body, True),
                3: (None, False),
            }
        assert log.body(stream, 2) == body

    def test_without_bodies_the_large_ones_stay_unread(self, log: Log) -> None:
        stream = uid()
        large = b"x" * (INLINE_LIMIT + 1)
        log.append(stream, 0, [event(1, b"small"), event(2, large)], time=NOW)
        small_one, large_one = log.read(stream, bodies=False)
        assert (small_one.event.body, small_one.event.has_body) == (b"small", True)
        assert (large_one.event.body, large_one.event.has_body) == (None, True)

    def test_equal_bodies_are_not_told_from_what_is_stored(self, log: Log) -> None:
        stream = uid()
        log.append(stream, 0, [event(1, b"1234")], time=NOW)
        first = log.head(stream)
        other = uid()
        log.append(other, 0, [event(1, b"1234")], time=NOW)
        second = log.head(other)
        assert first is not None
        assert second is not None
        assert first.hash != second.hash

    def test_a_body_that_is_not_there_is_named(self, log: Log) -> None:
        stream = uid()
        log.append(stream, 0, events(1), time=NOW)
        with pytest.raises(InvalidPointError, match="no body"):
            log.body(stream, 1)
        for version in (0, 2, -1):
            with pytest.raises(InvalidPointError, match="1 to 1"):
                log.body(stream, version)
        with pytest.raises(InvalidPointError):
            log.body(uid(), 1)

    def test_a_blob_is_stored_once_and_read_by_its_digest(self, log: Log) -> None:
        blob = b"system prompt" * 1000
        digest = blob_digest(log.key, blob)
        stream = uid()
        log.append(stream, 0, events(1), time=NOW, blobs=[(digest, blob), (digest, blob)])
        log.append(stream, 1, events(2), time=NOW, blobs=[(digest, blob)])
        assert log.blob(digest) == blob

    def test_a_blob_under_a_wrong_digest_is_refused(self, log: Log) -> None:
        stream = uid()
        with pytest.raises(InvalidArgumentError, match="digest"):
            log.append(stream, 0, events(1), time=NOW, blobs=[(bytes(16), b"blob")])
        assert log.head(stream) is None

    def test_a_blob_that_was_never_stored_is_missing(self, log: Log) -> None:
        with pytest.raises(CorruptError, match="no blob"):
            log.blob(bytes(16))

    # Names and streams

    def test_created_and_renamed_name_a_stream(self, log: Log) -> None:
        stream = uid()
        log.append(stream, 0, [named("sums"), event(1)], time=NOW)
        assert log.find("sums") == stream
        log.append(stream, 2, [named("products", "renamed")], time=NOW)
        assert log.find("sums") is None
        assert log.find("products") == stream
        assert log.find("") is None

    def test_other_events_name_nothing(self, log: Log) -> None:
        stream = uid()
        log.append(stream, 0, [named("sums", "counted"), named("", "created")], time=NOW)
        log.append(stream, 2, [EventData("created", 1, True, b"\xc1 no msgpack")], time=NOW)
        log.append(stream, 3, [EventData("renamed", 1, True, b"\x90")], time=NOW)
        assert log.find("sums") is None
        assert [info.name for info in log.streams()] == [""]

    def test_the_last_name_in_an_append_counts(self, log: Log) -> None:
        stream = uid()
        log.append(stream, 0, [named("a"), named("b", "renamed")], time=NOW)
        assert (log.find("a"), log.find("b")) == (None, stream)

    def test_a_name_that_is_taken_is_refused(self, log: Log) -> None:
        one, two = uid(), uid()
        log.append(one, 0, [named("sums")], time=NOW)
        with pytest.raises(InvalidArgumentError, match="taken"):
            log.append(two, 0, [named("sums")], time=NOW)
        assert log.head(two) is None
        log.append(one, 1, [named("sums", "renamed")], time=NOW)
        log.append(one, 2, [named("other", "renamed")], time=NOW)
        log.append(two, 0, [named("sums")], time=NOW)
        assert log.find("sums") == two

    def test_names_are_free_and_taken_within_a_batch(self, log: Log) -> None:
        one, two = uid(), uid()
        with log.batch() as batch:
            batch.append(one, 0, [named("sums")], time=NOW)
            with pytest.raises(InvalidArgumentError, match="taken"):
                batch.append(two, 0, [named("sums")], time=NOW)
            batch.append(one, 1, [named("other", "renamed")], time=NOW)
            batch.append(two, 0, [named("sums")], time=NOW)
        assert (log.find("sums"), log.find("other")) == (two, one)

    @pytest.mark.parametrize(("name", "fits"), [("é" * 255, True), ("é" * 256, False)])
    def test_a_name_has_at_most_511_bytes(self, log: Log, name: str, fits: bool) -> None:
        stream = uid()
        if fits:
            log.append(stream, 0, [named(name)], time=NOW)
            assert log.find(name) == stream
        else:
            with pytest.raises(InvalidArgumentError, match="512 bytes"):
                log.append(stream, 0, [named(name)], time=NOW)

    def test_streams_are_listed_in_the_order_of_their_creation(self, log: Log) -> None:
        made = [uid() for _ in range(5)]
        for i, stream in enumerate(made):
            log.append(stream, 0, [named(f"s{i}")], time=NOW + i)
        log.append(made[1], 1, events(1), time=NOW + 100)
        log.claim(uid(), "an owner of nothing yet")
        listed = list(log.streams())
        assert [info.stream for info in listed] == made
        assert [info.name for info in listed] == ["s0", "s1", "s2", "s3", "s4"]
        assert (listed[1].created, listed[1].updated) == (NOW + 1, NOW + 100)
        assert listed[1].head == log.head(made[1])

    # All streams, in the order of commits

    def test_read_all_gives_records_in_the_order_of_commits(self, log: Log) -> None:
        one, two = uid(), uid()
        log.append(one, 0, events(1, 2), time=NOW)
        log.append(two, 0, [event(3, b"x" * 5000)], time=NOW)
        log.append(one, 2, events(4), time=NOW)
        everything = list(log.read_all())
        assert [numbers(found) for _, found in everything] == [[1, 2], [3], [4]]
        assert [found[0].stream for _, found in everything] == [one, two, one]
        assert everything[1][1][0].event.body == b"x" * 5000
        assert log.end() == everything[-1][0]

    def test_a_cursor_is_where_reading_goes_on(self, log: Log) -> None:
        cursors = [log.append(uid(), 0, events(n), time=NOW).cursor for n in range(4)]
        assert [cursor for cursor, _ in log.read_all()] == cursors
        assert [numbers(f) for _, f in log.read_all(cursors[1])] == [[2], [3]]
        assert [numbers(f) for _, f in log.read_all(cursors[0], limit=2)] == [[1], [2]]
        assert list(log.read_all(cursors[3])) == []
        assert list(log.read_all(limit=0)) == []

    def test_a_cursor_of_something_else_is_refused(self, log: Log) -> None:
        for use in (log.read_all, log.follow):
            with pytest.raises(InvalidArgumentError, match="cursor"):
                use(Cursor(b"xyz"))

    # Following

    def test_follow_gives_what_is_there_and_ends_when_nothing_comes(self, log: Log) -> None:
        stream = uid()
        log.append(stream, 0, events(1), time=NOW)
        done = log.append(stream, 1, events(2), time=NOW)
        assert [numbers(found) for _, found in log.follow(timeout=0)] == [[1], [2]]
        assert list(log.follow(done.cursor, timeout=0)) == []

    def test_follow_waits_for_what_comes(self, log: Log) -> None:
        stream = uid()
        log.append(stream, 0, events(0), time=NOW)
        following = log.follow()
        assert numbers(next(following)[1]) == [0]
        with ThreadPoolExecutor(1) as pool:
            awaited = pool.submit(next, following)
            log.append(stream, 1, events(1), time=NOW)
            assert numbers(awaited.result()[1]) == [1]

    def test_followers_miss_nothing_and_get_nothing_twice(self, log: Log) -> None:
        start, total = threading.Barrier(7), 4 * 50

        def write(n: int) -> None:
            stream = uid()
            start.wait()
            for i in range(50):
                with log.batch() as batch:
                    batch.append(stream, i, events(1000 * n + i), time=NOW)
                    if i % 7 == 0:
                        batch.claim(stream, "me")

        def follow(_: int) -> list[tuple[Cursor, list[int]]]:
            start.wait()
            return [(cursor, numbers(f)) for cursor, f in islice(log.follow(), total)]

        with ThreadPoolExecutor(7) as pool:
            followers = [pool.submit(follow, n) for n in range(3)]
            list(pool.map(write, range(4)))
            seen = [follower.result() for follower in followers]
        wanted = [(cursor, numbers(found)) for cursor, found in log.read_all()]
        assert len(wanted) == total
        assert seen == [wanted] * 3

    def test_follow_does_not_show_an_aborted_batch(self, log: Log) -> None:
        batch = log.batch()
        batch.append(uid(), 0, events(1), time=NOW)
        following = log.follow(timeout=0)
        batch.abort()
        assert list(following) == []

    def test_follow_ends_when_the_log_is_closed(self, log: Log) -> None:
        log.append(uid(), 0, events(1), time=NOW)
        following = log.follow()
        next(following)
        with ThreadPoolExecutor(1) as pool:
            rest = pool.submit(list, following)
            log.close()
            assert rest.result() == []

    # Closing

    def test_a_closed_log_refuses_everything(self, log: Log) -> None:
        stream = uid()
        log.append(stream, 0, events(1), time=NOW)
        reading = log.read(stream)
        log.close()
        log.close()
        for use in (
            lambda: log.append(stream, 1, events(2), time=NOW),
            lambda: log.claim(stream, "me"),
            log.batch,
            lambda: log.head(stream),
            lambda: log.find("x"),
            lambda: list(log.streams()),
            lambda: log.read(stream),
            log.read_all,
            log.follow,
            log.end,
            lambda: log.body(stream, 1),
            lambda: log.blob(bytes(16)),
            lambda: list(reading),
        ):
            with pytest.raises(ClosedError):
                use()

    # Erasure

    def test_an_event_that_speaks_of_erasure_erases_nothing_by_itself(self, log: Log) -> None:
        stream = uid()
        log.append(stream, 0, [event(1, b"secret"), erased(1)], time=NOW)
        assert log.body(stream, 1) == b"secret"
