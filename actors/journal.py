"""The Journal: the log's only writer in a process.

Group commit: the first append of a batch opens a write transaction. If nothing waits behind it, it
is committed at once; else the Journal tells itself `Flush`: the inbox is first in, first out, so
all appends that wait already are put before the flush commits once and acknowledges them all.
"""

from __future__ import annotations

from collections.abc import Callable

from refold.actors.actor import Address, ThreadActor
from refold.actors.hub import Hub, Published
from refold.actors.messages import (
    Claim,
    Claimed,
    Flush,
    Message,
    NotRevived,
    NotWritten,
    Write,
    Written,
)
from refold.events.errors import BugError, RefoldError
from refold.store.log import Batch, Log


class Journal(ThreadActor):
    """Appends, commits, acknowledges to the Loop, and publishes to watchers, in this order."""

    def __init__(
        self,
        *,
        log: Log,
        owner: str,
        loop: Address,
        reader: Address,
        hub: Hub,
        clock: Callable[[], int],
    ) -> None:
        super().__init__()
        self._log = log
        self._owner = owner
        self._loop = loop
        self._reader = reader
        self._hub = hub
        self._clock = clock
        self._batch: Batch | None = None
        self._written: list[tuple[Write, int]] = []
        self._claimed: list[Claimed] = []
        self._time = 0
        self._flushing = False

    def handle(self, message: Message) -> None:
        """Act on one message."""
        match message:
            case Write():
                self._write(message)
                self._flush_soon()
            case Claim():
                self._claim(message)
                self._flush_soon()
            case Flush():
                self._flushing = False
                self._flush()

    def on_stop(self) -> None:
        """Commit what was put before the stop."""
        self._flush()

    def abandon(self, message: Message, error: BaseException) -> None:
        """Nothing of the batch is in the log, or nobody was told that it is."""
        if self._batch is not None:
            self._batch.abort()
        died = BugError(f"the journal died of {error!r}, so an append may not have been written")
        if isinstance(message, Write) and not any(write is message for write, _ in self._written):
            self._loop.tell(NotWritten(stream=message.stream, error=died))
        if isinstance(message, Claim):
            self._reader.tell(NotRevived(stream=message.stream, error=died))
        self._refuse_all(died)

    def _open(self) -> Batch:
        if self._batch is None:
            self._batch = self._log.batch()
            self._time = self._clock()
        return self._batch

    def _flush_soon(self) -> None:
        """At once if nobody waits; else behind those that wait already."""
        if self.actor_inbox.empty():
            self._flush()
        elif not self._flushing:
            self._flushing = True
            self.actor_ref.tell(Flush())

    def _claim(self, claim: Claim) -> None:
        try:
            epoch = self._open().claim(claim.stream, self._owner)
        except RefoldError as error:
            self._reader.tell(NotRevived(stream=claim.stream, error=error))
            return
        self._claimed.append(Claimed(stream=claim.stream, epoch=epoch, asked=claim.asked))

    def _write(self, write: Write) -> None:
        try:
            appended = self._open().append(
                write.stream,
                write.expected,
                write.events,
                time=self._time,
                epoch=write.epoch,
                cause=write.cause,
                blobs=write.blobs,
            )
        except RefoldError as error:
            self._loop.tell(NotWritten(stream=write.stream, error=error))
            return
        self._written.append((write, appended.version))

    def _flush(self) -> None:
        if self._batch is None:
            return
        try:
            self._batch.commit()
        except RefoldError as error:
            self._batch = None
            self._refuse_all(error)
            return
        written, claimed = self._written, self._claimed
        self._batch, self._written, self._claimed = None, [], []
        for write, version in written:
            self._hub.know(write.stream, write.states[-1])
            self._loop.tell(Written(stream=write.stream, version=version))
        # Behind the answers to what was appended under older claims.
        for claim in claimed:
            self._reader.tell(claim)
        for write, version in written:
            first = version - len(write.events) + 1
            self._hub.publish(
                write.stream,
                Published(write.stream, first, self._time, write.facts, write.states),
            )

    def _refuse_all(self, error: RefoldError) -> None:
        written, claimed, self._written, self._claimed = self._written, self._claimed, [], []
        for write, _ in written:
            self._loop.tell(NotWritten(stream=write.stream, error=error))
        for claim in claimed:
            self._reader.tell(NotRevived(stream=claim.stream, error=error))
