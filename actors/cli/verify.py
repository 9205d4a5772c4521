"""`refold verify`: is the log what it was?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from refold.actors.cli import plain
from refold.actors.cli.failures import FAILED
from refold.actors.cli.help import command
from refold.actors.cli.options import json_option, log_option, looking_at
from refold.actors.cli.terminal import err, out
from refold.actors.cli.words import count
from refold.store.reading import ReadableLog
from refold.store.report import Problem, Report
from refold.store.verify import verify as check


@command(
    "verify",
    "refold verify",
    "refold verify --log demo.refold --json",
    "refold verify --head 18:9f0c…",
)
@click.option(
    "--head",
    metavar="HEAD",
    help="The head that an earlier `verify` gave: the log must be what it was up to there.",
)
@json_option
@log_option
def verify(head: str | None, as_json: bool, path: Path) -> int:
    """Check that a log is whole and unchanged.

    Every record names the hash of the one before it, and holds digests of its events and their
    content, so damage, edits and a cut end are found. Someone who rewrites the whole log is not,
    unless you keep the head that is shown here elsewhere, and give it to --head later.

    The exit code is 0 if all is well, 1 if not.
    """
    with looking_at(path) as archive:
        stored = archive.log
        assert isinstance(stored, ReadableLog)  # what `read` gives
        with err().working(f"checking {path}"):
            report = check(stored, head)
        names = {info.stream: info.name for info in archive.sessions()} if not report.ok else {}
    if as_json:
        click.echo(plain.document(_data(report, names)))
    else:
        _write(report, names, path)
    return 0 if report.ok else FAILED


def _data(report: Report, names: dict[bytes, str]) -> dict[str, Any]:
    problems = [
        {"session": names.get(problem.stream or b""), **plain.plain(problem)}
        for problem in report.problems
    ]
    return {"ok": report.ok, **plain.plain(report), "problems": problems}


def _write(report: Report, names: dict[bytes, str], path: Path) -> None:
    paper = out()
    for problem in report.problems:
        paper.block("problem  ", _where(problem, names), "red")
    checked = ", ".join(
        count(number, *noun)
        for number, noun in (
            (report.streams, ("session",)),
            (report.records, ("record",)),
            (report.events, ("event",)),
            (report.bodies, ("body", "bodies")),
            (report.blobs, ("blob",)),
        )
    )
    if report.erased:
        checked += f", {count(report.erased, 'erased body', 'erased bodies')}"
    if report.ok:
        paper.block("whole    ", f"{path}: {checked}", "green")
    else:
        found = count(len(report.problems), "problem")
        paper.block("damaged  ", f"{path}: {found} in {checked}", "red")
    paper.write(f"head     {report.head}\n")  # unbroken, to be copied


def _where(problem: Problem, names: dict[bytes, str]) -> str:
    name = names.get(problem.stream or b"")
    return f"{name}: {problem}" if name else str(problem)
