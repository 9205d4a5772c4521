"""What a log keeps, as tables: the seam between a kind of storage and all that is the same in both.

`refold.store.appending` writes a `Draft`, `refold.store.reading` asks a `View`; LMDB and memory
provide them, and know nothing of versions, epochs, names and digests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import msgspec

from refold.events.record import NO_HASH
from refold.store.log import Head

PAGE_RECORDS = 256
"""How many records a read copies out of a log at a time."""
PAGE_BYTES = 1 << 20
"""A page of records is cut when it holds more bytes than this (1 MiB)."""


class Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What is kept of the end of a stream: a cache, which the records can restore.

    Attributes:
        version, record, hash, epoch, owner: see `refold.store.log.Head`.
        name: of the stream, "" if it has none.
        born: position of the stream's first record; 0 if it has none.
        created, updated: times of its first and last record, milliseconds since 1970 (UTC).
    """

    version: int = 0
    record: int = 0
    hash: bytes = NO_HASH
    epoch: int = 0
    owner: str = ""
    name: str = ""
    born: int = 0
    created: int = 0
    updated: int = 0

    @property
    def head(self) -> Head:
        """The part of it that callers see."""
        return Head(self.version, self.record, self.hash, self.epoch, self.owner)


NO_ROW = Row()
"""The row of a stream that does not exist."""


class View(Protocol):
    """The tables as they are at one moment; to be asked and let go at once."""

    def row(self, stream: bytes) -> Row | None:
        """What is known of the end of `stream`."""
        ...

    def rows(self) -> Iterator[tuple[bytes, Row]]:
        """All streams, in any order."""
        ...

    def named(self, name: str) -> bytes | None:
        """The stream with this name."""
        ...

    def names(self) -> Iterator[tuple[str, bytes]]:
        """All names, in any order."""
        ...

    def end(self) -> int:
        """The position of the last record; positions count from 1, without gaps."""
        ...

    def records(self, after: int, until: int) -> list[tuple[int, bytes]]:
        """A page of records with positions in (`after`, `until`], in the order of commits."""
        ...

    def stretch(
        self, stream: bytes, after: int, until: int, reverse: bool
    ) -> list[tuple[int, bytes | None]]:
        """A page of the records of `stream` that hold versions in (`after`, `until`].

        Each as its position and its bytes, None if the record is missing.
        """
        ...

    def index(self, after: bytes) -> list[tuple[bytes, int, int]]:
        """A page of (stream, first version, position), in the order of its keys.

        Args:
            after: the last key of the page before, as `index_key` makes it.
        """
        ...

    def body(self, stream: bytes, version: int) -> bytes | None:
        """Salt and body of an event whose body stands outside its record."""
        ...

    def blob(self, digest: bytes) -> bytes | None:
        """The bytes of a blob."""
        ...

    def blobs(self, after: bytes) -> list[bytes]:
        """A page of the digests of blobs, in their order, behind `after`."""
        ...


class Draft(Protocol):
    """The tables as a batch sees and changes them; nobody else does before it is committed."""

    def row(self, stream: bytes) -> Row | None:
        """See `View.row`."""
        ...

    def named(self, name: str) -> bytes | None:
        """See `View.named`."""
        ...

    def blob_kept(self, digest: bytes) -> bool:
        """Whether a blob is stored already."""
        ...

    def next_position(self) -> int:
        """The position that the next record will have."""
        ...

    def put_record(self, stream: bytes, first: int, data: bytes) -> None:
        """Store a record at `next_position`, and index it."""
        ...

    def put_index(self, stream: bytes, first: int, position: int) -> None:
        """Store where a record stands."""
        ...

    def put_row(self, stream: bytes, row: Row) -> None:
        """Store the end of `stream`."""
        ...

    def put_name(self, name: str, stream: bytes) -> None:
        """Store the name of a stream."""
        ...

    def drop_name(self, name: str) -> None:
        """Forget a name."""
        ...

    def put_body(self, stream: bytes, version: int, salted: bytes) -> None:
        """Store salt and body of one event."""
        ...

    def put_blob(self, digest: bytes, blob: bytes) -> None:
        """Store a blob."""
        ...

    def clear_caches(self) -> None:
        """Forget index, ends and names: all that the records can restore."""
        ...


def position_key(position: int) -> bytes:
    """A position as a key: 8 bytes, big-endian, so that keys sort as positions do."""
    return position.to_bytes(8, "big")


def index_key(stream: bytes, version: int) -> bytes:
    """A stream and a version as a key: 24 bytes that sort by stream, then by version."""
    return stream + version.to_bytes(8, "big")
