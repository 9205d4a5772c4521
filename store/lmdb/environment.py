"""One LMDB environment per log file and process, and the traps that come with it.

All logs of a process that stand on the same file share one `Environment`, whatever the spelling of
their paths: LMDB's locks belong to the process, so opening a file twice would silently undo them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, Lock, Thread
from typing import TypeVar, cast

import lmdb

from refold.events.errors import BugError, CorruptError, LogAccessError, RefoldError
from refold.store.lmdb.faults import translated
from refold.store.lmdb.gate import Gate
from refold.store.lmdb.handle import Handle, open_handle
from refold.store.lmdb.view import LmdbDraft, LmdbView
from refold.store.slot import PATIENCE, Slot

T = TypeVar("T")

ROOMY = 1 << 30
"""A map of this size (1 GiB) is left alone until it is full; smaller ones are watched."""
CROWDED = 0.75
"""A watched map of which more than this is used is grown before the next batch."""
TRIES = 100
"""How often something is tried again where the log moved under it, or its map had to change."""


class Environment:
    """What the logs of a process on one file share.

    Attributes:
        path: as it was first opened.
        writable: whether batches can be begun.
        durable: whether commits survive power loss.
        users: how many logs share it.
        generation: moves on when the process is forked.
        changed: notified when a log is closed, and after commits of this process while somebody
            is among the `watchers`.
    """

    def __init__(self, path: str, writable: bool, durable: bool, map_size: int) -> None:
        self.path = path
        self.writable, self.durable = writable, durable
        self.users = 0
        self.generation = 0
        self._map_size = map_size
        self._refused_at = 0
        self._stranded: Handle | None = None
        self._renew_locks()
        self._handle: Handle | None = None
        self._open(writable, durable)
        self.key = self._opened().secret

    def _renew_locks(self) -> None:
        """Fresh locks: in a forked child, the old ones may be held by threads that it lacks."""
        self.changed = Condition(Lock())
        self.watchers = 0
        self._gate = Gate()
        self._slot = Slot(self._bury)
        self._draft: LmdbDraft | None = None

    # Looking

    def look(self, question: Callable[[LmdbView], T]) -> T:
        """Answer a question in a read transaction of its own, which ends before this returns.

        Without a lock file the question may be asked again, because pages changed under it.
        """
        trouble: Exception | None = None
        for _ in range(TRIES):
            self._gate.enter()
            handle = self._handle
            try:
                if handle is not None:
                    answer, valid = _asked(handle, question)
                    if valid:
                        return answer
                    continue
            except lmdb.Error as error:
                trouble = error
            finally:
                self._gate.leave()
            self._remedy(trouble, handle, "read the log")
        raise self._gave_up(trouble, "read the log")

    def tick(self) -> int:
        """The number of the last transaction that a reader sees.

        Not `last_txnid` of `info()`: that one moves on while a commit is still being synced, when
        readers do not see it yet; whoever waits for the next number would miss it.
        """
        return self.look(lambda view: view.tick())

    # Writing

    def begin(self) -> LmdbDraft:
        """Begin the process's write transaction; waits for other threads and processes."""
        self._slot.take()
        try:
            return self.begin_again()
        except BaseException:
            self._slot.free()
            raise

    def begin_again(self) -> LmdbDraft:
        """Begin the write transaction of a batch that has the slot."""
        trouble: Exception | None = None
        for _ in range(TRIES):
            handle = self._handle
            try:
                if handle is not None:
                    if self._map_size < ROOMY:
                        handle = self._make_room(handle)
                    txn = handle.environment.begin(write=True)
                    try:
                        self._draft = LmdbDraft(txn, handle.tables)
                    except BaseException:
                        txn.abort()
                        raise
                    return self._draft
            except lmdb.Error as error:
                trouble = error
            self._remedy(trouble, handle, "append to the log")
        raise self._gave_up(trouble, "append to the log")

    def end(self, thread: Thread) -> None:
        """The batch that `thread` began is over, its transaction committed or aborted.

        Nothing happens if the thread has died and was buried: then it is somebody else's turn.
        """
        if self._slot.has(thread):
            self._draft = None
            self._slot.free()

    def tell(self) -> None:
        """Wake those who wait for a commit."""
        if self.watchers:
            with self.changed:
                self.changed.notify_all()

    def grow(self) -> None:
        """Double the map. The transaction of this thread's batch must be over.

        Raises:
            LogAccessError: the system refuses.
        """
        self._draft = None
        with self.alone():
            handle = self._handle
            if handle is None:
                return
            size = 2 * handle.map_size()
            try:
                handle.environment.set_mapsize(size)
                self._map_size = size
            except lmdb.Error as error:
                self.close_handle()
                raise translated(error, self.path, "make room in the map of the log") from error

    def _make_room(self, handle: Handle) -> Handle:
        """Grow a map that is nearly full: better now than in the middle of a batch."""
        if self._map_size != self._refused_at and handle.used() > CROWDED:
            try:
                self.grow()
            except LogAccessError:
                self._refused_at = self._map_size
                self._reopen(None)
        return self._opened()

    # Opening and closing

    def strengthen(self, writable: bool, durable: bool) -> None:
        """Be at least as able and as durable as a further log asks."""
        if (writable <= self.writable) and (durable <= self.durable):
            return
        with self.alone():
            writable, durable = writable or self.writable, durable or self.durable
            self.close_handle()
            self._open(writable, durable)
            self.writable, self.durable = writable, durable

    def close_handle(self) -> None:
        """Close the file; whoever does so is `alone`. The next use would open it again."""
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.environment.close()

    def _open(self, writable: bool, durable: bool) -> None:
        if self._stranded is not None:
            raise LogAccessError(
                f"cannot open the log {self.path}: this process was forked in the middle of a "
                "transaction, whose handle can be neither used nor closed here. Start a process "
                'of its own instead (multiprocessing: `get_context("spawn")`)'
            )
        self._handle = open_handle(
            self.path, writable=writable, durable=durable, map_size=self._map_size
        )
        self._map_size = self._handle.map_size()

    def _opened(self) -> Handle:
        assert self._handle is not None
        return self._handle

    def _reopen(self, failed: Handle | None) -> None:
        with self.alone():
            if self._handle is failed:
                self.close_handle()
                self._open(self.writable, self.durable)

    def _remedy(self, trouble: Exception | None, failed: Handle | None, doing: str) -> None:
        """Make good what a transaction could not be begun for; another thread may have done so."""
        if failed is None or isinstance(trouble, lmdb.PanicError | lmdb.BadRslotError):
            self._reopen(failed)
        elif isinstance(trouble, lmdb.ReadersFullError):
            # Readers that were killed leave their places taken.
            failed.environment.reader_check()
        elif isinstance(trouble, lmdb.MapResizedError):
            # Another process has grown the map beyond ours.
            with self.alone():
                if self._handle is failed:
                    try:
                        failed.environment.set_mapsize(0)
                    except lmdb.Error:
                        self.close_handle()
        elif trouble is not None:
            raise translated(trouble, self.path, doing) from trouble

    def _gave_up(self, trouble: Exception | None, doing: str) -> RefoldError:
        if trouble is not None:
            return translated(trouble, self.path, doing)
        return LogAccessError(
            f"cannot {doing} {self.path}: it moved on {TRIES} times meanwhile. Try again when it "
            "is less busy, or give this user rights to write its lock file"
        )

    # Threads and forks

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep all transactions of the process out for a while."""
        mine = self._slot.mine()
        if not mine:
            self._slot.take()
        elif self._draft is not None:
            raise BugError("a log was to be reopened or resized in the middle of a batch")
        self._gate.shut()
        try:
            yield
        finally:
            self._gate.open()
            if not mine:
                self._slot.free()

    def _bury(self) -> None:
        """End the transaction of a thread that died with it."""
        if self._draft is not None:
            self._draft.txn.abort()
            self._draft = None

    def before_fork(self) -> bool:
        """Wait until no transaction is open; False if this thread has one itself."""
        if self._slot.mine() or not self._slot.take(10 * PATIENCE):
            return False
        self._gate.shut()
        return True

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self._gate.open()
        self._slot.free()

    def after_fork_in_child(self, quiet: bool) -> None:
        """Let go of what belongs to the parent; the next use opens the file anew.

        Args:
            quiet: whether no transaction was open, so that closing touches nothing of the parent.
        """
        self.generation += 1
        self._renew_locks()
        if quiet:
            self.close_handle()
        else:
            self._stranded, self._handle = self._handle, None


def _asked(handle: Handle, question: Callable[[LmdbView], T]) -> tuple[T, bool]:
    """The answer to a question, and whether it can be trusted.

    Nothing of the transaction is left when this returns: not even its object, which would tidy up
    after itself at any later time, such as in the middle of a fork.
    """
    txn = handle.environment.begin()
    view = LmdbView(txn, handle.tables)
    try:
        answer = question(view)
    except (lmdb.Error, CorruptError):
        if handle.still_valid(txn):
            raise
        return cast(T, None), False
    else:
        return answer, handle.still_valid(txn)
    finally:
        view.forget()
        txn.abort()
        del txn
