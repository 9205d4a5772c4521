"""The tables of a log in a transaction of LMDB: to look at, and to write."""

from __future__ import annotations

from collections.abc import Iterator

import lmdb
import msgspec

from refold.events.errors import CorruptError
from refold.store.lmdb.files import Databases
from refold.store.tables import PAGE_BYTES, PAGE_RECORDS, Row, index_key, position_key

END = b"\xff" * 8
"""Stands for the version in the key of a stream's end: behind all versions."""

_row = msgspec.msgpack.Decoder(Row)
_encode = msgspec.msgpack.Encoder().encode


class LmdbView:
    """A read transaction. See `refold.store.tables.View`.

    Everything it gives is copied out of the map, so that it outlives the transaction.
    """

    def __init__(self, txn: lmdb.Transaction[bytes], tables: Databases) -> None:
        self._txn = txn
        self._tables = tables

    def forget(self) -> None:
        """Let go of the transaction: this view is of no use any more."""
        del self._txn

    def tick(self) -> int:
        """The number of the last transaction that was committed."""
        return self._txn.id()

    def row(self, stream: bytes) -> Row | None:
        data = self._txn.get(stream + END, db=self._tables.streams)
        return None if data is None else _decoded(stream, data)

    def rows(self) -> Iterator[tuple[bytes, Row]]:
        cursor = self._txn.cursor(self._tables.streams)
        found = cursor.first()
        while found:
            stream = cursor.key()[:16]
            if cursor.set_key(stream + END):
                yield stream, _decoded(stream, cursor.value())
                found = cursor.next()
            else:
                found = cursor.set_range(stream + END)

    def named(self, name: str) -> bytes | None:
        return self._txn.get(name.encode(), db=self._tables.names)

    def names(self) -> Iterator[tuple[str, bytes]]:
        for name, stream in self._txn.cursor(self._tables.names).iternext():
            yield name.decode(), stream

    def end(self) -> int:
        return _last(self._txn, self._tables)

    def records(self, after: int, until: int) -> list[tuple[int, bytes]]:
        page: list[tuple[int, bytes]] = []
        cursor = self._txn.cursor(self._tables.log)
        if not cursor.set_range(position_key(after + 1)):
            return page
        size = 0
        for key, data in cursor.iternext():
            position = int.from_bytes(key, "big")
            if position > until:
                break
            page.append((position, data))
            size += len(data)
            if len(page) >= PAGE_RECORDS or size > PAGE_BYTES:
                break
        return page

    def stretch(
        self, stream: bytes, after: int, until: int, reverse: bool
    ) -> list[tuple[int, bytes | None]]:
        page: list[tuple[int, bytes | None]] = []
        cursor = self._txn.cursor(self._tables.streams)
        if not _seek(cursor, index_key(stream, until if reverse else after + 1)):
            return page
        size = 0
        for key, value in cursor.iterprev() if reverse else cursor.iternext():
            first = int.from_bytes(key[16:], "big")
            if not key.startswith(stream) or (not reverse and first > until):
                break
            data = self._txn.get(value, db=self._tables.log)
            page.append((int.from_bytes(value, "big"), data))
            size += len(data or b"")
            if len(page) >= PAGE_RECORDS or size > PAGE_BYTES or (reverse and first <= after + 1):
                break
        return page

    def index(self, after: bytes) -> list[tuple[bytes, int, int]]:
        page: list[tuple[bytes, int, int]] = []
        cursor = self._txn.cursor(self._tables.streams)
        if not cursor.set_range(after):
            return page
        for key, value in cursor.iternext():
            if key != after and not key.endswith(END):
                first, position = int.from_bytes(key[16:], "big"), int.from_bytes(value, "big")
                page.append((key[:16], first, position))
                if len(page) >= PAGE_RECORDS:
                    break
        return page

    def body(self, stream: bytes, version: int) -> bytes | None:
        return self._txn.get(index_key(stream, version), db=self._tables.bodies)

    def blob(self, digest: bytes) -> bytes | None:
        return self._txn.get(digest, db=self._tables.blobs)

    def blobs(self, after: bytes) -> list[bytes]:
        page: list[bytes] = []
        cursor = self._txn.cursor(self._tables.blobs)
        if not (cursor.set_range(after) if after else cursor.first()):
            return page
        for digest in cursor.iternext(keys=True, values=False):
            if digest != after:
                page.append(digest)
                if len(page) >= PAGE_RECORDS:
                    break
        return page


class LmdbDraft:
    """A write transaction. See `refold.store.tables.Draft`."""

    def __init__(self, txn: lmdb.Transaction[bytes], tables: Databases) -> None:
        self.txn, self._tables = txn, tables
        self._get, self._put, self._delete = txn.get, txn.put, txn.delete
        self._next = _last(txn, tables) + 1

    def view(self) -> LmdbView:
        """The same transaction, to look at."""
        return LmdbView(self.txn, self._tables)

    def row(self, stream: bytes) -> Row | None:
        data = self._get(stream + END, db=self._tables.streams)
        return None if data is None else _decoded(stream, data)

    def named(self, name: str) -> bytes | None:
        return self._get(name.encode(), db=self._tables.names)

    def blob_kept(self, digest: bytes) -> bool:
        return self.txn.cursor(self._tables.blobs).set_key(digest)

    def next_position(self) -> int:
        return self._next

    def put_record(self, stream: bytes, first: int, data: bytes) -> None:
        tables = self._tables
        position = position_key(self._next)
        # LMDB says no by an answer, not by an error, and a record must never go missing silently.
        if not self._put(position, data, append=True, db=tables.log):
            raise lmdb.CorruptedError(f"position {self._next} is not behind all others")
        self.put_index(stream, first, self._next)
        self._next += 1

    def put_index(self, stream: bytes, first: int, position: int) -> None:
        key = index_key(stream, first)
        if not self._put(key, position_key(position), overwrite=False, db=self._tables.streams):
            raise lmdb.CorruptedError(f"version {first} of {stream.hex()} is indexed already")

    def put_row(self, stream: bytes, row: Row) -> None:
        self._put(stream + END, _encode(row), db=self._tables.streams)

    def put_name(self, name: str, stream: bytes) -> None:
        self._put(name.encode(), stream, db=self._tables.names)

    def drop_name(self, name: str) -> None:
        self._delete(name.encode(), db=self._tables.names)

    def put_body(self, stream: bytes, version: int, salted: bytes) -> None:
        self._put(index_key(stream, version), salted, db=self._tables.bodies)

    def put_blob(self, digest: bytes, blob: bytes) -> None:
        self._put(digest, blob, db=self._tables.blobs)

    def clear_caches(self) -> None:
        self.txn.drop(self._tables.streams, delete=False)
        self.txn.drop(self._tables.names, delete=False)


def _decoded(stream: bytes, data: bytes) -> Row:
    try:
        return _row.decode(data)
    except msgspec.MsgspecError as error:
        raise CorruptError(
            f"the end that was kept of stream {stream.hex()} cannot be read ({error}); `rebuild` "
            "mends that"
        ) from error


def _last(txn: lmdb.Transaction[bytes], tables: Databases) -> int:
    cursor = txn.cursor(tables.log)
    return int.from_bytes(cursor.key(), "big") if cursor.last() else 0


def _seek(cursor: lmdb.Cursor[bytes], key: bytes) -> bool:
    """Move to the last row of a stream whose key is not behind `key`; False if there is none."""
    if cursor.set_range(key):
        if cursor.key() == key:
            return True
        if not cursor.prev():
            return False
    elif not cursor.last():
        return False
    return cursor.key()[:16] == key[:16]
