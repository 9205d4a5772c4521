"""A batch of appends in one write transaction of LMDB."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import current_thread
from types import TracebackType
from typing import NoReturn, Self, TypeVar

import lmdb

from refold.events.errors import BugError, ClosedError, LogAccessError, RefoldError
from refold.events.record import EventData
from refold.store.appending import append_to, claim_in
from refold.store.lmdb.environment import Environment
from refold.store.lmdb.faults import translated
from refold.store.lmdb.view import LmdbDraft
from refold.store.log import Appended, Expected
from refold.store.tables import Draft, View

T = TypeVar("T")

Step = Callable[[LmdbDraft], object]
"""Something to be done in a transaction; more than once if the map was full."""


class LmdbBatch:
    """See `refold.store.log.Batch`.

    It keeps what it did until the commit: when the map is full, LMDB throws the transaction away,
    and all of it is played again into a larger map.
    """

    def __init__(self, environment: Environment, check_open: Callable[[], None]) -> None:
        self._environment = environment
        self._check_open = check_open
        self._generation = environment.generation
        self._thread = current_thread()
        self._done: list[tuple[Step, object]] = []
        self._draft: LmdbDraft | None = environment.begin()

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
        key = self._environment.key

        def step(draft: LmdbDraft) -> Appended:
            return append_to(draft, key, stream, expected, events, time, epoch, cause, blobs)

        return self._play(step)

    def claim(self, stream: bytes, owner: str) -> int:
        """See `refold.store.log.Batch.claim`."""
        return self._play(lambda draft: claim_in(draft, stream, owner))

    def rewrite(self, work: Callable[[View, Draft], T]) -> T:
        """Do work that looks and writes, as a part of this batch."""
        return self._play(lambda draft: work(draft.view(), draft))

    def commit(self) -> None:
        """See `refold.store.log.Batch.commit`."""
        draft = self._usable()
        if not self._done:
            self.abort()
            return
        while True:
            try:
                draft.txn.commit()
                break
            except lmdb.MapFullError:
                draft = self._play_again()
            except lmdb.Error as error:
                self._lose(error)
        self._draft = None
        self._environment.end(self._thread)
        self._environment.tell()

    def abort(self) -> None:
        """See `refold.store.log.Batch.abort`."""
        if self._draft is not None and self._generation == self._environment.generation:
            self._end()
        self._draft = None

    def is_mine(self) -> bool:
        """Whether this thread began it."""
        return self._thread is current_thread()

    def _play(self, step: Callable[[LmdbDraft], T]) -> T:
        draft = self._usable()
        try:
            done = step(draft)
        except lmdb.MapFullError:
            self._play_again()
            return self._play(step)
        except lmdb.Error as error:
            self._lose(error)
        self._done.append((step, done))
        return done

    def _play_again(self) -> LmdbDraft:
        """Grow the map, and do everything again in a new transaction."""
        environment = self._environment
        while True:
            if self._draft is not None:
                self._draft.txn.abort()
                self._draft = None
            try:
                environment.grow()
                self._draft = environment.begin_again()
                for step, done in self._done:
                    if step(self._draft) != done:
                        raise LogAccessError("another process was faster")
                return self._draft
            except lmdb.MapFullError:
                continue
            except RefoldError as error:
                self._end()
                raise LogAccessError(
                    f"the map of the log {environment.path} was full and had to grow, and this "
                    f"batch could not be played again ({error}); nothing of it was written. "
                    "Append it again"
                ) from error
            except lmdb.Error as error:
                self._lose(error)

    def _lose(self, error: Exception) -> NoReturn:
        self._end()
        raise translated(error, self._environment.path, "append to the log") from error

    def _end(self) -> None:
        if self._draft is not None:
            self._draft.txn.abort()
            self._draft = None
        self._environment.end(self._thread)

    def _usable(self) -> LmdbDraft:
        draft = self._draft
        if draft is None:
            raise BugError("a batch was used after its end")
        if self._generation != self._environment.generation:
            raise ClosedError("this batch was begun before the process was forked: begin another")
        if current_thread() is not self._thread:
            raise BugError("a batch was used on a thread that did not begin it")
        try:
            self._check_open()
        except ClosedError:
            self._end()
            raise
        return draft

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
        elif self._draft is not None:
            self.commit()
