"""Every kind of damage is found, and said where it is; what can be mended is mended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest

from refold.events.errors import CorruptError, InvalidArgumentError
from refold.events.record import Record, blob_digest, decode_record, encode_record
from refold.store import ANY, LmdbLog, Log, MemoryLog, rebuild, verify
from refold.store.lmdb.view import END
from refold.store.reading import ReadableLog
from refold.store.tables import Row, index_key, position_key
from tests.store.contract import NOW
from tests.store.making import erased, event, events, named, numbers, pack, uid

K = TypeVar("K")
Change = Callable[[bytes], bytes | None]


class Tampering:
    """Changes what a log keeps, behind its back. A change to None takes the thing away."""

    def __init__(self, log: ReadableLog) -> None:
        self.log = log

    def record(self, position: int, change: Change) -> None:
        self._change("log", position_key(position), change)

    def body(self, stream: bytes, version: int, change: Change) -> None:
        self._change("bodies", index_key(stream, version), change)

    def index(self, stream: bytes, first: int, change: Change) -> None:
        self._change("index", index_key(stream, first), change)

    def row(self, stream: bytes, change: Change) -> None:
        self._change("heads", stream, change)

    def name(self, name: str, change: Change) -> None:
        self._change("names", name.encode(), change)

    def blob(self, digest: bytes, change: Change) -> None:
        self._change("blobs", digest, change)

    def _change(self, table: str, key: bytes, change: Change) -> None:
        raise NotImplementedError


class LmdbTampering(Tampering):
    def _change(self, table: str, key: bytes, change: Change) -> None:
        assert isinstance(self.log, LmdbLog)
        handle = self.log._environment._handle
        assert handle is not None
        if table == "heads":
            key += END
        db = getattr(handle.tables, "streams" if table in ("heads", "index") else table)
        with handle.environment.begin(write=True) as txn:
            changed = change(txn.get(key, b"", db=db))
            if changed is None:
                txn.delete(key, db=db)
            else:
                txn.put(key, changed, db=db)


class MemoryTampering(Tampering):
    def _change(self, table: str, key: bytes, change: Change) -> None:
        assert isinstance(self.log, MemoryLog)
        kept = self.log._kept
        if table == "log":
            place = int.from_bytes(key, "big") - 1
            changed = change(kept.log[place])
            if changed is None:
                assert place == len(kept.log) - 1, "records in memory are counted by their places"
                del kept.log[place:]
            else:
                kept.log[place] = changed
            return
        if table == "bodies":
            _put(kept.bodies, (key[:16], int.from_bytes(key[16:], "big")), change)
        elif table == "blobs":
            _put(kept.blob_table, key, change)
        elif table == "index":
            firsts, positions = kept.indexed.setdefault(key[:16], ([], []))
            first = int.from_bytes(key[16:], "big")
            rows = dict(zip(firsts, map(position_key, positions), strict=True))
            _put(rows, first, change)
            firsts[:] = sorted(rows)
            positions[:] = [int.from_bytes(rows[first], "big") for first in firsts]
        elif table == "names":
            _put(kept.name_table, key.decode(), change)
        else:
            encoded = {key: pack(kept.heads.get(key))}
            _put(encoded, key, change)
            kept.heads.pop(key, None)
            if key in encoded:
                kept.heads[key] = msgspec.msgpack.decode(encoded[key], type=Row)


def _put(table: dict[K, bytes], key: K, change: Change) -> None:
    changed = change(table.get(key, b""))
    if changed is None:
        del table[key]
    else:
        table[key] = changed


@pytest.fixture(params=["memory", "lmdb"])
def damage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tampering]:
    if request.param == "memory":
        yield MemoryTampering(MemoryLog())
    else:
        with LmdbLog.open(tmp_path / "runs.refold", durability="relaxed") as log:
            yield LmdbTampering(log)


LARGE = b"x" * 5000


@pytest.fixture
def stream(damage: Tampering) -> bytes:
    """A stream of three records, and other streams around it."""
    log = damage.log
    made = uid()
    log.append(uid(), 0, [named("before"), event(1, b"one")], time=NOW)
    log.append(made, 0, [named("sums"), event(1, b"body"), event(2, LARGE)], time=NOW)
    log.append(made, 3, [event(3), event(4, LARGE)], time=NOW + 1000)
    log.append(uid(), 0, [named("between")], time=NOW)
    log.append(made, 5, [event(5)], time=NOW + 2000)
    return made


def gone(_: bytes) -> None:
    return None


def flipped(data: bytes, place: int) -> bytes:
    at = place % len(data)
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def flip(place: int) -> Change:
    return lambda data: flipped(data, place)


def flip_header(place: int) -> Change:
    return part(lambda r: Record(flipped(r.header, place), r.events, r.salted))


def flip_events(place: int) -> Change:
    return part(lambda r: Record(r.header, flipped(r.events, place), r.salted))


def part(change: Callable[[Record], Record]) -> Change:
    return lambda data: encode_record(change(decode_record(data)))


def problems(log: Log) -> list[str]:
    assert isinstance(log, ReadableLog)
    return [str(problem) for problem in verify(log).problems]


def test_an_untouched_log_is_well(damage: Tampering, stream: bytes) -> None:
    log = damage.log
    blob = b"picture" * 100
    log.append(stream, 6, events(6), time=NOW, blobs=[(blob_digest(log.key, blob), blob)])
    log.claim(stream, "me")
    log.claim(uid(), "of a stream that has no events yet")
    report = verify(log)
    assert report.problems == ()
    assert report.ok
    assert (report.streams, report.records, report.events) == (3, 6, 10)
    assert (report.bodies, report.erased, report.blobs) == (4, 0, 1)


def test_an_empty_log_is_well(damage: Tampering) -> None:
    assert verify(damage.log).ok


def test_a_log_can_be_checked_while_others_write(damage: Tampering, stream: bytes) -> None:
    log = damage.log

    def write() -> None:
        for n in range(150):
            with log.batch() as batch:
                batch.append(uid(), 0, [named(str(n)), event(n, LARGE)], time=NOW)
                batch.append(stream, ANY, [event(n, b"body")], time=NOW)
                batch.claim(stream, "me")

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        reports = [verify(log)]
        while not writing.done():
            reports.append(verify(log))
        writing.result()
    assert {report.problems for report in reports} == {()}


def test_a_flipped_bit_in_a_header_is_found(damage: Tampering, stream: bytes) -> None:
    size = len(decode_record(_record(damage.log, 3)).header)
    for place in range(size):
        change = flip_header(place)
        damage.record(3, change)
        assert problems(damage.log), f"byte {place} of the header"
        damage.record(3, change)
    assert problems(damage.log) == []


def test_a_changed_header_is_said_with_its_place(damage: Tampering, stream: bytes) -> None:
    time = (NOW + 1000).to_bytes(8, "big")
    damage.record(
        3,
        part(
            lambda r: Record(
                r.header.replace(time, (NOW + 1001).to_bytes(8, "big")), r.events, r.salted
            )
        ),
    )
    (problem,) = verify(damage.log).problems
    assert (problem.stream, problem.record, problem.first, problem.last) == (stream, 2, 4, 5)
    assert problem.time == NOW + 1001
    assert str(problem) == (
        f"stream {stream.hex()}, record 2, versions 4 to 5, written 2023-11-14T22:13:21+00:00: "
        "it was changed, or what record 3 says of it: the hashes differ"
    )


def test_a_changed_last_header_is_found_by_the_head(damage: Tampering, stream: bytes) -> None:
    damage.record(5, flip_header(-1))
    found = problems(damage.log)
    assert any("its events were changed" in problem for problem in found)
    assert any("the hash that was kept of it" in problem for problem in found)


def test_changed_events_are_found(damage: Tampering, stream: bytes) -> None:
    size = len(decode_record(_record(damage.log, 3)).events)
    for place in (0, size // 2, size - 1):
        change = flip_events(place)
        damage.record(3, change)
        found = problems(damage.log)
        assert len(found) == 1
        assert f"stream {stream.hex()}, record 2, versions 4 to 5" in found[0]
        assert "its events were changed" in found[0]
        with pytest.raises(CorruptError):
            list(damage.log.read(stream))
        damage.record(3, change)
    assert problems(damage.log) == []


def test_a_changed_body_is_found_wherever_it_stands(damage: Tampering, stream: bytes) -> None:
    def inline(record: Record) -> Record:
        salted = [flipped(s, -1) if isinstance(s, bytes) else s for s in record.salted]
        return Record(record.header, record.events, tuple(salted))

    damage.record(2, part(inline))
    damage.body(stream, 5, flip(-1))
    found = problems(damage.log)
    assert len(found) == 2
    assert "record 1, version 2" in found[0]
    assert "record 2, version 5" in found[1]
    assert all("its body was changed" in problem for problem in found)
    for version in (2, 5):
        with pytest.raises(CorruptError, match="digest"):
            damage.log.body(stream, version)
    assert numbers(damage.log.read(stream, 2, 4)) == [2, 3]


def test_a_changed_salt_is_found_too(damage: Tampering, stream: bytes) -> None:
    damage.body(stream, 3, flip(0))
    assert len(problems(damage.log)) == 1


def test_a_record_that_is_garbage_is_found_by_its_place(damage: Tampering, stream: bytes) -> None:
    damage.record(3, lambda data: b"\xc1" + data)
    (problem,) = verify(damage.log).problems
    assert (problem.stream, problem.first) == (stream, 4)
    assert "record 3 of the log cannot be read" in problem.message


def test_a_cut_tail_is_found(damage: Tampering, stream: bytes) -> None:
    damage.record(5, gone)
    damage.index(stream, 6, gone)
    (problem,) = verify(damage.log).problems
    assert (problem.stream, problem.first, problem.last) == (stream, 6, 6)
    assert "its tail was cut off" in problem.message


def test_a_cut_tail_whose_index_remains_is_found_and_no_read_passes_over_it(
    damage: Tampering, stream: bytes
) -> None:
    damage.record(5, gone)
    assert any("its tail was cut off" in problem for problem in problems(damage.log))
    with pytest.raises(CorruptError):
        list(damage.log.read(stream))


def test_a_missing_record_in_the_middle_is_found(tmp_path: Path) -> None:
    with LmdbLog.open(tmp_path / "runs.refold") as log:
        stream = uid()
        for n in range(6):
            log.append(stream, n, events(n), time=NOW)
        damage = LmdbTampering(log)
        damage.record(3, gone)
        damage.record(4, gone)
        damage.index(stream, 3, gone)
        damage.index(stream, 4, gone)
        found = problems(log)
        assert found == [
            "records 3 to 4 of the log are missing",
            f"stream {stream.hex()}, versions 3 to 4: records 3 to 4 of the stream are missing",
        ]
        with pytest.raises(CorruptError):
            list(log.read(stream))
        with pytest.raises(CorruptError):
            list(log.read_all())


def test_a_missing_body_needs_an_event_that_says_it_was_erased(
    damage: Tampering, stream: bytes
) -> None:
    log = damage.log
    damage.body(stream, 5, gone)
    (problem,) = verify(log).problems
    assert (problem.stream, problem.record, problem.first, problem.last) == (stream, 2, 5, 5)
    assert "its body is missing, and no event says that it was erased" in problem.message
    with pytest.raises(CorruptError, match="no event says"):
        list(log.read(stream))
    log.append(stream, 6, [erased(4)], time=NOW)
    assert len(problems(log)) == 1
    log.append(stream, 7, [erased(5)], time=NOW)
    report = verify(log)
    assert report.problems == ()
    assert report.erased == 1
    *_, fifth, _, _, _ = log.read(stream)
    assert (fifth.version, fifth.event.body, fifth.event.has_body) == (5, None, True)
    with pytest.raises(Exception, match="was erased"):
        log.body(stream, 5)


def test_a_small_body_can_be_erased_out_of_its_record(damage: Tampering, stream: bytes) -> None:
    log = damage.log
    log.append(stream, 6, [erased(2)], time=NOW)

    def without(record: Record) -> Record:
        return Record(record.header, record.events, (None, None, *record.salted[2:]))

    damage.record(2, part(without))
    assert verify(log).problems == ()
    assert [r.event.body for r in log.read(stream, 0, 3)] == [None, None, LARGE]


def test_a_changed_blob_is_found(damage: Tampering) -> None:
    log = damage.log
    blob = b"picture" * 100
    digest = blob_digest(log.key, blob)
    log.append(uid(), 0, events(1), time=NOW, blobs=[(digest, blob)])
    damage.blob(digest, flip(3))
    assert problems(log) == [f"blob {digest.hex()} was changed"]
    with pytest.raises(CorruptError, match="not what its digest says"):
        log.blob(digest)


def test_lost_caches_are_found_and_mended(damage: Tampering, stream: bytes) -> None:
    log = damage.log
    before = [list(log.read_all()), list(log.streams()), list(log.read(stream))]
    damage.row(stream, gone)
    damage.name("sums", gone)
    damage.index(stream, 4, gone)
    found = problems(log)
    assert len(found) == 3
    assert all("`rebuild` mends that" in problem for problem in found)
    assert rebuild(log) == 5
    assert problems(log) == []
    after = [list(log.read_all()), list(log.streams()), list(log.read(stream))]
    assert after[0] == before[0]
    assert after[2] == before[2]
    assert log.find("sums") == stream
    head = log.head(stream)
    assert head is not None
    assert log.append(stream, head.version, events(7), time=NOW).version == 7


def test_wrong_caches_are_found_and_mended(damage: Tampering, stream: bytes) -> None:
    log = damage.log
    other = log.find("between")
    assert other is not None
    damage.name("sums", lambda _: other)
    damage.name("stray", lambda _: other)
    damage.index(stream, 4, lambda _: position_key(1))
    damage.index(stream, 9, lambda _: position_key(1))
    found = problems(log)
    assert len(found) == 3
    with pytest.raises(CorruptError):
        list(log.read(stream))
    rebuild(log)
    assert problems(log) == []
    assert (log.find("sums"), log.find("stray")) == (stream, None)
    assert numbers(log.read(stream, 1)) == [1, 2, 3, 4, 5]


def test_an_end_that_is_garbage_is_said_and_mended(tmp_path: Path) -> None:
    with LmdbLog.open(tmp_path / "runs.refold") as log:
        stream = uid()
        log.append(stream, 0, [named("sums"), event(1)], time=NOW)
        LmdbTampering(log).row(stream, lambda _: b"garbage")
        for use in (lambda: log.head(stream), lambda: log.claim(stream, "me")):
            with pytest.raises(CorruptError, match="rebuild"):
                use()
        assert any("rebuild" in problem for problem in problems(log))
        rebuild(log)
        assert problems(log) == []
        assert log.append(stream, 2, events(2), time=NOW).version == 3


def test_claims_survive_a_rebuild(damage: Tampering, stream: bytes) -> None:
    log = damage.log
    fresh = uid()
    log.claim(stream, "me")
    log.claim(stream, "me again")
    log.claim(fresh, "of nothing yet")
    heads = [log.head(stream), log.head(fresh)]
    rebuild(log)
    assert [log.head(stream), log.head(fresh)] == heads


def test_where_a_claim_is_lost_whoever_drove_must_claim_again(
    damage: Tampering, stream: bytes
) -> None:
    log = damage.log
    epoch = log.claim(stream, "me")
    log.append(stream, 6, events(6), time=NOW, epoch=epoch)
    damage.row(stream, gone)
    rebuild(log)
    head = log.head(stream)
    assert head is not None
    assert head.epoch == epoch + 1
    assert problems(log) == []


@pytest.mark.parametrize("position", [2, 3, 5])
def test_a_damaged_log_is_not_rebuilt(damage: Tampering, stream: bytes, position: int) -> None:
    log = damage.log
    before = list(log.streams())
    for place in range(0, len(_record(log, position)), 7):
        damage.record(position, flip(place))
        if any("body" not in problem for problem in problems(log)):
            with pytest.raises(CorruptError):
                rebuild(log)
        assert list(log.streams()) == before
        damage.record(position, flip(place))
    rebuild(log)
    assert list(log.streams()) == before


def test_what_was_cut_off_is_given_up_only_on_request(damage: Tampering, stream: bytes) -> None:
    log = damage.log
    damage.record(5, gone)
    damage.index(stream, 6, gone)
    with pytest.raises(CorruptError, match="version 6 once"):
        rebuild(log)
    assert rebuild(log, accept_loss=True) == 4
    assert problems(log) == []
    assert log.append(stream, 5, events(7), time=NOW).version == 6


def test_a_head_that_was_kept_elsewhere_proves_the_log_up_to_it(
    damage: Tampering, stream: bytes
) -> None:
    log = damage.log
    head = verify(log).head
    log.append(stream, 6, events(6), time=NOW)
    later = verify(log, head)
    assert later.ok
    assert later.head != head
    assert verify(log, later.head).ok


def test_a_log_that_was_rewritten_as_a_whole_is_found_by_its_head(damage: Tampering) -> None:
    stream = uid()
    heads = []
    for log in (damage.log, MemoryLog()):
        for n in range(3):
            log.append(stream, n, [event(n, b"body")], time=NOW)
        heads.append(verify(log).head)
    (problem,) = verify(damage.log, heads[1]).problems
    assert "the first 3 records are not those that they once were" in problem.message


def test_a_log_shorter_than_its_head_was_cut(damage: Tampering, stream: bytes) -> None:
    head = verify(damage.log).head.replace("5:", "7:")
    (problem,) = verify(damage.log, head).problems
    assert problem.message == "the log had 7 records once, and has 5: its tail was cut off"


@pytest.mark.parametrize("head", ["", "5", "x:00", "5:zz", "5:00", "-1:" + "00" * 16])
def test_what_is_no_head_is_refused(damage: Tampering, head: str) -> None:
    with pytest.raises(InvalidArgumentError, match="no head of a log"):
        verify(damage.log, head)


def test_who_wrote_after_a_newer_owner_is_found(damage: Tampering) -> None:
    """No log lets that happen: so the row that prevents it is set back here."""
    log = damage.log
    stream = uid()
    old = log.claim(stream, "old")
    new = log.claim(stream, "new")
    log.append(stream, 0, events(1), time=NOW, epoch=new)
    damage.row(stream, lambda data: data.replace(b"\x02\xa3new", b"\x01\xa3old"))
    log.append(stream, 1, events(2), time=NOW, epoch=old)
    found = problems(log)
    assert f"an owner with epoch {old} wrote it after epoch {new} had" in found[0]


def _record(log: ReadableLog, position: int) -> bytes:
    return log._look(lambda view: view.records(position - 1, position))[0][1]
