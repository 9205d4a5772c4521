"""A record holds one append, and nothing in it can be changed unnoticed."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from refold.events.errors import CorruptError, NewerFormatError
from refold.events.record import (
    FORMAT,
    HASH_SIZE,
    NO_HASH,
    SALT_SIZE,
    EventData,
    Header,
    Record,
    blob_digest,
    body_digest,
    check_record,
    decode_events,
    decode_header,
    decode_record,
    encode_record,
    hash_of,
    opened,
    seal,
)

UID = bytes(16)


def sealed(*events: EventData, previous: bytes = NO_HASH, salts: int = 0) -> tuple[Record, bytes]:
    """A record of some events; each body gets a salt of its own."""
    made = iter(range(salts, 1000))
    return seal(
        events,
        stream=UID,
        record=3,
        first=7,
        time=1_700_000_000_000,
        epoch=2,
        cause="test",
        previous=previous,
        salt=lambda: next(made).to_bytes(SALT_SIZE, "big"),
    )


def event(name: str = "said", body: bytes | None = b"secret", skeleton: bytes = b"s") -> EventData:
    return EventData(name, 1, True, skeleton, body)


events = st.lists(
    st.builds(
        EventData,
        type=st.text(max_size=9),
        schema=st.integers(1, 9),
        critical=st.booleans(),
        skeleton=st.binary(max_size=40),
        body=st.none() | st.binary(max_size=40),
    ),
    min_size=1,
    max_size=5,
)


@given(events)
def test_what_was_sealed_is_read_back_as_it_was(given: list[EventData]) -> None:
    record, _ = sealed(*given)
    read = decode_record(encode_record(record))
    header = decode_header(read)
    check_record(read, header)
    stored = decode_events(read)

    assert (header.stream, header.record, header.first, header.count) == (UID, 3, 7, len(given))
    assert (header.epoch, header.cause, header.previous) == (2, "test", NO_HASH)
    for put, kept, salted in zip(given, stored, read.salted, strict=True):
        assert (kept.type, kept.schema, kept.critical) == (put.type, put.schema, put.critical)
        assert kept.skeleton == put.skeleton
        if put.body is None:
            assert (salted, kept.digest) == (None, None)
        else:
            assert isinstance(salted, bytes)
            assert opened(salted, kept) == put.body


def test_the_hash_covers_the_record_before_it() -> None:
    _, alone = sealed(event())
    _, behind = sealed(event(), previous=bytes([1]) * HASH_SIZE)
    assert alone != behind


def test_the_hash_is_that_of_the_header() -> None:
    record, digest = sealed(event())
    assert digest == hash_of(record.header)


def test_the_same_body_has_another_digest_each_time() -> None:
    # Else whoever knows the digest could find a short body by trying.
    first, _ = sealed(event())
    second, _ = sealed(event(), salts=1)
    assert decode_events(first)[0].digest != decode_events(second)[0].digest


def test_a_body_can_be_taken_away_and_the_record_still_holds() -> None:
    record, digest = sealed(event(), event("noted"))
    erased = replace(record, salted=(None, record.salted[1]))
    check_record(erased, decode_header(erased))
    assert hash_of(erased.header) == digest


@pytest.mark.parametrize("place", ["header", "events"])
def test_a_changed_byte_is_noticed(place: str) -> None:
    record, digest = sealed(event())
    data = bytearray(getattr(record, place))
    for index in range(len(data)):
        changed = bytearray(data)
        changed[index] ^= 1
        assert _noticed(replace(record, **{place: bytes(changed)}), digest), index


def _noticed(record: Record, digest: bytes) -> bool:
    if hash_of(record.header) != digest:
        return True
    try:
        check_record(record, decode_header(record))
    except CorruptError:
        return True
    return False


def test_a_changed_body_is_noticed() -> None:
    record, _ = sealed(event())
    salted = record.salted[0]
    assert isinstance(salted, bytes)
    with pytest.raises(CorruptError, match="body of an event of type said"):
        opened(salted[:-1] + b"!", decode_events(record)[0])


def test_events_that_are_missing_are_noticed() -> None:
    record, _ = sealed(event(), event())
    header = decode_header(record)
    with pytest.raises(CorruptError, match="should hold 2 events"):
        check_record(replace(record, salted=record.salted[:1]), header)
    with pytest.raises(CorruptError, match="should hold 3 events"):
        check_record(record, replace(header, count=3))


def _damaged() -> Iterator[bytes]:
    record, _ = sealed(event())
    data = encode_record(record)
    yield from (data[:cut] for cut in range(len(data)))
    yield b"\xc1"
    yield encode_record(replace(record, salted=("text",)))  # type: ignore[arg-type]


def test_bytes_that_are_no_record_are_refused() -> None:
    for data in _damaged():
        with pytest.raises(CorruptError, match=r"a record of .* cannot be read"):
            decode_record(data)


def test_a_damaged_header_is_refused() -> None:
    record, _ = sealed(event())
    with pytest.raises(CorruptError, match="header cannot be read"):
        decode_header(replace(record, header=record.header[:-1]))


def test_damaged_events_are_refused() -> None:
    record, _ = sealed(event())
    with pytest.raises(CorruptError, match="events of a record cannot be read"):
        decode_events(replace(record, events=record.events[:-1]))


def test_a_newer_format_is_refused_by_name() -> None:
    header = Header(
        format=FORMAT + 1,
        stream=UID,
        record=1,
        first=1,
        count=0,
        time=0,
        epoch=0,
        cause="",
        previous=NO_HASH,
        digest=b"",
    )
    record = Record(msgspec.msgpack.encode(header), b"", ())
    with pytest.raises(NewerFormatError, match=f"format {FORMAT + 1}.*reads up to {FORMAT}"):
        decode_header(record)


def test_a_blob_has_another_digest_in_another_log() -> None:
    assert blob_digest(b"one", b"secret") != blob_digest(b"two", b"secret")
    assert blob_digest(b"one", b"secret") == blob_digest(b"one", b"secret")


def test_a_digest_covers_the_salt() -> None:
    assert body_digest(b"a" * SALT_SIZE + b"x") != body_digest(b"b" * SALT_SIZE + b"x")
