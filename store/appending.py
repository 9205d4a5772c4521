"""Sealing an append against the end of its stream: the same for every log.

All that may be refused is refused before anything is written, so a refused append leaves the
other appends of its batch as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import urandom

import msgspec

from refold.events.errors import ConflictError, FencedError, InvalidArgumentError
from refold.events.record import (
    INLINE_LIMIT,
    SALT_SIZE,
    UID_SIZE,
    EventData,
    Record,
    blob_digest,
    encode_record,
    seal,
)
from refold.store.log import ANY, Appended, Cursor, Expected
from refold.store.tables import NO_ROW, Draft, Row, position_key

NAME_LIMIT = 511
"""The longest name, in bytes of UTF-8: the longest key of LMDB."""
NAMING = frozenset({"created", "renamed"})
"""The types of event whose skeleton may hold the `name` of their stream."""

_decode = msgspec.msgpack.Decoder().decode


def _salt() -> bytes:
    return urandom(SALT_SIZE)


def append_to(
    draft: Draft,
    key: bytes,
    stream: bytes,
    expected: Expected,
    events: Sequence[EventData],
    time: int,
    epoch: int | None,
    cause: str,
    blobs: Sequence[tuple[bytes, bytes]],
) -> Appended:
    """Write one record into `draft`. See `refold.store.log.Batch.append`.

    Args:
        key: the log's own, for the digests of blobs.
    """
    if len(stream) != UID_SIZE:
        raise InvalidArgumentError(
            f"a stream is named by {UID_SIZE} bytes, and {stream!r} has {len(stream)}"
        )
    if not events:
        raise InvalidArgumentError(
            f"an append to stream {stream.hex()} has no events: give at least one"
        )
    row = draft.row(stream) or NO_ROW
    if epoch is not None and epoch != row.epoch:
        _refuse_epoch(stream, epoch, row)
    if expected is not ANY and expected != row.version:
        raise ConflictError(
            f"stream {stream.hex()} is at version {row.version}, not {expected}: somebody else "
            "appended first. Read what is new and decide again",
            row.version,
        )
    name = _name_in(events)
    if name is not None and name != row.name:
        _check_name(draft, stream, name)
    new_blobs = _new_blobs(draft, key, blobs) if blobs else ()

    first = row.version + 1
    position = draft.next_position()
    record, digest = seal(
        events,
        stream=stream,
        record=row.record + 1,
        first=first,
        time=time,
        epoch=epoch or 0,
        cause=cause,
        previous=row.hash,
        salt=_salt,
    )
    version = row.version + len(events)
    draft.put_record(stream, first, encode_record(_outlined(draft, stream, first, record)))
    for blob in new_blobs:
        draft.put_blob(*blob)
    if name is not None and name != row.name:
        if row.name:
            draft.drop_name(row.name)
        if name:
            draft.put_name(name, stream)
    draft.put_row(
        stream,
        Row(
            version,
            row.record + 1,
            digest,
            row.epoch,
            row.owner,
            row.name if name is None else name,
            row.born or position,
            row.created if row.born else time,
            time,
        ),
    )
    return Appended(version, Cursor(position_key(position)))


def claim_in(draft: Draft, stream: bytes, owner: str) -> int:
    """Write a claim into `draft`. See `refold.store.log.Batch.claim`."""
    if len(stream) != UID_SIZE:
        raise InvalidArgumentError(
            f"a stream is named by {UID_SIZE} bytes, and {stream!r} has {len(stream)}"
        )
    row = draft.row(stream) or NO_ROW
    epoch = row.epoch + 1
    draft.put_row(stream, msgspec.structs.replace(row, epoch=epoch, owner=owner))
    return epoch


def name_of(event_type: str, skeleton: bytes) -> str | None:
    """The name that an event gives its stream; "" takes the name away, None leaves it."""
    if event_type not in NAMING:
        return None
    try:
        fields = _decode(skeleton)
    except msgspec.MsgspecError:
        return None
    name = fields.get("name") if isinstance(fields, dict) else None
    return name if isinstance(name, str) else None


def _name_in(events: Sequence[EventData]) -> str | None:
    name = None
    for event in events:
        if event.type in NAMING:
            given = name_of(event.type, event.skeleton)
            name = name if given is None else given
    return name


def _check_name(draft: Draft, stream: bytes, name: str) -> None:
    size = len(name.encode())
    if size > NAME_LIMIT:
        raise InvalidArgumentError(
            f"the name {name[:40]!r}... has {size} bytes, and {NAME_LIMIT} is the most: shorten it"
        )
    taken = draft.named(name) if name else None
    if taken is not None and taken != stream:
        raise InvalidArgumentError(
            f"the name {name!r} is taken by stream {taken.hex()}: choose another one"
        )


def _new_blobs(
    draft: Draft, key: bytes, blobs: Sequence[tuple[bytes, bytes]]
) -> list[tuple[bytes, bytes]]:
    new = [blob for blob in dict(blobs).items() if not draft.blob_kept(blob[0])]
    for digest, blob in new:
        if blob_digest(key, blob) != digest:
            raise InvalidArgumentError(
                f"a blob of {len(blob)} bytes does not have the digest {digest.hex()}: take it "
                "with `blob_digest` and the key of the log that it is stored in"
            )
    return new


def _refuse_epoch(stream: bytes, epoch: int, row: Row) -> None:
    if epoch < row.epoch:
        owner = f" ({row.owner})" if row.owner else ""
        raise FencedError(
            f"stream {stream.hex()} was claimed with epoch {row.epoch}{owner}, and this writer "
            f"holds epoch {epoch}: claim the stream again to drive it from here"
        )
    raise InvalidArgumentError(
        f"epoch {epoch} of stream {stream.hex()} was never given out, its epoch is {row.epoch}: "
        "claim the stream first"
    )


def _outlined(draft: Draft, stream: bytes, first: int, record: Record) -> Record:
    """`record` with its large bodies moved to a place of their own."""
    limit = INLINE_LIMIT + SALT_SIZE
    if all(body is None or len(body) <= limit for body in record.salted):  # type: ignore[arg-type]
        return record
    kept: list[bytes | bool | None] = []
    for version, body in enumerate(record.salted, first):
        if isinstance(body, bytes) and len(body) > limit:
            draft.put_body(stream, version, body)
            kept.append(True)
        else:
            kept.append(body)
    return Record(record.header, record.events, tuple(kept))
