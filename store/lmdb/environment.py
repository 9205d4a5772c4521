"""One LMDB environment per log file and process, and the traps that come with it.

All logs of a process that stand on the same file share one `Environment`, whatever the spelling of
their paths: LMDB's locks belong to the process, so opening a file twice would silently undo them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, Lock, Thread, current_thread
from typing import TypeVar

import lmdb

from refold.events.errors import BugError, LogAccessError
from refold.store.lmdb.faults import NO_ADDRESS_SPACE, NO_RIGHTS, code_of, translated
from refold.store.lmdb.files import MAX_TABLES, opened_tables
from refold.store.lmdb.gate import Gate
from refold.store.lmdb.view import LmdbView

T = TypeVar("T")

MAP_SIZE = 1 << 40
"""Address space for a log, in bytes: 1 TiB. It costs nothing before it is used."""
SMALLEST_MAP = 1 << 24
"""Below this (16 MiB) a refused map is not halved any further."""
MAX_READERS = 2046
PATIENCE = 0.5
"""Seconds between looks at whether the thread that is waited for still lives."""
TRIES = 100
"""How often a read is tried again where the log moved under it, or its map had to change."""


class Handle:
    """An opened environment of LMDB, with its tables."""

    def __init__(self, environment: lmdb.Environment, path: str, locked: bool) -> None:
        self.environment = environment
        self.locked = locked
        self.tables, self.secret = opened_tables(environment, path)


class Writing:
    """A write transaction of this process; it belongs to the thread that began it."""

    def __init__(self, handle: Handle, txn: lmdb.Transaction[bytes]) -> None:
        self.handle = handle
        self.txn = txn
        self.thread: Thread = current_thread()


class Environment:
    """What the logs of a process on one file share.

    Attributes:
        path: as it was first opened.
        writable: whether batches can be begun.
        durable: whether commits survive power loss.
        changed: notified after each commit of this process, and when a log is closed.
        generation: moves on when the process is forked.
    """

    def __init__(self, path: str, writable: bool, durable: bool, map_size: int) -> None:
        self.path = path
        self.writable, self.durable = writable, durable
        self.users = 0
        self.generation = 0
        self._map_size = map_size
        self._stranded: Handle | None = None
        self.renew_locks()
        self._handle: Handle | None = self._opened(writable, durable)
        self.key = self._handle.secret

    def renew_locks(self) -> None:
        """Fresh locks: in a forked child, the old ones may be held by threads that it lacks."""
        self.changed = Condition(Lock())
        self._gate = Gate()
        self._slot = Condition(Lock())
        self._writing: Writing | None = None
        self._owner: Thread | None = None

    # Looking

    def look(self, question: Callable[[LmdbView], T]) -> T:
        """Answer a question in a read transaction of its own, which ends before this returns."""
        for _ in range(TRIES):
            handle = self._handle
            remedy: Callable[[Handle | None], None] = self._reopen
            self._gate.enter()
            try:
                if handle is not None and handle is self._handle:
                    with handle.environment.begin() as txn:
                        answer = question(LmdbView(txn, handle.tables))
                        if handle.locked or self._unmoved(handle, txn):
                            return answer
                    continue
            except lmdb.MapResizedError:
                remedy = self._adopt
            except lmdb.ReadersFullError:
                remedy = self._clear_readers
            except lmdb.PanicError:
                remedy = self._reopen
            except lmdb.Error as error:
                if handle is not None and not handle.locked:
                    continue
                raise translated(error, self.path, "read the log") from error
            finally:
                self._gate.leave()
            remedy(handle)
        raise LogAccessError(
            f"cannot read the log {self.path}: it moved on {TRIES} times while it was read. Try "
            "again when it is less busy, or give this user rights to write its lock file"
        )

    def tick(self) -> int:
        """The number of the last transaction that a reader sees.

        Not `last_txnid` of `info()`: that one moves on while a commit is still being synced, when
        readers do not see it yet; whoever waits for the next number would miss it.
        """
        return self.look(lambda view: view.tick())

    # Writing

    def begin(self) -> Writing:
        """Begin the process's write transaction; waits for other threads and processes."""
        me = current_thread()
        with self._slot:
            if self._owner is me:
                raise BugError("a batch was begun inside another one of the same thread")
            while self._owner is not None:
                if not self._slot.wait(PATIENCE):
                    self._bury()
            self._owner = me
        try:
            self._writing = self.begin_again()
            return self._writing
        except BaseException:
            self._free_slot()
            raise

    def begin_again(self) -> Writing:
        """Begin the write transaction of a batch that holds the slot."""
        for _ in range(TRIES):
            handle = self._handle
            remedy: Callable[[Handle | None], None] = self._reopen
            self._gate.enter()
            try:
                if handle is not None and handle is self._handle:
                    txn = handle.environment.begin(write=True)
                    self._writing = Writing(handle, txn)
                    return self._writing
            except lmdb.MapResizedError:
                remedy = self._adopt
            except lmdb.PanicError:
                remedy = self._reopen
            except lmdb.Error as error:
                raise translated(error, self.path, "append to the log") from error
            finally:
                if self._writing is None:
                    self._gate.leave()
            remedy(handle)
        raise LogAccessError(f"cannot append to the log {self.path}: its map keeps changing")

    def pause(self) -> None:
        """The transaction of this thread's batch is over, and the batch still holds the slot."""
        self._writing = None
        self._gate.leave()

    def end(self) -> None:
        """The batch of this thread is over, its transaction committed or aborted."""
        if self._writing is not None:
            self.pause()
        self._free_slot()

    def grow(self) -> None:
        """Double the map.

        Raises:
            LogAccessError: the system refuses.
        """
        with self._alone():
            handle = self._handle
            if handle is None:
                return
            size = 2 * handle.environment.info()["map_size"]
            try:
                handle.environment.set_mapsize(size)
                self._map_size = size
            except lmdb.Error as error:
                self._close_handle()
                raise translated(error, self.path, "make room in the map of the log") from error

    # Opening and closing

    def strengthen(self, writable: bool, durable: bool) -> None:
        """Be at least as able and as durable as a further log asks."""
        writable, durable = writable or self.writable, durable or self.durable
        if (writable, durable) == (self.writable, self.durable):
            return
        with self._alone():
            self._close_handle()
            self._handle = self._opened(writable, durable)
            self.writable, self.durable = writable, durable

    def close(self) -> None:
        """Close it, when the last transaction of any thread is over."""
        with self._alone():
            self._close_handle()

    def _opened(self, writable: bool, durable: bool) -> Handle:
        if self._stranded is not None:
            raise LogAccessError(
                f"cannot open the log {self.path}: this process was forked in the middle of a "
                "transaction, whose handle can be neither used nor closed here. Start a process "
                'of its own instead (multiprocessing: `get_context("spawn")`)'
            )
        size = self._map_size
        locked = True
        while True:
            try:
                environment = lmdb.open(
                    self.path,
                    map_size=size,
                    readonly=not writable,
                    metasync=durable,
                    create=False,
                    readahead=False,
                    max_readers=MAX_READERS,
                    max_dbs=MAX_TABLES,
                    lock=locked,
                )
            except (lmdb.Error, OSError) as error:
                code = code_of(error)
                if code in NO_ADDRESS_SPACE and size // 2 >= SMALLEST_MAP:
                    size //= 2
                elif code in NO_RIGHTS and not writable and locked:
                    locked = False
                else:
                    raise translated(error, self.path, "open the log") from error
            else:
                break
        self._map_size = size
        try:
            environment.reader_check()
            return Handle(environment, self.path, locked)
        except BaseException as error:
            environment.close()
            if isinstance(error, lmdb.Error):
                raise translated(error, self.path, "open the log") from error
            raise

    def _close_handle(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.environment.close()

    # Remedies: each is given the handle that failed, for another thread may have been faster

    def _reopen(self, failed: Handle | None) -> None:
        with self._alone():
            if self._handle is failed:
                self._close_handle()
                self._handle = self._opened(self.writable, self.durable)

    def _adopt(self, failed: Handle | None) -> None:
        """Another process has grown the map beyond ours."""
        with self._alone():
            if self._handle is not None and self._handle is failed:
                try:
                    self._handle.environment.set_mapsize(0)
                except lmdb.Error:
                    self._close_handle()

    def _clear_readers(self, failed: Handle | None) -> None:
        """Readers that were killed leave their places taken."""
        with self._alone():
            if self._handle is not None and self._handle is failed:
                self._handle.environment.reader_check()

    @staticmethod
    def _unmoved(handle: Handle, txn: lmdb.Transaction[bytes]) -> bool:
        """Whether a read without a lock file can be trusted.

        A writer that does not see us leaves our pages alone for one commit, not longer.
        """
        return handle.environment.info()["last_txnid"] <= txn.id() + 1

    # Threads

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep all transactions of the process out for a while."""
        while not self._gate.shut(PATIENCE):
            with self._slot:
                self._bury()
        try:
            yield
        finally:
            self._gate.open()

    def _bury(self) -> None:
        """End the transaction of a thread that died with it; the slot is locked by the caller."""
        owner, writing = self._owner, self._writing
        if owner is None or owner.is_alive():
            return
        if writing is not None:
            writing.txn.abort()
            self._writing = None
            self._gate.leave(owner)
        self._owner = None
        self._slot.notify()

    def _free_slot(self) -> None:
        with self._slot:
            self._owner = None
            self._slot.notify()

    def before_fork(self) -> bool:
        """Wait until no transaction is open; False if this thread has one itself."""
        return not self._gate.holds() and self._gate.shut(10 * PATIENCE)

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self._gate.open()

    def after_fork_in_child(self, quiet: bool) -> None:
        """Let go of what belongs to the parent; the next use opens the file anew.

        Args:
            quiet: whether no transaction was open, so that closing touches nothing of the parent.
        """
        self.generation += 1
        self.renew_locks()
        if quiet:
            self._close_handle()
        else:
            self._stranded, self._handle = self._handle, None
