"""Opening an environment of LMDB: how large, with which rights, with or without its lock file."""

from __future__ import annotations

import os
from typing import NamedTuple

import lmdb

from refold.events.errors import CorruptError
from refold.store.lmdb.faults import NO_ADDRESS_SPACE, NO_RIGHTS, code_of, translated
from refold.store.lmdb.files import MAX_TABLES, Databases, data_file, opened_tables

MAP_SIZE = 1 << 40
"""Address space for a log, in bytes: 1 TiB. It costs nothing before it is used."""
SMALLEST_MAP = 1 << 24
"""Below this (16 MiB) a refused map is not halved any further."""
MAX_READERS = 2046
"""Places for readers of all processes in the lock file (128 KiB)."""


class Handle(NamedTuple):
    """An opened environment.

    Attributes:
        secret: the log's own key.
        locked: whether it has its lock file. Without rights to write that file a log can still
            be looked at, but a writer does not see the reader, see `still_valid`.
    """

    environment: lmdb.Environment
    tables: Databases
    secret: bytes
    locked: bool
    page_size: int

    def map_size(self) -> int:
        """The size of the map in bytes."""
        return self.environment.info()["map_size"]

    def used(self) -> float:
        """The part of the map that is used, 1 for all."""
        info = self.environment.info()
        return info["last_pgno"] * self.page_size / info["map_size"]

    def still_valid(self, txn: lmdb.Transaction[bytes]) -> bool:
        """Whether what was read in `txn` can be trusted.

        A writer that does not see us leaves our pages alone for one commit, not longer.
        """
        return self.locked or self.environment.info()["last_txnid"] <= txn.id() + 1


def open_handle(path: str, *, writable: bool, durable: bool, map_size: int) -> Handle:
    """Open the log at `path`, which exists.

    Args:
        map_size: in bytes; halved as often as the system refuses it.

    Raises:
        LogAccessError: the operating system refuses.
        NotALogError, NewerFormatError, CorruptError: it is none that we can read.
    """
    locked = True
    while True:
        try:
            environment = lmdb.open(
                path,
                map_size=map_size,
                readonly=not writable,
                metasync=durable,
                create=False,
                readahead=False,
                max_readers=MAX_READERS,
                max_dbs=MAX_TABLES,
                max_spare_txns=0,  # a spare would keep its reader's place across a fork
                lock=locked,
            )
            break
        except (lmdb.Error, OSError) as error:
            code = code_of(error)
            if code in NO_ADDRESS_SPACE and map_size // 2 >= SMALLEST_MAP:
                map_size //= 2
            elif code in NO_RIGHTS and not writable and locked:
                locked = False
            else:
                raise translated(error, path, "open the log") from error
    try:
        _check_length(environment, path)
        environment.reader_check()
        tables, secret = opened_tables(environment, path)
        return Handle(environment, tables, secret, locked, environment.stat()["psize"])
    except BaseException as error:
        environment.close()
        if isinstance(error, lmdb.Error):
            raise translated(error, path, "open the log") from error
        raise


def _check_length(environment: lmdb.Environment, path: str) -> None:
    """Check that the file holds all pages that it says it has: to read one that is not there would
    kill the process (SIGBUS), and no error handler would run.

    LMDB may leave out pages at the end that a transaction took and gave back; a log only grows, so
    it has none.

    Raises:
        CorruptError: the file was cut off.
    """
    wanted = (environment.info()["last_pgno"] + 1) * environment.stat()["psize"]
    found = os.stat(data_file(path)).st_size
    if found < wanted:
        raise CorruptError(
            f"the log {path} is cut off: {data_file(path)} has {found} bytes, and should have "
            f"{wanted}. Bring back a copy of it"
        )
