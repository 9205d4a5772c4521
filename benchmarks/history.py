"""Long sessions, made in memory and copied: what they leave is what a disk would have got."""

from __future__ import annotations

from pathlib import Path

import refold
from benchmarks.instant import MODEL, RESULT, Instant
from refold.store import LmdbLog
from refold.store.log import ANY

NAME = "history"
AT_ONCE = 2000
"""Records in a commit of the copy."""


def write(path: Path, messages: int) -> None:
    """A log with a session of so many messages: prompts and replies, a run each."""
    with refold.open(None, providers=[Instant(0, text=RESULT)]) as runtime:
        session = runtime.session(NAME, model=MODEL)
        for _ in range(messages // 2):
            session.prompt(RESULT).result()
        with LmdbLog.open(path, durability="relaxed") as log:
            batch = log.batch()
            for number, (_, record) in enumerate(runtime.log.read_all(), 1):
                batch.append(
                    session.stream,
                    ANY,
                    [recorded.event for recorded in record],
                    time=record[0].time,
                    cause="history",
                )
                if number % AT_ONCE == 0:
                    batch.commit()
                    batch = log.batch()
            batch.commit()
