"""The log in memory keeps the contract; and what is its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from refold.events.errors import ClosedError
from refold.store import Log, MemoryLog
from tests.store.contract import NOW, LogContract
from tests.store.making import events, numbers, uid


class TestMemoryLog(LogContract):
    @pytest.fixture
    def log(self) -> Iterator[Log]:
        log = MemoryLog()
        yield log
        log.close()


def test_a_crash_keeps_what_was_committed_and_drops_the_rest() -> None:
    before = MemoryLog()
    stream = uid()
    before.append(stream, 0, events(1), time=NOW)
    batch = before.batch()
    batch.append(stream, 1, events(2), time=NOW)

    after = before.crash()

    assert numbers(after.read(stream)) == [1]
    assert after.key == before.key
    with pytest.raises(ClosedError):
        batch.commit()
    assert after.append(stream, 1, events(3), time=NOW).version == 2
    with pytest.raises(ClosedError):
        before.read(stream)
