"""Reading a log: the same for every kind of storage that can give a `View`.

A read asks for a page of records at a time and lets go of the storage before it hands them out, so
a slow caller holds nothing. As a log only grows, the end at the start of the read bounds it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import Self, TypeVar

from refold.events.errors import ClosedError, CorruptError, InvalidArgumentError, InvalidPointError
from refold.events.record import EventData, Recorded, StoredEvent, blob_digest, opened
from refold.store.log import START, Appended, Batch, Cursor, Expected, Head, StreamInfo
from refold.store.tables import Draft, View, position_key
from refold.store.unsealing import Unsealed, erased_by, unseal

T = TypeVar("T")


class ReadableLog(ABC):
    """All of the `Log` protocol that does not depend on what the log is kept in."""

    @abstractmethod
    def _look(self, question: Callable[[View], T]) -> T:
        """Answer a question from one moment of the log. It may be asked more than once.

        Raises:
            ClosedError: the log is closed.
        """

    @abstractmethod
    def _rewrite(self, work: Callable[[View, Draft], T]) -> T:
        """Do work that looks and writes in one transaction. It may be asked to more than once."""

    @abstractmethod
    def _tick(self) -> int:
        """A number that changes with every commit of any process."""

    @abstractmethod
    def _wait(self, tick: int, deadline: float | None) -> bool:
        """Wait until `_tick` is no longer `tick`; False at the deadline (`time.monotonic`).

        Raises:
            ClosedError: the log is closed.
        """

    @property
    @abstractmethod
    def key(self) -> bytes:
        """See `refold.store.log.Log.key`."""

    @abstractmethod
    def batch(self) -> Batch:
        """See `refold.store.log.Log.batch`."""

    @abstractmethod
    def close(self) -> None:
        """See `refold.store.log.Log.close`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
        """See `refold.store.log.Log.append`."""
        with self.batch() as batch:
            return batch.append(
                stream, expected, events, time=time, epoch=epoch, cause=cause, blobs=blobs
            )

    def claim(self, stream: bytes, owner: str) -> int:
        """See `refold.store.log.Log.claim`."""
        with self.batch() as batch:
            return batch.claim(stream, owner)

    def head(self, stream: bytes) -> Head | None:
        """See `refold.store.log.Log.head`."""
        row = self._look(lambda view: view.row(stream))
        return None if row is None else row.head

    def find(self, name: str) -> bytes | None:
        """See `refold.store.log.Log.find`."""
        return self._look(lambda view: view.named(name)) if name else None

    def streams(self) -> Iterator[StreamInfo]:
        """See `refold.store.log.Log.streams`."""
        rows = self._look(lambda view: list(view.rows()))
        rows.sort(key=lambda item: item[1].born)
        return (
            StreamInfo(stream, row.name, row.head, row.created, row.updated)
            for stream, row in rows
            if row.version
        )

    def end(self) -> Cursor:
        """See `refold.store.log.Log.end`."""
        position = self._look(lambda view: view.end())
        return Cursor(position_key(position)) if position else START

    def read(
        self,
        stream: bytes,
        after: int = 0,
        until: int | None = None,
        *,
        reverse: bool = False,
        bodies: bool = True,
    ) -> Iterator[Recorded]:
        """See `refold.store.log.Log.read`."""
        row = self._look(lambda view: view.row(stream))
        last = 0 if row is None else row.version
        until = last if until is None else min(until, last)
        return self._read(stream, max(after, 0), until, reverse, bodies)

    def _read(
        self, stream: bytes, after: int, until: int, reverse: bool, bodies: bool
    ) -> Iterator[Recorded]:
        while after < until:
            low, high = after, until
            page = self._look(lambda view: view.stretch(stream, low, high, reverse))  # noqa: B023
            for position, data in page:
                unsealed = _expected(stream, position, data)
                first, last = unsealed.header.first, unsealed.last
                if not (first <= until <= last if reverse else first <= after + 1 <= last):
                    break
                events = self._events(unsealed, after, until, bodies)
                if reverse:
                    until = first - 1
                    yield from reversed(events)
                else:
                    after = last
                    yield from events
            if (low, high) == (after, until):
                missing = until if reverse else after + 1
                raise CorruptError(
                    f"version {missing} of stream {stream.hex()} is not where the index says: "
                    "`refold verify` finds what is damaged"
                )

    def read_all(
        self, after: Cursor = START, limit: int | None = None
    ) -> Iterator[tuple[Cursor, tuple[Recorded, ...]]]:
        """See `refold.store.log.Log.read_all`."""
        position = _position(after)
        end = self._look(lambda view: view.end())
        return self._read_all(position, end if limit is None else min(end, position + limit))

    def _read_all(self, after: int, until: int) -> Iterator[tuple[Cursor, tuple[Recorded, ...]]]:
        while after < until:
            low = after
            for position, data in self._look(lambda view: view.records(low, until)):  # noqa: B023
                if position != after + 1:
                    break
                after = position
                unsealed = unseal(data)
                yield (
                    Cursor(position_key(position)),
                    tuple(self._events(unsealed, 0, unsealed.last, True)),
                )
            if after == low:
                raise CorruptError(
                    f"record {after + 1} of the log is missing: `refold verify` says what was lost"
                )

    def follow(
        self, after: Cursor = START, *, timeout: float | None = None
    ) -> Iterator[tuple[Cursor, tuple[Recorded, ...]]]:
        """See `refold.store.log.Log.follow`."""
        _position(after)
        self._tick()
        return self._follow(after, timeout)

    def _follow(
        self, after: Cursor, timeout: float | None
    ) -> Iterator[tuple[Cursor, tuple[Recorded, ...]]]:
        try:
            deadline = None if timeout is None else monotonic() + timeout
            while True:
                # The tick is taken before the read: what is committed in between is read now, or
                # has moved the tick on.
                tick = self._tick()
                for item in self.read_all(after):
                    after = item[0]
                    yield item
                    deadline = None if timeout is None else monotonic() + timeout
                if not self._wait(tick, deadline):
                    return
        except ClosedError:
            return

    def body(self, stream: bytes, version: int) -> bytes:
        """See `refold.store.log.Log.body`."""
        for recorded in self.read(stream, version - 1, version):
            if recorded.event.body is not None:
                return recorded.event.body
            if not recorded.event.has_body:
                raise InvalidPointError(
                    f"event {version} of stream {stream.hex()}, of type {recorded.event.type}, "
                    "has no body"
                )
            raise InvalidPointError(
                f"the body of event {version} of stream {stream.hex()} was erased"
            )
        head = self.head(stream)
        raise InvalidPointError(
            f"stream {stream.hex()} has no event {version}: its events are 1 to "
            f"{head.version if head else 0}"
        )

    def blob(self, digest: bytes) -> bytes:
        """See `refold.store.log.Log.blob`."""
        blob = self._look(lambda view: view.blob(digest))
        if blob is None:
            raise CorruptError(f"there is no blob {digest.hex()} in this log")
        if blob_digest(self.key, blob) != digest:
            raise CorruptError(f"blob {digest.hex()} is not what its digest says")
        return blob

    def _events(self, unsealed: Unsealed, after: int, until: int, bodies: bool) -> list[Recorded]:
        """The events of a record with versions in (`after`, `until`]."""
        header = unsealed.header
        stream, time, record = header.stream, header.time, header.record
        found = []
        version = header.first - 1
        for stored, salted in zip(unsealed.events, unsealed.salted, strict=True):
            version += 1
            if not after < version <= until:
                continue
            body = None
            if stored.digest is not None and (bodies or salted is not True):
                if salted is True:
                    salted = self._look(lambda view: view.body(stream, version))  # noqa: B023
                if isinstance(salted, bytes):
                    body = opened(salted, stored)
                else:
                    self._check_erased(stream, version, stored)
            event = EventData(
                stored.type,
                stored.schema,
                stored.critical,
                stored.skeleton,
                body,
                stored.digest is not None,
            )
            found.append(Recorded(stream, version, time, record, event))
        return found

    def _check_erased(self, stream: bytes, version: int, stored: StoredEvent) -> None:
        """Accept a missing body if a later event of the stream says that it was erased."""
        for recorded in self.read(stream, version, bodies=False):
            if version in erased_by(recorded.event.type, recorded.event.skeleton):
                return
        raise CorruptError(
            f"the body of event {version} of stream {stream.hex()}, of type {stored.type}, is "
            "missing, and no event says that it was erased"
        )


def _position(cursor: Cursor) -> int:
    if len(cursor.token) not in (0, 8):
        raise InvalidArgumentError(f"{cursor!r} is no cursor of this log")
    return int.from_bytes(cursor.token, "big")


def _expected(stream: bytes, position: int, data: bytes | None) -> Unsealed:
    """The record that the index promised."""
    if data is None:
        raise CorruptError(
            f"record {position} of the log, of stream {stream.hex()}, is missing: "
            "`refold verify` says what was lost"
        )
    unsealed = unseal(data)
    if unsealed.header.stream != stream:
        raise CorruptError(
            f"record {position} of the log is of stream {unsealed.header.stream.hex()}, and the "
            f"index says {stream.hex()}: `refold verify` finds what is damaged"
        )
    return unsealed
