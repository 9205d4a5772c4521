"""The record format: one append, as it stands in a log.

A record is one header and the events of one append; it may hold several decisions. The version
of a stream counts events, so an append of five events moves it by five.

    record  = [header, events, bodies]            msgpack, header and events as byte strings
    header  = [format, stream, record, first, count, time, epoch, cause, previous, digest]
    events  = [[type, schema, critical, skeleton, body digest], ...]
    bodies  = [None | salt + body | True, ...]    True: kept in a place of its own

The hash of a record covers its header; the header holds the digest of the events; an event holds
the digest of salt and body. So a body can be taken away later, salt and all, and the chain still
holds. (A plain digest of a short body would give it back to whoever guesses.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b

import msgspec

from refold.events.errors import CorruptError, NewerFormatError

FORMAT = 1
SALT_SIZE = 16
DIGEST_SIZE = 16
HASH_SIZE = 32
UID_SIZE = 16
NO_HASH = bytes(HASH_SIZE)
INLINE_LIMIT = 1024
"""Bodies above this many bytes stand outside their record (DESIGN: about 1 KiB)."""


class EventData(msgspec.Struct, frozen=True, gc=False):
    """An event in stored form: what a log takes and gives; it knows no fact classes.

    Attributes:
        type, schema, critical: see `refold.events.fact.Fact`.
        skeleton: the fact's fields, msgpack.
        body: its content, or None if it has none, or if it was not asked for or was erased.
        has_body: True if it was written with a body, whatever `body` holds now.
    """

    type: str
    schema: int
    critical: bool
    skeleton: bytes
    body: bytes | None = None
    has_body: bool = False


class Recorded(msgspec.Struct, frozen=True, gc=False):
    """An event as read back, with where and when it stands.

    Attributes:
        version: 1 for the first event of the stream.
        time: milliseconds since 1970 (UTC), when it was appended.
        record: the number of its record within the stream, from 1.
    """

    stream: bytes
    version: int
    time: int
    record: int
    event: EventData


class Header(msgspec.Struct, frozen=True, array_like=True, kw_only=True, gc=False):
    """The part of a record that its hash covers.

    Attributes:
        record: number of this record in its stream, from 1.
        first: version of its first event.
        count: how many events it holds.
        time: milliseconds since 1970 (UTC).
        epoch: the owner's epoch, 0 if it was appended by someone who drives nothing.
        cause: who appended, in a word.
        previous: hash of the stream's record before this one.
        digest: of the encoded events.
    """

    format: int = FORMAT
    stream: bytes
    record: int
    first: int
    count: int
    time: int
    epoch: int
    cause: str
    previous: bytes
    digest: bytes


class StoredEvent(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One item of a record's `events`."""

    type: str
    schema: int
    critical: bool
    skeleton: bytes
    digest: bytes | None


class Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A record as bytes; `salted` bodies are `salt + body`."""

    header: bytes
    events: bytes
    salted: tuple[bytes | bool | None, ...]


_encode = msgspec.msgpack.Encoder().encode
_header = msgspec.msgpack.Decoder(Header)
_events = msgspec.msgpack.Decoder(tuple[StoredEvent, ...])
_record = msgspec.msgpack.Decoder(Record)


def hash_of(header: bytes) -> bytes:
    """The hash of a record, which the stream's next record names as `previous`."""
    return blake2b(header, digest_size=HASH_SIZE).digest()


def body_digest(salted: bytes) -> bytes:
    """The digest that an event keeps of its salted body."""
    return blake2b(salted, digest_size=DIGEST_SIZE).digest()


def blob_digest(key: bytes, blob: bytes) -> bytes:
    """The name of a blob: a digest keyed by the log's own secret, so that it cannot be guessed."""
    return blake2b(blob, digest_size=DIGEST_SIZE, key=key).digest()


def seal(
    events: Sequence[EventData],
    *,
    stream: bytes,
    record: int,
    first: int,
    time: int,
    epoch: int,
    cause: str,
    previous: bytes,
    salt: Callable[[], bytes],
) -> tuple[Record, bytes]:
    """The record of one append with all its bodies inline, and its hash."""
    salted: list[bytes | bool | None] = []
    stored = []
    for event in events:
        body = None if event.body is None else salt() + event.body
        salted.append(body)
        stored.append(
            (
                event.type,
                event.schema,
                event.critical,
                event.skeleton,
                None if body is None else body_digest(body),
            )
        )
    encoded = _encode(stored)
    header = _encode(
        Header(
            stream=stream,
            record=record,
            first=first,
            count=len(stored),
            time=time,
            epoch=epoch,
            cause=cause,
            previous=previous,
            digest=blake2b(encoded, digest_size=HASH_SIZE).digest(),
        )
    )
    return Record(header, encoded, tuple(salted)), hash_of(header)


def encode_record(record: Record) -> bytes:
    """The bytes of a record."""
    return _encode(record)


def decode_record(data: bytes) -> Record:
    """The record of some bytes.

    Raises:
        CorruptError: they are no record.
    """
    try:
        return _record.decode(data)
    except msgspec.MsgspecError as error:
        raise CorruptError(f"a record of {len(data)} bytes cannot be read: {error}") from error


def decode_header(record: Record) -> Header:
    """The header of a record.

    Raises:
        NewerFormatError: a later release wrote it.
        CorruptError: it cannot be read.
    """
    try:
        header = _header.decode(record.header)
    except msgspec.MsgspecError as error:
        raise CorruptError(f"a record's header cannot be read: {error}") from error
    if header.format > FORMAT:
        raise NewerFormatError(
            f"a record has format {header.format}, and this release reads up to {FORMAT}: "
            "update refold to read this log"
        )
    return header


def decode_events(record: Record) -> tuple[StoredEvent, ...]:
    """The events of a record, without their bodies.

    Raises:
        CorruptError: they cannot be read.
    """
    try:
        return _events.decode(record.events)
    except msgspec.MsgspecError as error:
        raise CorruptError(f"the events of a record cannot be read: {error}") from error


def check_record(record: Record, header: Header) -> None:
    """Check that the events are those that the header was sealed over.

    Raises:
        CorruptError: they are not.
    """
    if blake2b(record.events, digest_size=HASH_SIZE).digest() != header.digest:
        raise CorruptError(
            f"record {header.record} of stream {header.stream.hex()} does not match its digest"
        )
    if not len(decode_events(record)) == len(record.salted) == header.count:
        raise CorruptError(
            f"record {header.record} of stream {header.stream.hex()} should hold "
            f"{header.count} events"
        )


def opened(salted: bytes, stored: StoredEvent) -> bytes:
    """The body out of `salt + body`.

    Raises:
        CorruptError: it is not the body that the event was written with.
    """
    if body_digest(salted) != stored.digest:
        raise CorruptError(f"the body of an event of type {stored.type} does not match its digest")
    return salted[SALT_SIZE:]
