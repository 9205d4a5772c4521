"""What a killed process and a full disk leave: all that was acknowledged, and nothing half."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from refold.store import LmdbLog, verify
from tests.store.contract import NOW
from tests.store.making import events, numbers
from tests.store.processes import Process, run

pytestmark = pytest.mark.crash

STREAM = bytes(16)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.refold"


@pytest.mark.parametrize("durability", ["durable", "relaxed"])
@pytest.mark.parametrize("round", range(4))
def test_after_a_kill_all_that_was_acknowledged_is_there_once(
    path: Path, durability: str, round: int
) -> None:
    code = """
    import threading
    log = LmdbLog.open(sys.argv[1], durability=sys.argv[2])
    version = (log.head(bytes(16)) or Head(0, 0, b"", 0)).version
    for n in range(version, 1_000_000):
        with log.batch() as batch:
            batch.append(bytes(16), n, [event(n, bytes(n * 37 % 3000))], time=1)
            batch.append((n + 1).to_bytes(16, "big"), 0, [named(str(n))], time=1)
        say(n)
    """
    acknowledged = -1
    for _ in range(3):
        with Process(code, path, durability) as writer:
            chosen = random.Random(round).randrange(1, 60)
            for _ in range(chosen):
                acknowledged = int(writer.hear())
            writer.kill()
            acknowledged = max([acknowledged, *map(int, writer.heard())])
        with LmdbLog.open(path) as log:
            found = numbers(log.read(STREAM))
            assert found == list(range(len(found)))
            assert len(found) in (acknowledged + 1, acknowledged + 2)
            assert all(log.find(str(n)) == (n + 1).to_bytes(16, "big") for n in found)
            assert verify(log).ok


def test_a_process_killed_inside_its_batch_blocks_nobody(path: Path) -> None:
    code = """
    log = LmdbLog.open(sys.argv[1])
    batch = log.batch()
    batch.append(bytes(16), 0, events(9), time=1)
    say("inside"); hear()
    """
    with LmdbLog.open(path) as log, Process(code, path) as writer:
        writer.hear()
        writer.kill()
        assert log.append(STREAM, 0, events(1), time=NOW).version == 1
        assert numbers(log.read(STREAM)) == [1]
        assert verify(log).ok


def test_a_full_disk_undoes_the_batch_and_leaves_the_log_usable(path: Path) -> None:
    """The limit on the size of files stands for the disk; it is raised again in the end."""
    said = run(
        """
        import resource
        log = LmdbLog.open(sys.argv[1])
        log.append(bytes(16), 0, events(0), time=1)
        size = os.stat(sys.argv[1] + "/data.mdb").st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + (1 << 16), resource.RLIM_INFINITY))
        kept, refused = 1, 0
        while refused < 3:
            try:
                with log.batch() as batch:
                    batch.append(bytes(16), kept, [event(kept, b"x" * 5000)], time=1)
                    batch.append(uid(), 0, events(1), time=1)
                kept += 1
            except LogAccessError as error:
                refused += 1
                assert sys.argv[1] in str(error) and "df -h" in str(error), error
                assert numbers(log.read(bytes(16))) == list(range(kept))
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        log.append(bytes(16), kept, events(kept), time=1)
        assert numbers(log.read(bytes(16))) == list(range(kept + 1))
        assert len(list(log.streams())) == kept
        report = verify(log)
        assert report.ok, report.problems
        say(kept > 3)
        """,
        path,
    )
    assert said == ["True"]


def test_no_room_for_a_new_log_leaves_nothing(path: Path) -> None:
    said = run(
        """
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        try: LmdbLog.open(sys.argv[1])
        except LogAccessError as error: say("df -h" in str(error))
        """,
        path,
    )
    assert said == ["True"]
    assert not path.exists()
