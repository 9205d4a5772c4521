"""What does a durable append cost, beside the least that it can cost?"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measuring import Floor, interleaved, now, ratio
from benchmarks.report import Report, Setting, alone
from refold.actors.actor import Address
from refold.actors.hub import Hub
from refold.actors.journal import Journal
from refold.actors.messages import Message, Write, Written
from refold.events.record import EventData, encode_record, seal
from refold.store import LmdbLog
from refold.store.log import ANY

WRITERS = 64
BODY = 350
"""Bytes of a message, as in the comparison with peers."""


def measure(setting: Setting) -> Report:
    """What does a durable append cost, beside the least that it can cost?"""
    report = Report(measure.__doc__ or "")
    repetitions, single = setting.scaled(9, 2), setting.scaled(400, 60)
    each = setting.scaled(60, 8)
    floor = Floor(setting.folder)
    record = os.urandom(_record_size())
    log = LmdbLog.open(setting.folder / "log.refold")
    journal = _JournalDriver(setting.folder / "journal.refold")
    variants: dict[str, Callable[[], float]] = {
        "floor, 1 writer": lambda: _rate(1, single, lambda _: floor.append(record)),
        "log, 1 writer": lambda: _rate(1, single, _log_writer(log)),
        "journal, 1 writer": lambda: _rate(1, single, journal.writer()),
        f"floor, {WRITERS} writers": lambda: _rate(WRITERS, each // 4, _locked(floor, record)),
        f"log, {WRITERS} writers": lambda: _rate(WRITERS, each // 4, _log_writer(log)),
        f"journal, {WRITERS} writers": lambda: _rate(WRITERS, each, journal.writer()),
    }
    rates = interleaved(variants, repetitions)
    journal.close()
    log.close()
    floor.close()

    one = rates["floor, 1 writer"]
    table = report.table("row", "appends/s", "us an append", "x floor", "x its own 1 writer")
    for name, found in rates.items():
        own = rates[f"{name.partition(',')[0]}, 1 writer"]
        table.rows.append(
            (name, median(found), 1e6 / median(found), ratio(found, one), ratio(found, own))
        )
    report.notes.append(
        f"bodies of {BODY} bytes, one event an append, each writer on a stream of its own and "
        "waiting for each append; floor: one LMDB put of the same record per durable commit "
        f"({len(record)} bytes); medians of {repetitions} interleaved runs"
    )
    one_journal, many_journal = rates["journal, 1 writer"], rates[f"journal, {WRITERS} writers"]
    report.at_least("1 writer through the log, x floor", ratio(rates["log, 1 writer"], one), 0.8)
    report.at_least("1 writer through the journal, x floor", ratio(one_journal, one), 0.8)
    report.at_least(
        f"{WRITERS} writers through the journal, x 1 writer", ratio(many_journal, one_journal), 12.0
    )
    return report


Append = Callable[[int], None]


def _rate(writers: int, appends: int, append: Append) -> float:
    """Appends a second of so many threads, each of which makes so many."""
    if writers == 1:
        begun = now()
        for _ in range(appends):
            append(0)
        return appends / (now() - begun)
    start = threading.Barrier(writers + 1)

    def work(number: int) -> None:
        start.wait()
        for _ in range(appends):
            append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(writers)]
    for thread in threads:
        thread.start()
    start.wait()
    begun = now()
    for thread in threads:
        thread.join()
    return writers * appends / (now() - begun)


def _event() -> EventData:
    return EventData("message", 1, True, b"\x80", os.urandom(BODY))


def _record_size() -> int:
    """How many bytes the log writes for one such append."""
    record, _ = seal(
        (_event(),),
        stream=os.urandom(16),
        record=1000,
        first=1000,
        time=time.time_ns() // 1_000_000,
        epoch=0,
        cause="bench",
        previous=os.urandom(32),
        salt=lambda: os.urandom(16),
    )
    return len(encode_record(record))


def _log_writer(log: LmdbLog) -> Append:
    streams = [os.urandom(16) for _ in range(WRITERS)]
    event = _event()

    def append(number: int) -> None:
        log.append(streams[number], ANY, (event,), time=time.time_ns() // 1_000_000, cause="bench")

    return append


def _locked(floor: Floor, record: bytes) -> Append:
    lock = threading.Lock()

    def append(_: int) -> None:
        with lock:
            floor.append(record)

    return append


class _Callers(Address):
    """In the place of the Loop: wakes whoever waits for an append of a stream."""

    def __init__(self) -> None:
        super().__init__("benchmark")
        self.waiting: dict[bytes, threading.Semaphore] = {}

    def tell(self, message: Message) -> None:
        if not isinstance(message, Written):
            raise AssertionError(f"not written: {message!r}")
        self.waiting[message.stream].release()


class _JournalDriver:
    """A Journal with callers in the place of the Loop."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log = LmdbLog.open(path)
        self._callers = _Callers()
        self._journal = Journal.launch(
            _fail,
            log=self._log,
            owner="benchmark",
            loop=self._callers,
            reader=self._callers,
            hub=Hub(),
            clock=lambda: time.time_ns() // 1_000_000,
        )

    def writer(self) -> Append:
        """An append that returns once it is durable; new streams each time."""
        streams = [os.urandom(16) for _ in range(WRITERS)]
        waiting = [threading.Semaphore(0) for _ in range(WRITERS)]
        self._callers.waiting = dict(zip(streams, waiting, strict=True))
        event = _event()

        def append(number: int) -> None:
            self._journal.tell(
                Write(
                    stream=streams[number],
                    expected=ANY,
                    events=(event,),
                    epoch=None,
                    cause="bench",
                    states=(None,),
                )
            )
            waiting[number].acquire()

        return append

    def close(self) -> None:
        """Stop it, and take its log off the disk."""
        self._journal.stop()
        self._log.close()
        shutil.rmtree(self._path)


def _fail(failed: Any) -> None:
    raise failed.error


if __name__ == "__main__":
    alone(measure)
