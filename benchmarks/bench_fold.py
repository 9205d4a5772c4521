"""What does it cost to open a long session, and to look at its past? How does that grow?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median

import lmdb

import refold
from benchmarks import history
from benchmarks.instant import Instant
from benchmarks.measuring import exponent, interleaved, now
from benchmarks.report import Report, Setting, alone


def measure(setting: Setting) -> Report:
    """What does it cost to open a long session, and to look at its past? How does that grow?"""
    report = Report(measure.__doc__ or "")
    sizes = (200, 2000) if setting.quick else (1000, 10_000, 100_000)
    paths = {size: setting.folder / f"{size}.refold" for size in sizes}
    for size, path in paths.items():
        history.write(path, size)
    questions: dict[str, Callable[[Path, int], float]] = {
        "bare scan of the records": _scan,
        "fold: the state at the end": lambda path, size: _state(path, size, 1),
        "the state at half of it": lambda path, size: _state(path, size, 2),
        "opening, until it takes a prompt": _open,
        "reading all messages": _messages,
        "the last context, read": _context,
    }
    found = interleaved(
        {
            (name, size): _asked(ask, path, size)
            for size, path in paths.items()
            for name, ask in questions.items()
        },
        setting.scaled(3, 2),
    )
    heads = [f"{size:,} messages, ms" for size in sizes]
    table = report.table("row", *heads, "us a message", "x bare scan", "exponent")
    grown = {}
    last = sizes[-1]
    scan = median(found["bare scan of the records", last])
    for name in questions:
        times = [median(found[name, size]) for size in sizes]
        grown[name] = exponent(sizes[-2:], times[-2:])
        table.rows.append(
            (
                name,
                *(seconds * 1e3 for seconds in times),
                times[-1] / last * 1e6,
                times[-1] / scan,
                grown[name],
            )
        )
    with refold.read(paths[last]) as archive:
        events = archive.session(history.NAME).version
    report.notes.append(
        f"a session of prompts and replies, {events / last:.1f} events a message; the exponent is "
        "that of the last step. Bare scan: an LMDB cursor over the records, nothing decoded. All "
        "are asked of a log that was just opened, with warm caches of the system."
    )
    for name in ("fold: the state at the end", "opening, until it takes a prompt"):
        report.at_most(f"growth of `{name}`, exponent", grown[name], 1.05)
    half = median(found["the state at half of it", last])
    whole = median(found["fold: the state at the end", last])
    report.at_most("the state at half of it, x that at the end", half / whole, 0.6)
    return report


def _asked(ask: Callable[[Path, int], float], path: Path, size: int) -> Callable[[], float]:
    return lambda: ask(path, size)


def _scan(path: Path, _: int) -> float:
    environment = lmdb.open(str(path), readonly=True, create=False, max_dbs=16)
    table = environment.open_db(b"log", create=False)
    begun = now()
    with environment.begin(db=table) as transaction:
        bytes_read = sum(len(record) for _, record in transaction.cursor())
    seconds = now() - begun
    environment.close()
    assert bytes_read
    return seconds


def _state(path: Path, messages: int, part: int) -> float:
    with refold.read(path) as archive:
        past = archive.session(history.NAME)
        version = past.version // part
        begun = now()
        state = past.at(version)
        seconds = now() - begun
        assert abs(len(state.messages) - messages / part) <= 2
    return seconds


def _open(path: Path, messages: int) -> float:
    begun = now()
    with refold.open(path, providers=[Instant(0)]) as runtime:
        session = runtime.session(history.NAME)
        seconds = now() - begun
        assert len(session.state.messages) == messages
    return seconds


def _messages(path: Path, messages: int) -> float:
    with refold.read(path) as archive:
        state = archive.session(history.NAME).at()
        begun = now()
        read = sum(len(message.text) for message in state.messages)
        seconds = now() - begun
        assert read
    return seconds


def _context(path: Path, messages: int) -> float:
    with refold.read(path) as archive:
        begun = now()
        request = archive.session(history.NAME).context()
        texts = [message.text for message in request.messages]
        seconds = now() - begun
        assert len(texts) == messages - 1
    return seconds


if __name__ == "__main__":
    alone(measure)
