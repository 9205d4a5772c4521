"""What a check of a log found."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Self

import msgspec

from refold.events.record import Header


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong, and where.

    Attributes:
        message: what is wrong, in words.
        stream: None if it is not in one stream, or it is not known in which.
        record: number of the record in its stream, None if it is not known.
        first, last: the versions it concerns, both None if that is not known.
        time: of the record, milliseconds since 1970 (UTC).
    """

    message: str
    stream: bytes | None = None
    record: int | None = None
    first: int | None = None
    last: int | None = None
    time: int | None = None

    @classmethod
    def of(cls, header: Header, message: str, version: int | None = None) -> Self:
        """A problem of the record with this header, or of one version in it."""
        first = header.first if version is None else version
        last = header.first + header.count - 1 if version is None else version
        return cls(message, header.stream, header.record, first, last, header.time)

    def __str__(self) -> str:
        where = [] if self.stream is None else [f"stream {self.stream.hex()}"]
        if self.record is not None:
            where.append(f"record {self.record}")
        if self.first is not None:
            one = self.first == self.last
            where.append(
                f"version {self.first}" if one else f"versions {self.first} to {self.last}"
            )
        if self.time is not None:
            where.append(f"written {_date(self.time)}")
        return f"{', '.join(where)}: {self.message}" if where else self.message


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What was looked at, and what is wrong with it.

    Attributes:
        bodies: events that were written with a body.
        erased: bodies that are missing because they were erased.
        head: names the log up to its last record; a later `verify` can compare with it.
        problems: about in the order of the log; empty if all is well.
    """

    streams: int
    records: int
    events: int
    bodies: int
    erased: int
    blobs: int
    head: str
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def _date(time: int) -> str:
    try:
        return datetime.fromtimestamp(time / 1000, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return f"at {time} ms"
