"""A log in memory: the same records, the same promises, gone with the process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import urandom
from threading import Condition, Lock, Thread, current_thread
from time import monotonic
from types import TracebackType
from typing import Self, TypeVar

from refold.events.errors import BugError, ClosedError
from refold.events.record import HASH_SIZE, EventData
from refold.store.appending import append_to, claim_in
from refold.store.kept import Kept, Staged
from refold.store.log import Appended, Expected
from refold.store.reading import ReadableLog
from refold.store.slot import Slot
from refold.store.tables import Draft, View

T = TypeVar("T")


class MemoryBatch:
    """A batch of a log in memory. See `refold.store.log.Batch`."""

    def __init__(self, log: MemoryLog, staged: Staged) -> None:
        self._log = log
        self._staged: Staged | None = staged
        self._thread = current_thread()

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
        draft = self._usable()
        return append_to(draft, self._log.key, stream, expected, events, time, epoch, cause, blobs)

    def claim(self, stream: bytes, owner: str) -> int:
        """See `refold.store.log.Batch.claim`."""
        return claim_in(self._usable(), stream, owner)

    def commit(self) -> None:
        """See `refold.store.log.Batch.commit`."""
        staged = self._usable()
        self._staged = None
        self._log._end_batch(self._thread, staged)

    def abort(self) -> None:
        """See `refold.store.log.Batch.abort`."""
        if self._staged is not None:
            self._staged = None
            self._log._end_batch(self._thread, None)

    def _usable(self) -> Staged:
        staged = self._staged
        if staged is None:
            raise BugError("a batch was used after its end")
        if self._thread is not current_thread():
            raise BugError("a batch was used on a thread that did not begin it")
        try:
            self._log._check_open()
        except ClosedError:
            self.abort()
            raise
        return staged

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
        self._slot = Slot(bury=lambda: None)

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
        self.close()
        after = MemoryLog()
        after._kept, after._key = self._kept, self._key
        return after

    def close(self) -> None:
        """See `refold.store.log.Log.close`."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _begin_batch(self) -> Staged:
        self._check_open()
        self._slot.take()
        return Staged(self._kept)

    def _end_batch(self, thread: Thread, staged: Staged | None) -> None:
        """End the batch of `thread`, unless it has died and its turn has passed on."""
        if not self._slot.has(thread):
            return
        try:
            if staged is not None:
                with self._changed:
                    self._check_open()
                    staged.commit()
                    self._ticks += 1
                    self._changed.notify_all()
        finally:
            self._slot.free()

    def _look(self, question: Callable[[View], T]) -> T:
        with self._changed:
            self._check_open()
            return question(self._kept)

    def _rewrite(self, work: Callable[[View, Draft], T]) -> T:
        staged = self._begin_batch()
        done = None
        try:
            answer = work(self._kept, staged)
            done = staged
            return answer
        finally:
            self._end_batch(current_thread(), done)

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
