"""The `Log` protocol: what every log promises, whatever it is kept in.

Nothing above it may assume one writer process, or a clock shared with it: the protocol is shaped
so that a log on a shared database, sharded by stream, can stand in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from types import TracebackType
from typing import Final, Protocol, Self

import msgspec

from refold.events.record import EventData, Recorded


class _Any(Enum):
    ANY = "any"


ANY: Final = _Any.ANY
"""As an expected version: wherever the stream is. For facts that only offer something."""

Expected = int | _Any


class Cursor(msgspec.Struct, frozen=True, gc=False):
    """A place in the order of commits; opaque, and only good for the log it came from."""

    token: bytes = b""


START: Final = Cursor()
"""Before the first record of a log."""


class Appended(msgspec.Struct, frozen=True, gc=False):
    """Where an append ended up.

    Attributes:
        version: the stream's version after it.
        cursor: the place of its record in the order of commits.
    """

    version: int
    cursor: Cursor


class Head(msgspec.Struct, frozen=True, gc=False):
    """The end of a stream.

    Attributes:
        version: of its last event; record: number of its last record; hash: of that record.
        epoch: of the owner that claimed it last; 0 if nobody ever did.
        owner: who that is, in words.
    """

    version: int
    record: int
    hash: bytes
    epoch: int
    owner: str = ""


class StreamInfo(msgspec.Struct, frozen=True, gc=False):
    """A stream in a listing. Times are milliseconds since 1970 (UTC)."""

    stream: bytes
    name: str
    head: Head
    created: int
    updated: int


class Batch(Protocol):
    """Several appends that become durable together; used on one thread.

    As a context manager it commits at the end, or leaves nothing behind if the block raised.
    An append that is refused leaves the others of its batch as they are.
    """

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
        """Add one record. It is durable, and seen by readers, only after `commit`.

        Events of type `created` and `renamed` whose skeleton has a `name` name the stream.

        Args:
            stream: 16 random bytes that name the stream.
            expected: the version the stream is at, 0 for a new one; or `ANY`.
            events: at least one.
            time: milliseconds since 1970 (UTC).
            epoch: of the claim under which the writer drives the stream; None for a writer that
                drives nothing.
            cause: who appends, in a word.
            blobs: (digest, bytes) to be stored once each.

        Raises:
            ConflictError: the stream is not at `expected`; `actual` says where it is.
            FencedError: a newer owner has claimed the stream.
            InvalidArgumentError: no events, a malformed uid, or a name that is taken.
            LogAccessError: no room, no rights; the whole batch is undone.
        """
        ...

    def claim(self, stream: bytes, owner: str) -> int:
        """Become the one who drives `stream`; older epochs are refused from now on.

        Works for streams that do not exist yet. Returns the new epoch, from 1.
        """
        ...

    def commit(self) -> None:
        """Make all of it durable, as the log's durability setting says.

        Raises:
            LogAccessError: the operating system refused; nothing of the batch is there.
        """
        ...

    def abort(self) -> None:
        """Leave nothing behind."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class Log(Protocol):
    """An append-only log of many streams. Reading is safe from any thread at any time."""

    @property
    def key(self) -> bytes:
        """The log's own secret, for the digests of its blobs (`refold.events.record`)."""
        ...

    def batch(self) -> Batch:
        """Begin a batch; only one may be open at a time in a process."""
        ...

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
        """One append in a batch of its own, durable when this returns. See `Batch.append`."""
        ...

    def claim(self, stream: bytes, owner: str) -> int:
        """A claim in a batch of its own. See `Batch.claim`."""
        ...

    def head(self, stream: bytes) -> Head | None:
        """The end of `stream`, or None if it has neither events nor an owner."""
        ...

    def find(self, name: str) -> bytes | None:
        """The stream with this name, or None."""
        ...

    def streams(self) -> Iterator[StreamInfo]:
        """All streams that hold events, in the order of their creation."""
        ...

    def read(
        self,
        stream: bytes,
        after: int = 0,
        until: int | None = None,
        *,
        reverse: bool = False,
        bodies: bool = True,
    ) -> Iterator[Recorded]:
        """The events of `stream` with versions in (`after`, `until`], oldest or newest first.

        A read sees the log as it was at one moment, and holds no transaction while its caller
        works. With `bodies=False` the bodies that stand outside their records stay unread.

        Raises:
            CorruptError: a record or body is not what its digest says.
        """
        ...

    def read_all(
        self, after: Cursor = START, limit: int | None = None
    ) -> Iterator[tuple[Cursor, tuple[Recorded, ...]]]:
        """The records of all streams behind `after`, in the order of commits."""
        ...

    def follow(
        self, after: Cursor = START, *, timeout: float | None = None
    ) -> Iterator[tuple[Cursor, tuple[Recorded, ...]]]:
        """As `read_all`, and then what is committed from now on, by any process.

        Ends when nothing came for `timeout` seconds (None: never), or when the log is closed.
        """
        ...

    def end(self) -> Cursor:
        """The cursor of the last record committed."""
        ...

    def body(self, stream: bytes, version: int) -> bytes:
        """The body of one event.

        Raises:
            InvalidPointError: there is no such event, or it has no body.
            CorruptError: it is not what its digest says.
        """
        ...

    def blob(self, digest: bytes) -> bytes:
        """A stored blob.

        Raises:
            CorruptError: it is missing, or not what its digest says.
        """
        ...

    def close(self) -> None:
        """Close the log; later calls raise `ClosedError`."""
        ...
