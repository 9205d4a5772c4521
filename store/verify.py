"""Checking a whole log against itself: what `refold verify` does.

Every record names the hash of the one before it in its stream, and holds the digests of its events
and their bodies; the ends of the streams are kept a second time, so a tail that was cut off is
noticed. Against an owner who rewrites everything, keep `Report.head` elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

import msgspec
from msgspec.structs import replace

from refold.events.errors import CorruptError, InvalidArgumentError, LogError
from refold.events.record import (
    DIGEST_SIZE,
    Header,
    blob_digest,
    body_digest,
    check_record,
    decode_events,
    decode_header,
    decode_record,
    hash_of,
)
from refold.store.reading import ReadableLog
from refold.store.rebuild import row_after
from refold.store.report import Problem, Report
from refold.store.tables import NO_ROW, Row, index_key, position_key
from refold.store.unsealing import Unsealed, erased_by


def verify(log: ReadableLog, head: str | None = None) -> Report:
    """Check all of `log` up to its last record of this moment; others may write meanwhile.

    Args:
        head: the `Report.head` of an earlier check, up to which the log must be what it was.

    Raises:
        InvalidArgumentError: `head` is none.
    """
    return _Check(log, head).run()


class _Progress(msgspec.Struct):
    """How far a stream has been followed.

    Attributes:
        row: what its records make of its end.
        header: of its last record.
        damaged: whether something in it could not be read, so that its name is not known.
        resume: whether its next record starts afresh, because the one before cannot be read.
        missing: what to say of the bodies that are not there, unless they were erased.
    """

    row: Row = NO_ROW
    header: Header | None = None
    damaged: bool = False
    resume: bool = False
    missing: dict[int, Problem] = msgspec.field(default_factory=dict)


class _Check:
    def __init__(self, log: ReadableLog, head: str | None) -> None:
        self._log = log
        self._wanted, self._wanted_digest = _parsed(head) if head is not None else (0, b"")
        self._found_digest: bytes | None = None
        self._problems: list[Problem] = []
        self._streams: dict[bytes, _Progress] = {}
        self._places: dict[int, tuple[bytes, int]] | None = None
        self._running = bytes(DIGEST_SIZE)
        self._indexed = 0
        self._records = self._events = self._bodies = self._erased = self._blobs = 0

    def run(self) -> Report:
        end = 0
        try:
            rows, names, end = self._log._look(
                lambda view: (dict(view.rows()), dict(view.names()), view.end())
            )
            for position, data in self._all_records(end):
                self._record(position, data)
            for progress in self._streams.values():
                self._problems += progress.missing.values()
            self._check_rows(rows)
            self._check_names(names)
            self._check_index(end)
            self._check_blobs()
            self._check_head(end)
        except CorruptError as error:
            self._problems.append(Problem(f"the check could not go on: {error}"))
        return Report(
            streams=sum(1 for progress in self._streams.values() if progress.row.version),
            records=self._records,
            events=self._events,
            bodies=self._bodies,
            erased=self._erased,
            blobs=self._blobs,
            head=f"{end}:{self._running.hex()}",
            problems=tuple(self._problems),
        )

    def _all_records(self, end: int) -> Iterator[tuple[int, bytes]]:
        position = 0
        while position < end:
            after = position
            page = self._log._look(lambda view: view.records(after, end))  # noqa: B023
            for found, data in page or [(end + 1, b"")]:
                if found != position + 1:
                    self._say(f"records {position + 1} to {found - 1} of the log are missing")
                position = found
                if position <= end:
                    yield position, data

    def _record(self, position: int, data: bytes) -> None:
        self._records += 1
        try:
            record = decode_record(data)
            header = decode_header(record)
        except LogError as error:
            self._unreadable(position, data, error)
            return
        self._run_on(position, hash_of(record.header))
        self._indexed += _mark(header.stream, header.first, position)
        self._events += header.count
        progress = self._streams.setdefault(header.stream, _Progress())
        self._follow(progress, header)
        try:
            check_record(record, header)
            unsealed = Unsealed(header, record.header, decode_events(record), record.salted)
        except LogError as error:
            self._say_of(header, f"its events were changed ({error})")
            progress.damaged = True
            unsealed = Unsealed(header, record.header, (), ())
        self._check_bodies(progress, unsealed)
        progress.row = row_after(progress.row, position, unsealed)
        progress.header, progress.resume = header, False

    def _follow(self, progress: _Progress, header: Header) -> None:
        """Check that a record goes on where its stream was."""
        row, before = progress.row, progress.header
        if progress.resume:
            return
        if header.record > row.record + 1 and header.first > row.version:
            self._say(
                f"records {row.record + 1} to {header.record - 1} of the stream are missing",
                header.stream,
                first=row.version + 1,
                last=header.first - 1,
            )
        elif (header.record, header.first) != (row.record + 1, row.version + 1):
            self._say_of(
                header,
                f"it stands where record {row.record + 1} with version {row.version + 1} should",
            )
        elif header.previous != row.hash:
            self._say_of(
                before or header,
                f"it was changed, or what record {header.record} says of it: the hashes differ",
            )
        if header.epoch and header.epoch < row.epoch:
            self._say_of(
                header, f"an owner with epoch {header.epoch} wrote it after epoch {row.epoch} had"
            )

    def _check_bodies(self, progress: _Progress, unsealed: Unsealed) -> None:
        header = unsealed.header
        stream, version = header.stream, header.first - 1
        for stored, salted in zip(unsealed.events, unsealed.salted, strict=True):
            version += 1
            if salted is True:
                key = version
                salted = self._log._look(lambda view: view.body(stream, key))  # noqa: B023
            if stored.digest is not None:
                self._bodies += 1
                if not isinstance(salted, bytes):
                    progress.missing[version] = Problem.of(
                        header, "its body is missing, and no event says that it was erased", version
                    )
                elif body_digest(salted) != stored.digest:
                    self._problems.append(Problem.of(header, "its body was changed", version))
            for taken in erased_by(stored.type, stored.skeleton):
                if progress.missing.pop(taken, None) is not None:
                    self._erased += 1

    def _unreadable(self, position: int, data: bytes, error: LogError) -> None:
        self._run_on(position, hash_of(data))
        if self._places is None:
            self._places = {where: (stream, first) for stream, first, where in self._all_index()}
        stream, first = self._places.get(position, (None, None))
        self._say(f"record {position} of the log cannot be read ({error})", stream, first=first)
        if stream is not None and first is not None:
            self._indexed += _mark(stream, first, position)
            progress = self._streams.setdefault(stream, _Progress())
            progress.damaged = progress.resume = True
            row = progress.row
            progress.row = replace(row, record=row.record + 1, born=row.born or position)

    def _check_rows(self, rows: dict[bytes, Row]) -> None:
        for stream in sorted(self._streams.keys() | rows.keys()):
            progress = self._streams.get(stream, _Progress())
            made, kept = progress.row, rows.get(stream, NO_ROW)
            if kept.version > made.version and not progress.resume:
                self._say(
                    "its tail was cut off: the end that was kept of it is at version "
                    f"{kept.version}, and its last record at version {made.version}",
                    stream,
                    first=made.version + 1,
                    last=kept.version,
                )
            elif progress.resume:
                continue
            elif kept.version < made.version or kept.record != made.record:
                self._say(
                    f"the end that was kept of it is at version {kept.version}, and its last "
                    f"record at version {made.version}; `rebuild` mends that",
                    stream,
                )
            elif kept.hash != made.hash and progress.header is not None:
                self._say_of(
                    progress.header, "it was changed, or the hash that was kept of it: they differ"
                )
            elif kept.epoch < made.epoch or (not progress.damaged and not _agree(kept, made)):
                self._say(
                    "what was kept of its end does not match its records; `rebuild` mends that",
                    stream,
                )

    def _check_names(self, names: dict[str, bytes]) -> None:
        streams = self._streams
        made = {p.row.name: stream for stream, p in streams.items() if p.row.name}
        unsure = {stream for stream, progress in streams.items() if progress.damaged}
        for name in sorted(made.keys() | names.keys()):
            kept, wanted = names.get(name), made.get(name)
            if kept != wanted and kept not in unsure and wanted not in unsure:
                self._say(
                    f"the name {name!r} leads to {_shown(kept)}, and should to {_shown(wanted)}; "
                    "`rebuild` mends that"
                )

    def _check_index(self, end: int) -> None:
        marks = sum(_mark(*row) for row in self._all_index() if row[2] <= end)
        if marks != self._indexed:
            self._say("the index does not lead to the records; `rebuild` mends that")

    def _all_index(self) -> Iterator[tuple[bytes, int, int]]:
        after = b""
        while page := self._log._look(lambda view: view.index(after)):  # noqa: B023
            yield from page
            after = index_key(*page[-1][:2])

    def _check_blobs(self) -> None:
        after = b""
        while page := self._log._look(lambda view: view.blobs(after)):  # noqa: B023
            for after in page:
                self._blobs += 1
                blob = self._log._look(lambda view: view.blob(after))  # noqa: B023
                if blob is not None and blob_digest(self._log.key, blob) != after:
                    self._say(f"blob {after.hex()} was changed")

    def _check_head(self, end: int) -> None:
        if self._wanted > end:
            self._say(
                f"the log had {self._wanted} records once, and has {end}: its tail was cut off"
            )
        elif self._wanted and self._found_digest != self._wanted_digest:
            self._say(f"the first {self._wanted} records are not those that they once were")

    def _run_on(self, position: int, digest: bytes) -> None:
        self._running = blake2b(self._running + digest, digest_size=DIGEST_SIZE).digest()
        if position == self._wanted:
            self._found_digest = self._running

    def _say(
        self,
        message: str,
        stream: bytes | None = None,
        *,
        first: int | None = None,
        last: int | None = None,
    ) -> None:
        self._problems.append(Problem(message, stream, None, first, last or first))

    def _say_of(self, header: Header, message: str) -> None:
        self._problems.append(Problem.of(header, message))


def _agree(kept: Row, made: Row) -> bool:
    return replace(kept, epoch=0, owner="") == replace(made, epoch=0)


def _mark(stream: bytes, first: int, position: int) -> int:
    """A number for a row of the index; equal sums mean equal rows, in whatever order."""
    data = index_key(stream, first) + position_key(position)
    return int.from_bytes(blake2b(data, digest_size=DIGEST_SIZE).digest(), "big")


def _shown(stream: bytes | None) -> str:
    return "nothing" if stream is None else f"stream {stream.hex()}"


def _parsed(head: str) -> tuple[int, bytes]:
    position, _, digest = head.partition(":")
    try:
        parsed = int(position), bytes.fromhex(digest)
    except ValueError:
        parsed = 0, b""
    if not position.isdigit() or len(parsed[1]) != DIGEST_SIZE:
        raise InvalidArgumentError(
            f"{head!r} is no head of a log: `refold verify` prints one, a number and a digest"
        )
    return parsed
