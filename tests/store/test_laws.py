"""Laws of the store, for any input."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refold.events.errors import CorruptError, RefoldError
from refold.events.record import (
    EventData,
    Record,
    check_record,
    decode_events,
    decode_header,
    decode_record,
    encode_record,
    hash_of,
    opened,
    seal,
)
from refold.store import ANY, LmdbLog, Log, MemoryLog, Report, rebuild, verify
from tests.store.making import named, uid

uids = st.binary(min_size=16, max_size=16)
times = st.integers(0, 2**63 - 1)
bodies = st.none() | st.binary(max_size=40) | st.integers(1020, 1030).map(bytes)
event_data = st.builds(
    EventData,
    type=st.text(min_size=1, max_size=20),
    schema=st.integers(1, 1000),
    critical=st.booleans(),
    skeleton=st.binary(max_size=60),
    body=bodies,
)


@st.composite
def sealed(draw: st.DrawFn) -> tuple[list[EventData], Record, bytes]:
    events = draw(st.lists(event_data, min_size=1, max_size=4))
    record, digest = seal(
        events,
        stream=draw(uids),
        record=draw(st.integers(1, 2**60)),
        first=draw(st.integers(1, 2**60)),
        time=draw(times),
        epoch=draw(st.integers(0, 2**60)),
        cause=draw(st.text(max_size=10)),
        previous=draw(st.binary(min_size=32, max_size=32)),
        salt=lambda: b"salt" * 4,
    )
    return events, record, digest


@given(sealed())
def test_a_decoded_record_is_the_one_that_was_encoded(
    made: tuple[list[EventData], Record, bytes],
) -> None:
    events, record, digest = made
    again = decode_record(encode_record(record))
    assert again == record
    assert hash_of(again.header) == digest
    check_record(again, decode_header(again))
    for event, stored, salted in zip(events, decode_events(again), again.salted, strict=True):
        assert (stored.type, stored.schema, stored.critical, stored.skeleton) == (
            event.type,
            event.schema,
            event.critical,
            event.skeleton,
        )
        assert (opened(salted, stored) if isinstance(salted, bytes) else None) == event.body


@given(sealed(), st.data())
def test_no_flipped_bit_of_a_record_goes_unnoticed(
    made: tuple[list[EventData], Record, bytes], data: st.DataObject
) -> None:
    _, record, digest = made
    encoded = bytearray(encode_record(record))
    place = data.draw(st.integers(0, len(encoded) - 1))
    encoded[place] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises((CorruptError, AssertionError)):
        read_whole(bytes(encoded), digest)


def read_whole(encoded: bytes, digest: bytes) -> None:
    record = decode_record(encoded)
    assert hash_of(record.header) == digest
    check_record(record, decode_header(record))
    for stored, salted in zip(decode_events(record), record.salted, strict=True):
        assert (salted is None) == (stored.digest is None)
        if salted is not None:
            assert isinstance(salted, bytes)
            opened(salted, stored)


# Two logs, one history

Step = tuple[str, int, int, int, list[EventData]]
steps = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "any", "claim", "stale", "name", "abort", "batch"]),
        st.integers(0, 2),
        st.integers(0, 6),
        times,
        st.lists(event_data, max_size=3),
    ),
    max_size=25,
)


def play(log: Log, streams: list[bytes], history: list[Step]) -> Iterator[object]:
    """Do it all, and say what came of each step."""
    for kind, which, number, time, events in history:
        stream = streams[which]
        head = log.head(stream)
        version, epoch = (head.version, head.epoch) if head else (0, 0)
        try:
            if kind == "append":
                yield log.append(stream, version, events, time=time, epoch=epoch or None)
            elif kind == "any":
                yield log.append(stream, ANY, events, time=time)
            elif kind == "claim":
                yield log.claim(stream, str(number))
            elif kind == "stale":
                yield log.append(stream, number, events, time=time, epoch=number)
            elif kind == "name":
                yield log.append(stream, version, [named(str(number))], time=time)
            else:
                with log.batch() as batch:
                    for other in streams[which:]:
                        try:
                            yield batch.append(other, number, events, time=time)
                        except RefoldError as refusal:
                            yield type(refusal)
                    if kind == "abort":
                        raise ZeroDivisionError
        except (RefoldError, ZeroDivisionError) as refusal:
            yield type(refusal)


def seen(log: Log, streams: list[bytes]) -> list[object]:
    """All that can be read of a log, but for hashes: salts are random."""
    heads = [log.head(stream) for stream in streams]
    return [
        [list(log.read(stream)) for stream in streams],
        [list(log.read(stream, 1, 4, reverse=True)) for stream in streams],
        [list(log.read(stream, bodies=False)) for stream in streams],
        list(log.read_all()),
        [head and (head.version, head.record, head.epoch, head.owner) for head in heads],
        [(info.stream, info.name, info.created, info.updated) for info in log.streams()],
        [log.find(str(n)) for n in range(7)],
        log.end(),
    ]


def counted(report: Report) -> tuple[int, ...]:
    assert report.problems == ()
    return report.streams, report.records, report.events, report.bodies


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(steps)
def test_both_logs_tell_the_same_history(history: list[Step]) -> None:
    streams = [uid() for _ in range(3)]
    memory = MemoryLog()
    with TemporaryDirectory() as folder:
        with LmdbLog.open(Path(folder), durability="relaxed") as lmdb:
            assert list(play(lmdb, streams, history)) == list(play(memory, streams, history))
            assert seen(lmdb, streams) == seen(memory, streams)
            assert counted(verify(lmdb)) == counted(verify(memory))
        with LmdbLog.open(Path(folder)) as lmdb:
            assert seen(lmdb, streams) == seen(memory, streams)
            assert rebuild(lmdb) == rebuild(memory)
            assert seen(lmdb, streams) == seen(memory, streams)
            assert counted(verify(lmdb)) == counted(verify(memory))
