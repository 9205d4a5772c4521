"""The log on LMDB keeps the contract, durable and relaxed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from refold.store import LmdbLog, Log
from tests.store.contract import LogContract


class TestLmdbLog(LogContract):
    @pytest.fixture
    def log(self, tmp_path: Path) -> Iterator[Log]:
        log = LmdbLog.open(tmp_path / "runs.refold")
        yield log
        log.close()


class TestRelaxedLmdbLog(LogContract):
    @pytest.fixture
    def log(self, tmp_path: Path) -> Iterator[Log]:
        log = LmdbLog.open(tmp_path / "runs.refold", durability="relaxed")
        yield log
        log.close()
