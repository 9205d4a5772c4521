"""Logs in memory that a test can hold up, count, break, and cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from refold.events.record import EventData
from refold.store import ANY, MemoryLog
from refold.store.log import Appended, Expected
from refold.store.memory import MemoryBatch


class WatchedLog(MemoryLog):
    """Counts what is appended and committed; calls the test before each.

    Attributes:
        commits: how many records each commit held, claims left out.
        before_append, before_commit: called first; what they raise is raised.
    """

    def __init__(self) -> None:
        super().__init__()
        self.commits: list[int] = []
        self.before_append: Callable[[], object] = lambda: None
        self.before_commit: Callable[[], object] = lambda: None

    def batch(self) -> MemoryBatch:
        """See `refold.store.log.Log.batch`."""
        return _WatchedBatch(self, self._begin_batch())


class _WatchedBatch(MemoryBatch):
    def __init__(self, log: WatchedLog, staged: Any) -> None:
        super().__init__(log, staged)
        self._watched = log
        self._records = 0

    def append(
        self, stream: bytes, expected: Expected, events: Sequence[EventData], **given: Any
    ) -> Appended:
        self._watched.before_append()
        appended = super().append(stream, expected, events, **given)
        self._records += 1
        return appended

    def commit(self) -> None:
        try:
            self._watched.before_commit()
        except BaseException:
            self.abort()  # as a log whose disk is full
            raise
        super().commit()
        if self._records:
            self._watched.commits.append(self._records)


def cut(log: MemoryLog, stream: bytes, version: int) -> MemoryLog:
    """Another log with the first `version` events of a stream: what a process left that was killed
    there. In a record that is cut only its first events are left, which no real log does.
    """
    left = MemoryLog()
    left._key = log.key
    left._kept.blob_table.update(log._kept.blob_table)
    read = list(log.read(stream, until=version)) if version else []
    for _, some in groupby(read, key=lambda recorded: recorded.record):
        record = list(some)
        events = [recorded.event for recorded in record]
        left.append(stream, ANY, events, time=record[0].time)
    return left


def borders(log: MemoryLog, stream: bytes) -> list[int]:
    """The versions at which a record ends."""
    read = list(log.read(stream, bodies=False))
    return [
        recorded.version
        for recorded, behind in zip(read, [*read[1:], None], strict=True)
        if behind is None or behind.record != recorded.record
    ]
