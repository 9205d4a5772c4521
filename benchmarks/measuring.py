"""Measuring side by side: machines drift, so what is compared is measured turn and turn about."""

from __future__ import annotations

import math
import multiprocessing
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import lmdb

T = TypeVar("T")
K = TypeVar("K")

now = time.perf_counter


def interleaved(variants: Mapping[K, Callable[[], T]], repetitions: int) -> dict[K, list[T]]:
    """Run all variants `repetitions` times, in an order that moves on by one each time."""
    results: dict[K, list[T]] = {name: [] for name in variants}
    names = list(variants)
    for repetition in range(repetitions):
        start = repetition % len(names)
        for name in names[start:] + names[:start]:
            results[name].append(variants[name]())
    return results


def ratio(values: Sequence[float], bases: Sequence[float]) -> float:
    """The median of the ratios within each repetition: what drifts, drifts for both."""
    return median(value / base for value, base in zip(values, bases, strict=True))


def exponent(sizes: Sequence[int], totals: Sequence[float]) -> float:
    """How totals grow with sizes, as a power: 1.0 is linear (least squares, on logarithms)."""
    xs = [math.log(size) for size in sizes]
    ys = [math.log(total) for total in totals]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    above = sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True))
    return above / sum((a - x) ** 2 for a in xs)


def disk_bytes(path: Path) -> int:
    """What a file or folder takes on disk; holes in files do not count."""
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return sum(each.stat().st_blocks * 512 for each in files)


def memory_bytes() -> int | None:
    """The memory that is this process's own (the log's map is not), or None where nobody says."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return None


def apart(work: Callable[..., T], *args: Any) -> T:
    """The result of `work` in a fresh process, where nothing before it has left traces."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
        return pool.submit(work, *args).result()


class Floor:
    """The least that a durable append can cost: LMDB, one put of the same bytes in a commit."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / f"floor-{time.perf_counter_ns()}"
        self._environment = lmdb.open(str(self._path), map_size=1 << 36, readahead=False)
        self._next = 0

    def append(self, data: bytes) -> None:
        """Write `data`; it is durable when this returns."""
        with self._environment.begin(write=True) as transaction:
            transaction.put(self._next.to_bytes(8, "big"), data, append=True)
        self._next += 1

    def seconds(self, size: int, commits: int, pause: float = 0.0) -> float:
        """What a commit of `size` bytes takes now: the median of some.

        Args:
            pause: seconds before each; a disk, and a core, that has rested is slower to answer.
        """
        data = os.urandom(size)
        taken = []
        for _ in range(commits):
            if pause:
                time.sleep(pause)
            begun = now()
            self.append(data)
            taken.append(now() - begun)
        return median(taken)

    def close(self) -> None:
        """Close it, and take it off the disk."""
        self._environment.close()
        shutil.rmtree(self._path)
