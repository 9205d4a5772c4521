"""What a release has written, every later one reads."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import refold
from refold.store import LmdbLog, verify
from tests.golden.states import states_of

HERE = Path(__file__).parent
NAMES = sorted(path.parent.name for path in HERE.glob("*/data.mdb"))


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def path(name: str, tmp_path: Path) -> Path:
    """A copy, for to open a log is to put a lock beside it."""
    return Path(shutil.copytree(HERE / name, tmp_path / "log", ignore=_but_the_log))


def _but_the_log(_: str, names: list[str]) -> list[str]:
    return [name for name in names if name != "data.mdb"]


@pytest.fixture
def archive(path: Path) -> Iterator[refold.Archive]:
    with refold.read(path) as archive:
        yield archive


def test_there_are_golden_logs() -> None:
    assert NAMES


def test_a_golden_log_verifies(path: Path) -> None:
    log = LmdbLog.open(path, readonly=True, create=False)
    try:
        assert verify(log).problems == ()
    finally:
        log.close()


def test_every_state_and_request_is_what_it_was(name: str, archive: refold.Archive) -> None:
    recorded = json.loads((HERE / name / "states.json").read_text(encoding="utf-8"))
    assert json.loads(json.dumps(states_of(archive))) == recorded


def test_a_golden_log_is_decided_the_same_way_again(archive: refold.Archive) -> None:
    differences = [
        (info.name, archive.session(info.name).reexecute()) for info in archive.sessions()
    ]
    assert differences
    assert [difference for _, difference in differences if difference] == []


def test_a_golden_log_holds_every_kind_of_event_but_those_named(archive: refold.Archive) -> None:
    """So that a kind of event that is added gets into a golden log of its own."""
    from refold.events.agent.agent import CODEC
    from refold.events.codec import type_name

    seen = {
        entry.type for info in archive.sessions() for entry in archive.session(info.name).entries()
    }
    missing = {type_name(fact) for fact in CODEC.facts} - seen
    assert missing <= {
        "renamed",
        "hook_raised",
        "listener_failed",
        "recovered",
        "tool_returned_late",
    }
