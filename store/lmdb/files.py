"""The folder of a log: telling whether it is one, and making one as a whole or not at all."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from os import urandom
from tempfile import mkdtemp

import lmdb

from refold.events.errors import NewerFormatError, NotALogError
from refold.events.record import HASH_SIZE
from refold.store.lmdb.faults import translated

FORMAT = 1
"""The version of the layout of the tables. A newer one is refused."""
FORMAT_KEY = b"format"
SECRET_KEY = b"key"
DATA, LOCK = "data.mdb", "lock.mdb"
MAX_TABLES = 16
UNFINISHED = ".new-"
"""How folders begin in which a log is being made; a killed process may leave one."""

_MAGIC = (0xBEEFC0DE).to_bytes(4, "little"), (0xBEEFC0DE).to_bytes(4, "big")
_SMALL_MAP = 1 << 24
_FOREIGN = "{} is an LMDB file, but not a log: choose another path"


@dataclass(frozen=True, slots=True)
class Databases:
    """The tables of a log.

    Attributes:
        log: position (8 bytes, big-endian) -> record.
        streams: uid + first version of a record (8 bytes, big-endian) -> its position; and, behind
            those, uid + `END` -> what is known of the stream's end. They stand together, so that
            an append touches one page for both. All of it can be restored from `log`.
        names: name -> uid. Can be restored, too.
        bodies: uid + version -> salt and body, where they stand outside their record.
        blobs: digest -> bytes.
        meta: format and secret of the log.
    """

    log: lmdb._Database
    streams: lmdb._Database
    names: lmdb._Database
    bodies: lmdb._Database
    blobs: lmdb._Database
    meta: lmdb._Database


def databases(environment: lmdb.Environment, create: bool) -> Databases:
    """The tables of an environment.

    Opening them takes the write lock for a moment: the handles that a read transaction opens do
    not outlive it.
    """
    return Databases(
        *(environment.open_db(name.encode(), create=create) for name in Databases.__slots__)
    )


def data_file(path: str) -> str:
    """The file of a log that holds everything."""
    return os.path.join(path, DATA)


def identity(path: str) -> tuple[int, int] | None:
    """What tells a log from others, whatever the spelling of its path; None if there is none."""
    try:
        status = os.stat(data_file(path))
    except OSError:
        return None
    return status.st_dev, status.st_ino


def check_place(path: str, create: bool) -> bool:
    """Look at a path before LMDB does, which would put its files into any folder.

    Returns:
        True if there is a log file; False if a log can be made here.

    Raises:
        NotALogError: neither.
        LogAccessError: it cannot be looked at.
    """
    try:
        names = os.listdir(path)
        if DATA in names:
            _check_magic(path)
            if LOCK not in names:
                _check_alone(path)
            return True
    except FileNotFoundError:
        names = []
    except NotADirectoryError as error:
        raise NotALogError(
            f"{path} is a file, and a log is a folder: choose another path"
        ) from error
    except OSError as error:
        raise translated(error, path, "open the log") from error
    if any(not name.startswith(UNFINISHED) for name in names):
        raise NotALogError(
            f"{path} is a folder with other things in it ({sorted(names)[0]} for one), and not a "
            "log: choose another path"
        )
    if not create:
        raise NotALogError(
            f"there is no log at {path}: check the path (`--log PATH`, or `REFOLD_LOG`), or make "
            "one with `refold run`"
        )
    return False


def create_log(path: str) -> None:
    """Make an empty log. Other processes see nothing of it until it is whole.

    Raises:
        LogAccessError: the system refused; nothing is left behind.
    """
    made = False
    try:
        with suppress(FileExistsError):
            os.mkdir(path)
            made = True
        place = mkdtemp(prefix=UNFINISHED, dir=path)
        try:
            _write_empty(place)
            _publish(data_file(place), data_file(path))
        finally:
            shutil.rmtree(place, ignore_errors=True)
        _sync_folder(path)
        _sync_folder(os.path.dirname(os.path.abspath(path)))
    except (OSError, lmdb.Error) as error:
        if made:
            with suppress(OSError):
                os.rmdir(path)
        raise translated(error, path, "make the log") from error


def opened_tables(environment: lmdb.Environment, path: str) -> tuple[Databases, bytes]:
    """The tables and the secret of an environment, if it holds a log of a format we know.

    Raises:
        NewerFormatError: a later release made it.
        NotALogError: it is something else.
    """
    try:
        meta = environment.open_db(b"meta", create=False)
    except lmdb.NotFoundError as error:
        raise NotALogError(_FOREIGN.format(path)) from error
    with environment.begin() as txn:
        form, secret = txn.get(FORMAT_KEY, db=meta), txn.get(SECRET_KEY, db=meta)
    if form is None or secret is None or not form.isdigit():
        raise NotALogError(_FOREIGN.format(path))
    if int(form) > FORMAT:
        raise NewerFormatError(
            f"the log {path} has format {int(form)}, and this release reads up to {FORMAT}: "
            "update refold to open it (`pip install -U refold`)"
        )
    return databases(environment, create=False), secret


def _check_magic(path: str) -> None:
    # A plain close of a file drops the process's locks on it. LMDB's are on its lock file, which
    # is never touched here.
    with open(data_file(path), "rb") as file:
        start = file.read(64)
    if not any(magic in start for magic in _MAGIC):
        raise NotALogError(f"{data_file(path)} is not an LMDB file: choose another path")


def _check_alone(path: str) -> None:
    """Check an LMDB file that nobody has open, without leaving a lock file beside a foreign one."""
    try:
        with lmdb.open(
            path, readonly=True, lock=False, max_dbs=MAX_TABLES, map_size=_SMALL_MAP
        ) as environment:
            opened_tables(environment, path)
    except lmdb.Error as error:
        raise translated(error, path, "open the log") from error


def _write_empty(place: str) -> None:
    with lmdb.open(place, max_dbs=MAX_TABLES, map_size=_SMALL_MAP) as environment:
        tables = databases(environment, create=True)
        with environment.begin(write=True) as txn:
            txn.put(FORMAT_KEY, b"%d" % FORMAT, db=tables.meta)
            txn.put(SECRET_KEY, urandom(HASH_SIZE), db=tables.meta)


def _publish(made: str, final: str) -> None:
    """Give the finished file its name, unless another process was first."""
    try:
        os.link(made, final)
    except FileExistsError:
        return
    except OSError:  # no hard links on this file system
        if not os.path.exists(final):
            os.rename(made, final)


def _sync_folder(path: str) -> None:
    """Make the names in a folder durable; LMDB syncs its file only."""
    if os.name == "nt":
        return
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
