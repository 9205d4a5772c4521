"""The map: full, refused, or grown by somebody else, under load."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lmdb
import pytest

from refold.events.errors import ConflictError, LogAccessError
from refold.store import ANY, LmdbLog, verify
from tests.store.contract import NOW
from tests.store.making import event, events, named, numbers, uid
from tests.store.processes import Process, run

SMALL = 1 << 18


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.refold"


def map_size(log: LmdbLog) -> int:
    handle = log._environment._handle
    assert handle is not None
    return handle.environment.info()["map_size"]


@pytest.fixture
def small(path: Path) -> Iterator[LmdbLog]:
    with LmdbLog.open(path, durability="relaxed", map_size=SMALL) as log:
        assert map_size(log) == SMALL
        yield log


def test_by_default_the_map_has_a_tebibyte_that_costs_nothing(path: Path) -> None:
    with LmdbLog.open(path) as log:
        assert map_size(log) == 1 << 40
        log.append(uid(), 0, events(1), time=NOW)
    assert (path / "data.mdb").stat().st_size < 1 << 20


def test_a_full_map_grows(small: LmdbLog) -> None:
    stream = uid()
    for n in range(200):
        small.append(stream, n, [event(n, b"x" * 3000)], time=NOW)
    assert map_size(small) > 2 * SMALL
    assert numbers(small.read(stream)) == list(range(200))
    assert verify(small).ok


def test_a_batch_that_fills_the_map_is_played_again_as_a_whole(small: LmdbLog) -> None:
    one, two = uid(), uid()
    small.append(one, 0, events(0), time=NOW)
    with small.batch() as batch:
        epoch = batch.claim(two, "me")
        batch.append(two, 0, [named("two")], time=NOW, epoch=epoch)
        with pytest.raises(ConflictError):
            batch.append(one, 0, events(9), time=NOW)
        versions = [
            batch.append(one, n, [event(n, b"x" * 3000)], time=NOW).version for n in range(1, 400)
        ]
        small_map = map_size(small)
    assert small_map > 2 * SMALL
    assert versions == list(range(2, 401))
    assert numbers(small.read(one)) == list(range(400))
    assert small.find("two") == two
    assert small.append(two, 1, events(1), time=NOW, epoch=epoch).version == 2
    assert verify(small).ok


def test_a_map_that_is_full_only_at_the_commit_grows_too(
    small: LmdbLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = uid()
    batch = small.batch()
    batch.append(stream, 0, events(1, 2), time=NOW)
    draft = batch._usable()
    txn = draft.txn

    class Full:
        """A transaction for whose last pages there is no room."""

        abort = txn.abort

        def commit(self) -> None:
            txn.abort()
            raise lmdb.MapFullError("mdb_txn_commit")

    monkeypatch.setattr(draft, "txn", Full())
    batch.commit()
    assert numbers(small.read(stream)) == [1, 2]
    assert map_size(small) == 2 * SMALL


def test_one_append_larger_than_the_map_fits_in_the_end(small: LmdbLog) -> None:
    stream = uid()
    body = b"x" * (10 * SMALL)
    small.append(stream, 0, [event(1, body)], time=NOW)
    assert small.body(stream, 1) == body


def test_the_map_grows_while_others_read(small: LmdbLog) -> None:
    stream = uid()
    done = threading.Event()
    small.append(stream, 0, [event(0, b"x" * 3000)], time=NOW)

    def read(reverse: bool) -> int:
        rounds = 0
        while not done.is_set() or rounds == 0:
            found = numbers(small.read(stream, reverse=reverse))
            assert sorted(found) == list(range(len(found)))
            assert all(len(f[0].event.body or b"") == 3000 for _, f in small.read_all())
            rounds += 1
        return rounds

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read, bool(n % 2)) for n in range(4)]
        for n in range(1, 300):
            small.append(stream, n, [event(n, b"x" * 3000)], time=NOW)
        done.set()
        assert all(reader.result() for reader in readers)
    assert map_size(small) > 2 * SMALL


@pytest.mark.parametrize("readonly", [True, False])
def test_a_map_grown_by_another_process_is_adopted(path: Path, readonly: bool) -> None:
    stream = uid()
    LmdbLog.open(path).close()
    code = """
    log = LmdbLog.open(sys.argv[1], durability="relaxed", map_size=1 << 18)
    stream = bytes.fromhex(sys.argv[2])
    while hear() == "more":
        for n in range(100):
            log.append(stream, ANY, [event(n, b"x" * 3000)], time=1)
        say("done")
    """
    with (
        LmdbLog.open(path, map_size=SMALL, readonly=readonly) as log,
        Process(code, path, stream.hex()) as other,
    ):
        following = log.follow()
        seen: list[int] = []
        version = 0
        for _ in range(3):
            other.say("more")
            assert other.hear() == "done"
            version += 100
            if not readonly:
                version += 1
                assert log.append(stream, ANY, events(100), time=NOW).version == version
            head = log.head(stream)
            assert head is not None
            assert head.version == version
            seen += [next(following)[1][0].version for _ in range(version - len(seen))]
            assert seen == list(range(1, version + 1))
        other.say("end")
        other.end()
        assert map_size(log) > SMALL
        assert verify(log).ok


def test_processes_with_small_maps_grow_them_in_turn(path: Path) -> None:
    code = """
    log = LmdbLog.open(sys.argv[1], durability="relaxed", map_size=1 << 18)
    say("open"); hear()
    for n in range(150):
        log.append(bytes(16), ANY, [event(1000 * int(sys.argv[2]) + n, b"x" * 2000)], time=1)
    """
    LmdbLog.open(path).close()
    with Process(code, path, 1) as one, Process(code, path, 2) as two:
        one.hear()
        two.hear()
        one.say()
        two.say()
        one.end()
        two.end()
    with LmdbLog.open(path) as log:
        assert len(list(log.read(bytes(16)))) == 300
        assert verify(log).ok


def test_a_map_that_the_system_refuses_is_halved(path: Path) -> None:
    said = run(
        """
        import resource
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        log = LmdbLog.open(sys.argv[1])
        log.append(bytes(16), 0, events(1), time=1)
        say(log._environment._map_size <= 4 << 30, numbers(log.read(bytes(16))))
        """,
        path,
    )
    assert said == ["True [1]"]


def test_a_map_that_may_not_grow_is_said_and_the_log_goes_on(path: Path) -> None:
    said = run(
        """
        import resource
        log = LmdbLog.open(sys.argv[1], map_size=1 << 28)
        log.append(bytes(16), 0, events(1), time=1)
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (40 << 20), used + (40 << 20)))
        try: log._environment.grow()
        except LogAccessError as error: say("ulimit -v" in str(error))
        say(numbers(log.read(bytes(16))))
        log.append(bytes(16), 1, events(3), time=1)
        say(numbers(log.read(bytes(16))), verify(log).ok)
        """,
        path,
    )
    assert said == ["True", "[1]", "[1, 3] True"]


def test_a_batch_overtaken_while_its_map_grew_is_undone_and_says_so(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process can only come in between while the transaction is given up for the resize."""
    stream = uid()
    with LmdbLog.open(path, map_size=SMALL) as log:
        environment = log._environment
        grow = environment.grow

        def overtaken() -> None:
            grow()
            code = "LmdbLog.open(sys.argv[1]).append(stream, ANY, events(7), time=1)"
            run(f"stream = bytes.fromhex(sys.argv[2]); {code}", path, stream.hex())

        monkeypatch.setattr(environment, "grow", overtaken)
        batch = log.batch()
        batch.append(stream, 0, events(1), time=NOW)
        with pytest.raises(LogAccessError, match="Append it again"):
            batch.append(uid(), 0, [event(1, b"x" * 2 * SMALL)], time=NOW)
        batch.abort()
        assert numbers(log.read(stream)) == [7]
        assert log.append(stream, ANY, events(8), time=NOW).version == 2
