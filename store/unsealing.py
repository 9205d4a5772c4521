"""Taking a record apart again, and trusting it only as far as its digests reach."""

from __future__ import annotations

from typing import Final

import msgspec

from refold.events.record import (
    Header,
    StoredEvent,
    check_record,
    decode_events,
    decode_header,
    decode_record,
)

ERASED: Final = "erased"
"""The type of event that takes bodies away; its skeleton lists their `versions`."""

_decode = msgspec.msgpack.Decoder().decode


class Unsealed(msgspec.Struct, frozen=True):
    """A record taken apart, its events checked against its header.

    Attributes:
        encoded: the header as it stands in the log, over which the record's hash is taken.
    """

    header: Header
    encoded: bytes
    events: tuple[StoredEvent, ...]
    salted: tuple[bytes | bool | None, ...]

    @property
    def last(self) -> int:
        """The version of its last event."""
        return self.header.first + self.header.count - 1


def unseal(data: bytes) -> Unsealed:
    """Take a record apart and check it.

    Raises:
        CorruptError: it cannot be read, or does not match its digest.
        NewerFormatError: a later release wrote it.
    """
    record = decode_record(data)
    header = decode_header(record)
    check_record(record, header)
    return Unsealed(header, record.header, decode_events(record), record.salted)


def erased_by(event_type: str, skeleton: bytes) -> tuple[int, ...]:
    """The versions whose bodies an event took away; none if it is not of type `erased`."""
    if event_type != ERASED:
        return ()
    try:
        fields = _decode(skeleton)
    except msgspec.MsgspecError:
        return ()
    versions = fields.get("versions", ()) if isinstance(fields, dict) else ()
    return tuple(version for version in versions if isinstance(version, int))
