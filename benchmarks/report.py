"""What a benchmark found: tables for people, data for programs, and aims, met or not."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

Cell = str | int | float | None


@dataclass
class Aim:
    """Something that a number should be. It is printed, and never fails a run.

    Attributes:
        wanted: the bound, in words, such as "<= 1.05".
    """

    name: str
    wanted: str
    value: float
    met: bool

    def __str__(self) -> str:
        met = "met   " if self.met else "MISSED"
        return f"{met}  {self.name}: {shown(self.value)} ({self.wanted})"


@dataclass
class Table:
    """Rows under heads; the first column names the row."""

    heads: Sequence[str]
    rows: list[Sequence[Cell]] = field(default_factory=list)

    def __str__(self) -> str:
        cells = [list(self.heads), *([shown(cell) for cell in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if number == 0 else cell.rjust(width)
                for number, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in cells
        )


@dataclass
class Report:
    """The answer of one benchmark.

    Attributes:
        doubtful: others used the disk meanwhile.
    """

    question: str
    tables: list[Table] = field(default_factory=list)
    aims: list[Aim] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    doubtful: bool = False

    def table(self, *heads: str) -> Table:
        """A new table of this report."""
        self.tables.append(Table(heads))
        return self.tables[-1]

    def at_least(self, name: str, value: float, bound: float) -> None:
        """Aim at `value` being `bound` or more."""
        self.aims.append(Aim(name, f"at least {shown(bound)}", value, value >= bound))

    def at_most(self, name: str, value: float, bound: float) -> None:
        """Aim at `value` being `bound` or less."""
        self.aims.append(Aim(name, f"at most {shown(bound)}", value, value <= bound))

    def doubt(self, commits: Sequence[float]) -> None:
        """Say so if raw commits, in seconds, took so different times that others used the disk."""
        ordered = sorted(commits)
        low, high = ordered[len(ordered) // 10], ordered[-1 - len(ordered) // 10]
        self.doubtful = high > 2 * low
        if self.doubtful:
            self.notes.append(
                f"THE DISK WAS NOT QUIET: a raw commit took from {low * 1e3:.2f} to "
                f"{high * 1e3:.2f} ms. Measure again before you believe what needs a disk."
            )

    def __str__(self) -> str:
        parts = [self.question, *map(str, self.tables)]
        parts.extend(f"note: {note}" for note in self.notes)
        if self.aims:
            parts.append("\n".join(map(str, self.aims)))
        return "\n\n".join(parts)


@dataclass(frozen=True)
class Setting:
    """How a benchmark is run.

    Attributes:
        quick: a short run, whose numbers only show that it works.
        folder: where logs are put while they are measured: on the disk that is meant.
    """

    quick: bool
    folder: Path

    def scaled(self, full: int, quick: int) -> int:
        """A number for a full and for a quick run."""
        return quick if self.quick else full


def arguments(description: str) -> argparse.ArgumentParser:
    """The command line of every benchmark."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="a short run: does it work at all?")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the numbers there, too")
    parser.add_argument(
        "--dir",
        metavar="DIR",
        type=Path,
        default=Path("build/benchmarks"),
        help="where logs are put while they are measured (default: %(default)s; a folder in "
        "memory would make syncs free, and the figures false)",
    )
    return parser


def alone(measure: Callable[[Setting], Report]) -> None:
    """Run one benchmark from the command line."""
    options = arguments(measure.__doc__ or "").parse_args()
    options.dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        report = measure(Setting(options.quick, Path(folder).absolute()))
    print(report, flush=True)
    if options.json:
        options.json.write_text(json.dumps(asdict(report), indent=1))


def machine() -> dict[str, Any]:
    """What the numbers were measured on, as far as it changes them."""
    versions = {
        name: importlib.import_module(name).__version__ for name in ("lmdb", "msgspec", "refold")
    }
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        **versions,
    }


def shown(cell: Cell) -> str:
    """A cell as text: three digits that matter."""
    if cell is None:
        return "-"
    if not isinstance(cell, float):
        return f"{cell:,}" if isinstance(cell, int) else cell
    size = abs(cell)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{cell:,.{digits}f}"
