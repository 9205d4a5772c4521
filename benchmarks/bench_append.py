"""What does a durable append cost, beside the least that it can cost?"""

from __future__ import annotations

import os
import queue
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
MANY = 1024
BODY = 350
"""Bytes of a message, as in the comparison with peers."""


def measure(setting: Setting) -> Report:
    """What does a durable append cost, beside the least that it can cost?"""
    report = Report(measure.__doc__ or "")
    # Many short slices: a disk that others use drifts within seconds.
    repetitions, few, many = (
        setting.scaled(40, 3),
        setting.scaled(50, 20),
        setting.scaled(1000, 200),
    )
    floor = Floor(setting.folder)
    record = os.urandom(_record_size())
    log = LmdbLog.open(setting.folder / "log.refold")
    journal = _DrivenJournal(setting.folder / "journal.refold")
    variants: dict[str, Callable[[], float]] = {
        "floor, 1 writer": lambda: _by_threads(1, few, lambda _: floor.append(record)),
        "log, 1 writer": lambda: _by_threads(1, few, _to(log)),
        "journal, 1 writer": lambda: journal.rate(1, few),
        f"log, {WRITERS} threads": lambda: _by_threads(WRITERS, WRITERS, _to(log)),
        f"journal, {WRITERS} threads": lambda: _by_threads(WRITERS, many, journal.append),
        f"journal, {WRITERS} writers": lambda: journal.rate(WRITERS, many),
        f"journal, {MANY} writers": lambda: journal.rate(MANY, 4 * many),
    }
    rates = interleaved(variants, repetitions)
    journal.close()
    log.close()
    floor.close()

    least = rates["floor, 1 writer"]
    table = report.table("row", "appends/s", "us an append", "x floor", "x its own 1 writer")
    for name, found in rates.items():
        own = rates[f"{name.partition(',')[0]}, 1 writer"]
        table.rows.append(
            (name, median(found), 1e6 / median(found), ratio(found, least), ratio(found, own))
        )
    report.notes.append(
        f"one event of {BODY} bytes an append; every writer has a stream of its own, and waits for "
        "each append before it makes the next. Floor: one LMDB put of the same record "
        f"({len(record)} bytes) in a durable commit of its own. Writers of the journal are driven "
        "by one thread, as sessions are by the Loop; the rows with threads pay for waking them, "
        f"too. Medians over {repetitions} interleaved slices; ratios are taken within a slice."
    )
    report.doubt([1 / rate for rate in least])
    one = rates["journal, 1 writer"]
    report.at_least("1 writer through the log, x floor", ratio(rates["log, 1 writer"], least), 0.8)
    report.at_least("1 writer through the journal, x floor", ratio(one, least), 0.8)
    report.at_least(
        f"{WRITERS} writers through the journal, x 1 writer",
        ratio(rates[f"journal, {WRITERS} writers"], one),
        12.0,
    )
    return report


Append = Callable[[int], None]


def _by_threads(writers: int, appends: int, append: Append) -> float:
    """Appends a second of so many threads, which together make so many."""
    if writers == 1:
        begun = now()
        for _ in range(appends):
            append(0)
        return appends / (now() - begun)
    start = threading.Barrier(writers + 1)
    each = max(1, appends // writers)

    def work(number: int) -> None:
        start.wait()
        for _ in range(each):
            append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(writers)]
    for thread in threads:
        thread.start()
    start.wait()
    begun = now()
    for thread in threads:
        thread.join()
    return writers * each / (now() - begun)


def _event() -> EventData:
    return EventData("message", 1, True, b"\x80", os.urandom(BODY))


def _time() -> int:
    return time.time_ns() // 1_000_000


def _record_size() -> int:
    """How many bytes the log writes for one such append."""
    record, _ = seal(
        (_event(),),
        stream=os.urandom(16),
        record=1000,
        first=1000,
        time=_time(),
        epoch=0,
        cause="bench",
        previous=os.urandom(32),
        salt=lambda: os.urandom(16),
    )
    return len(encode_record(record))


def _to(log: LmdbLog) -> Append:
    streams = [os.urandom(16) for _ in range(WRITERS)]
    event = _event()

    def append(number: int) -> None:
        log.append(streams[number], ANY, (event,), time=_time(), cause="bench")

    return append


class _Acknowledged(Address):
    """In the place of the Loop: passes on which stream's append is durable."""

    def __init__(self) -> None:
        super().__init__("benchmark")
        self.pass_on: Callable[[bytes], object] = lambda _: None

    def tell(self, message: Message) -> None:
        if not isinstance(message, Written):
            raise AssertionError(f"not written: {message!r}")
        self.pass_on(message.stream)


class _DrivenJournal:
    """A Journal, with a benchmark in the place of the Loop."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log = LmdbLog.open(path)
        self._acknowledged = _Acknowledged()
        self._event = _event()
        self._streams = [os.urandom(16) for _ in range(MANY)]
        self._locks = {stream: threading.Lock() for stream in self._streams}
        for lock in self._locks.values():
            lock.acquire()
        self._journal = Address("journal")
        Journal.launch(
            self._journal,
            _fail,
            log=self._log,
            owner="benchmark",
            loop=self._acknowledged,
            reader=self._acknowledged,
            hub=Hub(),
            clock=_time,
        )

    def append(self, number: int) -> None:
        """Append on the stream of a writer, and return once that is durable."""
        stream = self._streams[number]
        self._acknowledged.pass_on = self._release
        self._journal.tell(self._write(stream))
        self._locks[stream].acquire()

    def rate(self, writers: int, appends: int) -> float:
        """Appends a second of so many writers, all of them driven by this thread."""
        durable: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._acknowledged.pass_on = durable.put
        begun = now()
        for stream in self._streams[:writers]:
            self._journal.tell(self._write(stream))
        for _ in range(max(0, appends - writers)):
            self._journal.tell(self._write(durable.get()))
        for _ in range(min(writers, appends)):
            durable.get()
        return max(appends, writers) / (now() - begun)

    def close(self) -> None:
        """Stop it, and take its log off the disk."""
        self._journal.stop()
        self._log.close()
        shutil.rmtree(self._path)

    def _write(self, stream: bytes) -> Write:
        return Write(
            stream=stream,
            expected=ANY,
            events=(self._event,),
            epoch=None,
            cause="bench",
            states=(None,),
        )

    def _release(self, stream: bytes) -> None:
        self._locks[stream].release()


def _fail(failed: Any) -> None:
    raise failed.error


if __name__ == "__main__":
    alone(measure)
