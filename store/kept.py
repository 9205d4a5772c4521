"""The tables of a log in memory: what is committed, and what a batch has written so far."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from refold.store.tables import PAGE_RECORDS, Row


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
