"""A log in memory: the same records, the same promises, gone with the process."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from os import urandom
from threading import Condition, Lock, get_ident
from time import monotonic
from types import TracebackType
from typing import Self, TypeVar

from refold.events.errors import BugError, ClosedError
from refold.events.record import HASH_SIZE, EventData
from refold.store.appending import append_to, claim_in
from refold.store.log import Appended, Expected
from refold.store.reading import ReadableLog
from refold.store.tables import PAGE_RECORDS, Draft, Row, View

T = TypeVar("T")


class Kept:
    """The committed tables of a log in memory. See `refold.store.tables.View`.

    Attributes:
        log: records; a record's position is its place here, counted from 1.
        indexed: stream to the first versions of its records, in order, and their positions.
    """

    def __init__(self) -> None:
        self.log: list[bytes] = []
        self.indexed: dict[bytes, tuple[list[int], list[int]]] = {}
        self.heads: dict[bytes, Row] = {}
        self.name_table: dict[str, bytes] = {}
        self.bodies: dict[tuple[bytes, int], bytes] = {}
        self.blob_table: dict[bytes, bytes] = {}

    def row(self, stream: bytes) -> Row | None:
        return self.heads.get(stream)

    def rows(self) -> Iterator[tuple[bytes, Row]]:
        return iter(self.heads.items())

    def named(self, name: str) -> bytes | None:
        return self.name_table.get(name)

    def names(self) -> Iterator[tuple[str, bytes]]:
        return iter(self.name_table.items())

    def end(self) -> int:
        return len(self.log)

    def records(self, after: int, until: int) -> list[tuple[int, bytes]]:
        until = min(until, after + PAGE_RECORDS)
        return list(enumerate(self.log[after:until], after + 1))

    def stretch(
        self, stream: bytes, after: int, until: int, reverse: bool
    ) -> list[tuple[int, bytes | None]]:
        firsts, positions = self.indexed.get(stream, ([], []))
        start = max(bisect_right(firsts, after + 1) - 1, 0)
        stop = bisect_right(firsts, until)
        if reverse:
            start = max(start, stop - PAGE_RECORDS)
        else:
            stop = min(stop, start + PAGE_RECORDS)
        page = [
            (position, self.log[position - 1] if position <= len(self.log) else None)
            for position in positions[start:stop]
        ]
        return page[::-1] if reverse else page

    def index(self, after: bytes) -> list[tuple[bytes, int, int]]:
        if after:
            return []
        return [
            (stream, first, position)
            for stream, indexed in sorted(self.indexed.items())
            for first, position in zip(*indexed, strict=True)
        ]

    def body(self, stream: bytes, version: int) -> bytes | None:
        return self.bodies.get((stream, version))

    def blob(self, digest: bytes) -> bytes | None:
        return self.blob_table.get(digest)

    def blobs(self, after: bytes) -> list[bytes]:
        return [] if after else sorted(self.blob_table)


class Staged:
    """What a batch has written and not committed. See `refold.store.tables.Draft`."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self._next = len(kept.log) + 1
        self._records: list[bytes] = []
        self._index: list[tuple[bytes, int, int]] = []
        self._rows: dict[bytes, Row] = {}
        self._names: dict[str, bytes | None] = {}
        self._bodies: dict[tuple[bytes, int], bytes] = {}
        self._blobs: dict[bytes, bytes] = {}
        self._cleared = False

    def row(self, stream: bytes) -> Row | None:
        return self._rows.get(stream) or self._kept.heads.get(stream)

    def named(self, name: str) -> bytes | None:
        if name in self._names:
            return self._names[name]
        return self._kept.name_table.get(name)

    def blob_kept(self, digest: bytes) -> bool:
        return digest in self._blobs or digest in self._kept.blob_table

    def next_position(self) -> int:
        return self._next

    def put_record(self, stream: bytes, first: int, data: bytes) -> None:
        self._records.append(data)
        self.put_index(stream, first, self._next)
        self._next += 1

    def put_index(self, stream: bytes, first: int, position: int) -> None:
        self._index.append((stream, first, position))

    def put_row(self, stream: bytes, row: Row) -> None:
        self._rows[stream] = row

    def put_name(self, name: str, stream: bytes) -> None:
        self._names[name] = stream

    def drop_name(self, name: str) -> None:
        self._names[name] = None

    def put_body(self, stream: bytes, version: int, salted: bytes) -> None:
        self._bodies[stream, version] = salted

    def put_blob(self, digest: bytes, blob: bytes) -> None:
        self._blobs[digest] = bytes(blob)

    def clear_caches(self) -> None:
        self._cleared = True

    def commit(self) -> None:
        """Move it all into what is kept."""
        kept = self._kept
        if self._cleared:
            kept.indexed.clear()
            kept.heads.clear()
            kept.name_table.clear()
        kept.log += self._records
        for stream, first, position in self._index:
            firsts, positions = kept.indexed.setdefault(stream, ([], []))
            firsts.append(first)
            positions.append(position)
        kept.heads.update(self._rows)
        for name, named in self._names.items():
            if named is None:
                kept.name_table.pop(name, None)
            else:
                kept.name_table[name] = named
        kept.bodies.update(self._bodies)
        kept.blob_table.update(self._blobs)


class MemoryBatch:
    """A batch of a log in memory. See `refold.store.log.Batch`."""

    def __init__(self, log: MemoryLog, staged: Staged) -> None:
        self._log = log
        self._staged: Staged | None = staged

    def append(
        self,
        stream: bytes,
        expected: Expected,
        events: Sequence[EventData],
        *,
        time: int,
        epoch: int | None = None,
        cause: str = "",
        blobs: Sequence[tuple[bytes, bytes]] = (),
    ) -> Appended:
        """See `refold.store.log.Batch.append`."""
        draft = self._open()
        return append_to(draft, self._log.key, stream, expected, events, time, epoch, cause, blobs)

    def claim(self, stream: bytes, owner: str) -> int:
        """See `refold.store.log.Batch.claim`."""
        return claim_in(self._open(), stream, owner)

    def commit(self) -> None:
        """See `refold.store.log.Batch.commit`."""
        staged = self._open()
        self._staged = None
        self._log._end_batch(staged)

    def abort(self) -> None:
        """See `refold.store.log.Batch.abort`."""
        if self._staged is not None:
            self._staged = None
            self._log._end_batch(None)

    def _open(self) -> Staged:
        if self._staged is None:
            raise BugError("a batch was used after its end")
        self._log._check_open()
        return self._staged

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.abort()
        elif self._staged is not None:
            self.commit()


class MemoryLog(ReadableLog):
    """A log in memory. See `refold.store.log.Log`."""

    def __init__(self) -> None:
        self._kept = Kept()
        self._key = urandom(HASH_SIZE)
        self._ticks = 0
        self._closed = False
        self._changed = Condition(Lock())
        self._writer: int | None = None

    @property
    def key(self) -> bytes:
        """See `refold.store.log.Log.key`."""
        return self._key

    def batch(self) -> MemoryBatch:
        """See `refold.store.log.Log.batch`."""
        return MemoryBatch(self, self._begin_batch())

    def crash(self) -> MemoryLog:
        """For tests: the log as a new process would find it after this one was killed.

        What was not committed is gone, and this log is closed, so that nothing that still runs
        in the old process can write.
        """
        after = MemoryLog()
        self.close()
        after._kept, after._key = self._kept, self._key
        return after

    def close(self) -> None:
        """See `refold.store.log.Log.close`."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _begin_batch(self) -> Staged:
        me = get_ident()
        with self._changed:
            if self._writer == me:
                raise BugError("a batch was begun inside another one of the same thread")
            while self._writer is not None and not self._closed:
                self._changed.wait()
            self._check_open()
            self._writer = me
            return Staged(self._kept)

    def _end_batch(self, staged: Staged | None) -> None:
        with self._changed:
            self._writer = None
            self._changed.notify_all()
            if staged is not None:
                self._check_open()
                staged.commit()
                self._ticks += 1

    def _look(self, question: Callable[[View], T]) -> T:
        with self._changed:
            self._check_open()
            return question(self._kept)

    def _rewrite(self, work: Callable[[View, Draft], T]) -> T:
        staged = self._begin_batch()
        try:
            answer = work(self._kept, staged)
        except BaseException:
            self._end_batch(None)
            raise
        self._end_batch(staged)
        return answer

    def _tick(self) -> int:
        self._check_open()
        return self._ticks

    def _wait(self, tick: int, deadline: float | None) -> bool:
        with self._changed:
            while self._ticks == tick:
                self._check_open()
                left = None if deadline is None else deadline - monotonic()
                if left is not None and left <= 0:
                    return False
                self._changed.wait(left)
            return True

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("this log is closed: open it again")
