"""One environment per file and process: whatever opens, closes, forks and dies around it."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent
from typing import cast

import lmdb
import pytest

from refold.events.errors import BugError, ClosedError, LogAccessError
from refold.store import ANY, LmdbLog, verify
from refold.store.lmdb import handle
from tests.store.contract import NOW
from tests.store.making import event, events, numbers, uid
from tests.store.processes import Process, run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.refold"


# Opening one log more than once


def test_logs_on_one_folder_share_what_they_see(path: Path) -> None:
    stream = uid()
    one, two = LmdbLog.open(path), LmdbLog.open(path)
    one.append(stream, 0, events(1), time=NOW)
    assert numbers(two.read(stream)) == [1]
    one.close()
    two.append(stream, 1, events(2), time=NOW)
    with pytest.raises(ClosedError):
        one.head(stream)
    again = LmdbLog.open(path)
    assert numbers(again.read(stream)) == [1, 2]
    two.close()
    assert numbers(again.read(stream)) == [1, 2]
    again.close()


@pytest.mark.parametrize(
    "spell",
    [
        lambda path: str(path) + "/",
        os.path.relpath,
        lambda path: path.parent / "." / path.name / ".." / path.name,
        lambda path: path.parent / "link",
    ],
)
def test_a_log_is_the_same_by_any_spelling(path: Path, spell: Callable[[Path], str | Path]) -> None:
    (path.parent / "link").symlink_to(path)
    stream = uid()
    with LmdbLog.open(path) as one, LmdbLog.open(spell(path)) as two:
        one.append(stream, 0, events(1), time=NOW)
        assert two.append(stream, 1, events(2), time=NOW).version == 2


@pytest.mark.skipif(lmdb.__version__.startswith("2."), reason="it knows files by their paths")
def test_a_folder_made_anew_is_another_log(path: Path) -> None:
    with LmdbLog.open(path) as old:
        old.append(uid(), 0, events(1), time=NOW)
        shutil.rmtree(path)
        with LmdbLog.open(path) as new:
            assert list(new.streams()) == []
            assert new.key != old.key
            assert len(list(old.streams())) == 1


def test_the_strongest_durability_counts_for_all(path: Path) -> None:
    def synced(log: LmdbLog) -> bool:
        handle = log._environment._handle
        assert handle is not None
        return handle.environment.flags()["metasync"]

    with LmdbLog.open(path, durability="relaxed") as relaxed:
        assert not synced(relaxed)
        with LmdbLog.open(path) as durable:
            assert synced(durable)
            assert synced(relaxed)
            relaxed.append(uid(), 0, events(1), time=NOW)
            assert len(list(durable.streams())) == 1


def test_nothing_is_ever_written_without_a_sync(path: Path) -> None:
    for durability in ("durable", "relaxed"):
        with LmdbLog.open(path, durability=durability) as log:
            handle = log._environment._handle
            assert handle is not None
            flags = handle.environment.flags()
            assert flags["sync"]
            assert not flags["writemap"]


def test_a_log_opened_for_looking_writes_nothing_though_another_one_does(path: Path) -> None:
    LmdbLog.open(path).close()
    stream = uid()
    with LmdbLog.open(path, readonly=True) as looking:
        with pytest.raises(LogAccessError, match="looking only"):
            looking.append(stream, 0, events(1), time=NOW)
        with LmdbLog.open(path) as writing:
            writing.append(stream, 0, events(1), time=NOW)
            with pytest.raises(LogAccessError, match="looking only"):
                looking.claim(stream, "me")
            assert numbers(looking.read(stream)) == [1]


def test_opening_and_closing_does_not_disturb_who_appends(path: Path) -> None:
    stream = uid()
    LmdbLog.open(path).close()
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    done = threading.Event()

    def open_and_close(_: int) -> None:
        for i in range(250):
            with LmdbLog.open(path, readonly=bool(i % 2)) as log:
                log.head(stream)

    def append() -> int:
        count = 0
        while not done.is_set():
            with LmdbLog.open(path, durability="relaxed") as log:
                log.append(stream, count, events(count), time=NOW)
            count += 1
        return count

    with ThreadPoolExecutor(3) as pool:
        appended = pool.submit(append)
        list(pool.map(open_and_close, range(2)))
        done.set()
        count = appended.result()
    with LmdbLog.open(path) as log:
        assert numbers(log.read(stream)) == list(range(count))
    if before:
        assert len(os.listdir("/proc/self/fd")) <= before


def test_closing_waits_for_the_batch_of_another_thread(path: Path) -> None:
    stream = uid()
    log = LmdbLog.open(path)
    begun, closing = threading.Event(), threading.Event()

    def write() -> None:
        batch = log.batch()
        batch.append(stream, 0, events(1), time=NOW)
        begun.set()
        closing.wait()
        with pytest.raises(ClosedError):
            batch.append(stream, 1, events(2), time=NOW)
        batch.abort()

    with ThreadPoolExecutor(2) as pool:
        writing = pool.submit(write)
        begun.wait()
        closed = pool.submit(log.close)
        closing.set()
        writing.result()
        closed.result()
    with LmdbLog.open(path) as log:
        assert log.head(stream) is None


def test_closing_inside_a_batch_undoes_it(path: Path) -> None:
    stream = uid()
    other = LmdbLog.open(path)
    for shared in (True, False):
        log = LmdbLog.open(path)
        if not shared:
            other.close()
        batch = log.batch()
        batch.append(stream, 0, events(1), time=NOW)
        log.close()
        for use in (batch.commit, lambda: batch.claim(stream, "me")):  # noqa: B023
            with pytest.raises(BugError):
                use()
        batch.abort()
        with LmdbLog.open(path) as again:
            assert again.head(stream) is None
            again.claim(uid(), "somebody")


def test_a_batch_whose_log_was_closed_lets_the_next_one_in(path: Path) -> None:
    with LmdbLog.open(path) as other, ThreadPoolExecutor(1) as pool:
        log = LmdbLog.open(path)
        batch = log.batch()
        batch.append(uid(), 0, events(1), time=NOW)
        pool.submit(log.close).result()
        with pytest.raises(ClosedError):
            batch.commit()
        other.append(uid(), 0, events(2), time=NOW)
        assert len(list(other.streams())) == 1


# Threads


def test_a_log_can_be_closed_after_a_thread_died_in_a_batch(path: Path) -> None:
    log = LmdbLog.open(path)
    thread = threading.Thread(target=log.batch)
    thread.start()
    thread.join()
    log.close()
    LmdbLog.open(path).close()


def test_a_panic_of_lmdb_is_answered_by_opening_anew(path: Path) -> None:
    class Panicking:
        """An environment that lost its footing, as after a failed write of its meta page."""

        def __init__(self, real: lmdb.Environment) -> None:
            self.close = real.close

        def begin(self, write: bool = False) -> None:
            raise lmdb.PanicError("mdb_txn_begin")

    stream = uid()
    with LmdbLog.open(path) as log:
        environment = log._environment
        for use in (
            lambda: log.append(stream, ANY, events(1), time=NOW),
            lambda: list(log.read(stream)),
        ):
            handle = environment._handle
            assert handle is not None
            environment._handle = handle._replace(
                environment=cast(lmdb.Environment, Panicking(handle.environment))
            )
            use()
        assert numbers(log.read(stream)) == [1]


# Forks


FORK = """
import warnings; warnings.simplefilter("ignore", DeprecationWarning)
def child(work):
    pid = os.fork()
    if pid == 0:
        try: work()
        except BaseException as error: say("child:", repr(error)); os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1]
stream = bytes(16)
log = LmdbLog.open(sys.argv[1])
log.append(stream, 0, events(0), time=1)
"""


def run_forking(code: str, path: Path) -> list[str]:
    return run(FORK + dedent(code), path)


def test_a_forked_child_reads_and_appends_and_the_parent_goes_on(path: Path) -> None:
    said = run_forking(
        """
        def work():
            assert numbers(log.read(stream)) == [0]
            log.append(stream, 1, events(1), time=1)
            assert len(list(log.streams())) == 1
        assert child(work) == 0
        log.append(stream, 2, events(2), time=1)
        say(numbers(log.read(stream)), verify(log).ok)
        log.close()
        """,
        path,
    )
    assert said == ["[0, 1, 2] True"]


def test_a_child_that_exits_normally_closes_nothing_of_its_parent(path: Path) -> None:
    said = run_forking(
        """
        if (pid := os.fork()) == 0:
            sys.exit(0)
        os.waitpid(pid, 0)
        log.append(stream, 1, events(1), time=1)
        if (pid := os.fork()) == 0:
            log.close()
            sys.exit(0)
        os.waitpid(pid, 0)
        log.append(stream, 2, events(2), time=1)
        say(numbers(log.read(stream)))
        """,
        path,
    )
    assert said == ["[0, 1, 2]"]


def test_forks_amid_threads_that_read_and_append(path: Path) -> None:
    said = run_forking(
        """
        import threading
        stop = threading.Event()
        def append():
            n = 1
            while not stop.is_set():
                log.append(b"w" * 16, ANY, events(n), time=1); n += 1
        def read():
            while not stop.is_set(): list(log.read_all())
        def follow():
            for _ in log.follow(): pass
        threads = [threading.Thread(target=work) for work in (append, read, read)]
        threads.append(threading.Thread(target=follow, daemon=True))
        for thread in threads: thread.start()
        def work():
            list(log.read_all())
            log.append(stream, ANY, events(1), time=1)
        failed = sum(child(work) != 0 for _ in range(30))
        stop.set()
        for thread in threads[:3]: thread.join()
        say(failed, log.head(stream).version, verify(log).ok)
        log.close()
        """,
        path,
    )
    assert said == ["0 31 True"]


def test_a_batch_does_not_outlive_a_fork(path: Path) -> None:
    said = run_forking(
        """
        batch = log.batch()
        batch.append(stream, 1, events(1), time=1)
        def work():
            for use in (batch.commit, lambda: batch.append(stream, 2, events(9), time=1)):
                try: use()
                except ClosedError as error: say(error)
            batch.abort()
            try: log.head(stream)
            except LogAccessError as error: say("spawn" in str(error))
        say(child(work))
        batch.append(stream, 2, events(2), time=1)
        batch.commit()
        say(numbers(log.read(stream)), verify(log).ok)
        """,
        path,
    )
    assert said == [
        "this batch was begun before the process was forked: begin another",
        "this batch was begun before the process was forked: begin another",
        "True",
        "0",
        "[0, 1, 2] True",
    ]


# Readers


def test_many_threads_read_at_the_same_time(path: Path) -> None:
    stream = uid()
    start = threading.Barrier(200)
    with LmdbLog.open(path) as log:
        log.append(stream, 0, events(*range(50)), time=NOW)

        def read(_: int) -> bool:
            start.wait()
            return numbers(log.read(stream)) == list(range(50))

        with ThreadPoolExecutor(200) as pool:
            assert all(pool.map(read, range(200)))


def test_places_of_killed_readers_are_taken_back(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock file has places for ten readers, and fifteen die in theirs."""
    monkeypatch.setattr(handle, "MAX_READERS", 10)
    stream = uid()
    with LmdbLog.open(path) as log:
        log.append(stream, 0, events(1), time=NOW)
        run(
            """
            import warnings; warnings.simplefilter("ignore", DeprecationWarning)
            import signal
            log = LmdbLog.open(sys.argv[1], readonly=True)
            for _ in range(15):
                if (pid := os.fork()) == 0:
                    log._look(lambda view: os.kill(os.getpid(), signal.SIGKILL))
                assert os.waitpid(pid, 0)[1] == signal.SIGKILL
            """,
            path,
        )
        assert numbers(log.read(stream)) == [1]


def test_a_reader_that_was_left_alone_pins_no_pages(tmp_path: Path) -> None:
    def size_after_writing(path: Path, idle: bool) -> int:
        stream = uid()
        with LmdbLog.open(path, durability="relaxed") as log:
            with log.batch() as batch:
                for n in range(600):
                    batch.append(stream, n, events(n), time=NOW)
            readings = [log.read(stream), log.read_all(), log.follow()] if idle else []
            for reading in readings:
                next(reading)
            for n in range(600, 1200):
                log.append(stream, n, [event(n, b"x" * 500)], time=NOW)
        return (path / "data.mdb").stat().st_size

    alone = size_after_writing(tmp_path / "alone", idle=False)
    assert size_after_writing(tmp_path / "watched", idle=True) <= 1.1 * alone


def test_what_was_read_outlives_the_log(path: Path) -> None:
    stream = uid()
    with LmdbLog.open(path) as log:
        log.append(stream, 0, [event(1, b"small"), event(2, b"x" * 100_000)], time=NOW)
        kept = list(log.read(stream))
        for n in range(200):
            log.append(uid(), 0, [event(n, b"y" * 2000)], time=NOW)
    assert [recorded.event.body for recorded in kept] == [b"small", b"x" * 100_000]


# Other processes


def test_processes_that_append_take_turns(path: Path) -> None:
    code = """
    log = LmdbLog.open(sys.argv[1], durability="relaxed")
    say("open"); hear()
    for n in range(100):
        log.append(bytes(16), ANY, events(1000 * int(sys.argv[2]) + n), time=1)
    """
    LmdbLog.open(path).close()
    with Process(code, path, 0) as one, Process(code, path, 1) as two:
        one.hear()
        two.hear()
        one.say()
        two.say()
        one.end()
        two.end()
    with LmdbLog.open(path) as log:
        found = numbers(log.read(bytes(16)))
        assert [n for n in found if n < 1000] == list(range(100))
        assert [n for n in found if n >= 1000] == list(range(1000, 1100))
        assert verify(log).ok


@pytest.mark.parametrize("readonly", [True, False])
def test_follow_sees_what_another_process_commits_without_gap_or_double(
    path: Path, readonly: bool
) -> None:
    LmdbLog.open(path).close()
    code = """
    log = LmdbLog.open(sys.argv[1], durability="relaxed")
    say("open"); hear()
    for n in range(300):
        log.append(bytes(16), n, events(n), time=1)
        if n % 10 == 0: log.claim(uid(), "noise that is no record")
        if n in (100, 200): hear()
    """
    with LmdbLog.open(path, readonly=readonly) as log, Process(code, path) as writer:
        writer.hear()
        following = log.follow()
        writer.say()
        seen = []
        for n in range(300):
            if n in (101, 201):
                writer.say()
            seen.append(next(following))
        writer.end()
        assert [numbers(found) for _, found in seen] == [[n] for n in range(300)]
        assert seen == list(log.read_all())
        assert list(log.follow(seen[-1][0], timeout=0)) == []


def test_a_claim_of_another_process_fences(path: Path) -> None:
    stream = uid()
    with LmdbLog.open(path) as log:
        epoch = log.claim(stream, "here")
        log.append(stream, 0, events(1), time=NOW, epoch=epoch)
        run(
            "LmdbLog.open(sys.argv[1]).claim(bytes.fromhex(sys.argv[2]), 'there')",
            path,
            stream.hex(),
        )
        with pytest.raises(Exception, match="there"):
            log.append(stream, 1, events(2), time=NOW, epoch=epoch)
        assert log.append(stream, ANY, events(3), time=NOW).version == 2
