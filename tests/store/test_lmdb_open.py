"""Opening a log: what is refused, in which words, and that nothing is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import lmdb
import pytest

from refold.events.errors import (
    CorruptError,
    InvalidArgumentError,
    LogAccessError,
    NewerFormatError,
    NotALogError,
)
from refold.store import LmdbLog
from refold.store.lmdb import files
from tests.store.contract import NOW
from tests.store.making import event, events, numbers, uid
from tests.store.processes import Process, run

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


def tree(folder: Path) -> dict[str, bytes | None]:
    """All that is in a folder, with its content."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.refold"


def test_a_log_is_made_where_nothing_is_or_in_an_empty_folder(path: Path) -> None:
    for place in (path, path.parent / "empty"):
        (path.parent / "empty").mkdir(exist_ok=True)
        stream = uid()
        with LmdbLog.open(place) as log:
            log.append(stream, 0, events(1), time=NOW)
        assert sorted(os.listdir(place)) == ["data.mdb", "lock.mdb"]
        with LmdbLog.open(place, create=False) as log:
            assert numbers(log.read(stream)) == [1]


def test_every_log_has_a_key_of_its_own_that_it_keeps(tmp_path: Path) -> None:
    keys = set()
    for name in ("one", "two"):
        with LmdbLog.open(tmp_path / name) as log:
            keys.add(log.key)
        with LmdbLog.open(tmp_path / name) as log:
            assert log.key in keys
    assert len(keys) == 2


@pytest.mark.parametrize("readonly", [True, False])
def test_where_no_log_is_to_be_made_its_absence_is_said(path: Path, readonly: bool) -> None:
    with pytest.raises(NotALogError, match="there is no log at"):
        LmdbLog.open(path, create=False, readonly=readonly)
    path.mkdir()
    with pytest.raises(NotALogError, match="there is no log at"):
        LmdbLog.open(path, create=False, readonly=readonly)
    assert os.listdir(path) == []


def test_looking_never_makes_a_log(path: Path) -> None:
    with pytest.raises(NotALogError):
        LmdbLog.open(path, readonly=True)
    assert not path.exists()


def test_a_file_is_not_a_log(path: Path) -> None:
    path.write_text("notes")
    with pytest.raises(NotALogError, match="is a file"):
        LmdbLog.open(path)
    assert path.read_text() == "notes"


@pytest.mark.parametrize("name", ["notes.txt", "lock.mdb", "sub"])
def test_a_folder_with_other_things_is_left_alone(path: Path, name: str) -> None:
    path.mkdir()
    if name == "sub":
        (path / name).mkdir()
    else:
        (path / name).write_text("mine")
    before = tree(path)
    with pytest.raises(NotALogError, match=name):
        LmdbLog.open(path)
    assert tree(path) == before


@pytest.mark.parametrize("content", [b"", b"\0" * 64, b"not an LMDB file" * 1000])
def test_a_data_file_of_something_else_is_not_a_log(path: Path, content: bytes) -> None:
    path.mkdir()
    (path / "data.mdb").write_bytes(content)
    before = tree(path)
    for readonly in (True, False):
        with pytest.raises(NotALogError, match="not an LMDB file"):
            LmdbLog.open(path, readonly=readonly)
    assert tree(path) == before


@pytest.mark.parametrize("locked", [True, False])
def test_an_lmdb_file_of_something_else_is_not_a_log(path: Path, locked: bool) -> None:
    with lmdb.open(str(path), max_dbs=2) as foreign:
        table = foreign.open_db(b"meta")
        with foreign.begin(write=True) as txn:
            txn.put(b"a", b"b", db=table)
    if not locked:
        (path / "lock.mdb").unlink()
    before = tree(path)
    for readonly in (True, False):
        with pytest.raises(NotALogError, match="not a log"):
            LmdbLog.open(path, readonly=readonly)
    assert tree(path).keys() == before.keys()
    assert tree(path)["data.mdb"] == before["data.mdb"]


@pytest.mark.parametrize("locked", [True, False])
def test_a_newer_format_is_refused_by_name(path: Path, locked: bool) -> None:
    LmdbLog.open(path).close()
    with lmdb.open(str(path), max_dbs=8) as raw, raw.begin(write=True) as txn:
        pass
    with lmdb.open(str(path), max_dbs=8) as raw:
        meta = raw.open_db(b"meta", create=False)
        with raw.begin(write=True) as txn:
            txn.put(files.FORMAT_KEY, b"%d" % (files.FORMAT + 1), db=meta)
    if not locked:
        (path / "lock.mdb").unlink()
    for readonly in (True, False):
        with pytest.raises(NewerFormatError, match=f"format {files.FORMAT + 1}.*update refold"):
            LmdbLog.open(path, readonly=readonly)


def test_an_unknown_durability_is_refused(path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="'durable' or 'relaxed'"):
        LmdbLog.open(path, durability="fast")  # type: ignore[arg-type]
    assert not path.exists()


def test_a_missing_folder_above_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(LogAccessError, match=f"mkdir -p {tmp_path / 'no'}"):
        LmdbLog.open(tmp_path / "no" / "runs.refold")
    assert os.listdir(tmp_path) == []


def test_what_a_killed_maker_left_does_not_hinder(path: Path) -> None:
    (path / ".new-abc").mkdir(parents=True)
    (path / ".new-abc" / "data.mdb").write_bytes(b"half")
    with LmdbLog.open(path) as log:
        log.append(uid(), 0, events(1), time=NOW)


def test_a_maker_that_fails_leaves_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    for step in ("_write_empty", "_publish"):
        monkeypatch.setattr(files, step, full)
        with pytest.raises(LogAccessError, match="df -h"):
            LmdbLog.open(path)
        monkeypatch.undo()
        assert not path.exists()


def test_a_file_system_without_hard_links_will_do(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", refuse)
    LmdbLog.open(path).close()
    assert sorted(os.listdir(path)) == ["data.mdb", "lock.mdb"]


def test_many_who_make_the_same_log_at_once_make_one(path: Path) -> None:
    code = """
    say("ready"); hear()
    log = LmdbLog.open(sys.argv[1])
    log.append(uid(), 0, events(1), time=1)
    say(log.key.hex())
    """
    makers = [Process(code, path) for _ in range(4)]
    try:
        for maker in makers:
            maker.hear()
        for maker in makers:
            maker.say()
        keys = {key for maker in makers for key in maker.end()}
    finally:
        for maker in makers:
            maker.__exit__(None, None, None)
    assert len(keys) == 1
    with LmdbLog.open(path) as log:
        assert len(list(log.streams())) == 4


def test_many_threads_that_open_the_same_log_share_it(path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        logs = list(pool.map(lambda _: LmdbLog.open(path), range(8)))
    assert len({id(log._environment) for log in logs}) == 1
    for log in logs:
        log.close()


# Rights

NOBODY = """
os.setgroups([]); os.setgid(65534); os.setuid(65534)
"""


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that everybody may look into, and only its owner may write; pytest's are private."""
    with TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@as_root
def test_without_rights_to_write_no_log_is_made(public: Path) -> None:
    said = run(
        NOBODY
        + """
try: LmdbLog.open(sys.argv[1])
except LogAccessError as error: say(error)
""",
        public / "runs.refold",
    )
    assert len(said) == 1
    assert "Permission denied" in said[0]
    assert str(public / "runs.refold") in said[0]
    assert os.listdir(public) == []


@as_root
def test_without_rights_to_look_that_is_said(public: Path) -> None:
    path = public / "runs.refold"
    LmdbLog.open(path).close()
    path.chmod(0o700)
    said = run(
        NOBODY
        + """
for readonly in (True, False):
    try: LmdbLog.open(sys.argv[1], readonly=readonly)
    except LogAccessError as error: say("Permission denied" in str(error))
""",
        path,
    )
    assert said == ["True", "True"]


@as_root
def test_without_rights_to_write_a_log_can_be_looked_at_while_others_write(public: Path) -> None:
    path = public / "runs.refold"
    stream = uid()
    code = (
        NOBODY
        + """
stream = bytes.fromhex(sys.argv[2])
try: LmdbLog.open(sys.argv[1])
except LogAccessError as error: say("Permission denied" in str(error))
log = LmdbLog.open(sys.argv[1], readonly=True)
say(numbers(log.read(stream)))
for cursor, found in log.follow():
    assert len(found[0].event.body) == 2000
    say(numbers(found)[0])
    if found[0].version == 100: break
say(verify(log).ok)
"""
    )
    with LmdbLog.open(path, durability="relaxed") as log:
        log.append(stream, 0, [event(1, b"x" * 2000)], time=NOW)
        with Process(code, path, stream.hex()) as looking:
            assert looking.hear() == "True"
            assert looking.hear() == "[1]"
            assert looking.hear() == "1"
            for n in range(2, 101):
                log.append(stream, n - 1, [event(n, b"x" * 2000)], time=NOW)
            assert looking.end() == [*map(str, range(2, 101)), "True"]


@as_root
def test_looking_without_rights_leaves_no_trace(public: Path) -> None:
    path = public / "runs.refold"
    with LmdbLog.open(path) as log:
        log.append(uid(), 0, events(1), time=NOW)
    (path / "lock.mdb").unlink()
    before = tree(path)
    assert run(
        NOBODY + "log = LmdbLog.open(sys.argv[1], readonly=True); say(verify(log).ok)", path
    ) == ["True"]
    assert tree(path) == before


# Damage


def test_a_damaged_file_is_said_to_be_damaged(path: Path) -> None:
    with LmdbLog.open(path) as log:
        for n in range(50):
            log.append(uid(), 0, [event(n, b"x" * 500)], time=NOW)
    data = bytearray((path / "data.mdb").read_bytes())
    for page in range(0, 2 * 4096, 4096):
        # The roots that both meta pages lead to, far behind the end of the file.
        data[page + 128 : page + 136] = (1 << 40).to_bytes(8, "little")
    (path / "data.mdb").write_bytes(data)
    with pytest.raises(CorruptError, match="damaged"):
        LmdbLog.open(path)


@pytest.mark.parametrize("size", [5_000, 8_192, 20_000, 40_000])
def test_a_file_that_was_cut_off_is_refused_and_not_read_beyond_its_end(
    tmp_path: Path, size: int
) -> None:
    """In a process of its own: to read a page that is not there would kill it (SIGBUS)."""
    path = tmp_path / "log"
    with LmdbLog.open(path) as log:
        stream = uid()
        for version in range(20):
            log.append(stream, version, events(version), time=NOW)
    os.truncate(path / "data.mdb", size)
    code = (
        "import sys; from refold import RefoldError; from refold.store import LmdbLog\n"
        "for readonly in (True, False):\n"
        "    try: LmdbLog.open(sys.argv[1], create=False, readonly=readonly)\n"
        "    except RefoldError as error: print(type(error).__name__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, ["CorruptError", "CorruptError"])
