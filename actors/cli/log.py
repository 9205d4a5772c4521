"""`refold log`: what happened in a session, event by event."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import click

from refold.actors.cli import plain
from refold.actors.cli.content import content_of
from refold.actors.cli.help import command
from refold.actors.cli.options import (
    json_option,
    log_option,
    looking_at,
    past_of,
    session_argument,
)
from refold.actors.cli.terminal import Paper, one_line, out, padded
from refold.actors.cli.times import clock, day
from refold.actors.cli.words import hook_of, words
from refold.actors.past import Entry, Past
from refold.events.agent.agent import AGENT
from refold.events.agent.inputs import INPUTS
from refold.events.agent.state import SessionState
from refold.store.log import Cursor, Log

Seen = tuple[Entry, Any, SessionState, SessionState]
"""An event, its content, and the states around it."""

_INPUTS = frozenset(INPUTS)
_TYPE_WIDTH = 21


@command(
    "log",
    "refold log sums",
    "refold log sums --last 20",
    "refold log sums --after turn:1 --until turn:2",
    "refold log sums --json | grep tool_returned",
    "refold log sums --follow",
)
@session_argument
@click.option("--after", metavar="POINT", help="Begin behind this point. Default: at the start.")
@click.option("--until", metavar="POINT", help="End with this point. Default: end.")
@click.option(
    "--last", type=click.IntRange(min=1), metavar="N", help="Show only the last N of these events."
)
@click.option("--follow", is_flag=True, help="Go on with what happens from now on, until Ctrl-C.")
@json_option
@log_option
@click.pass_context
def log(
    ctx: click.Context,
    session: str,
    after: str | None,
    until: str | None,
    last: int | None,
    follow: bool,
    as_json: bool,
    path: Path,
) -> None:
    """Show the events of a session, one a line.

    A line has the event's version, its type, and what it says. A time stands where a new append
    begins: all events of an append became durable together. Bold events came from outside; the
    others the agent's machine made of them by itself.

    A POINT is a version (412), a place from the end (-3), the end of a turn (turn:7), a model
    call (call:12), a time (2026-11-30T10:15), or end.
    """
    if follow and until:
        raise click.UsageError("--follow has no end: leave --until out", ctx)
    with looking_at(path) as archive:
        past = past_of(archive, session, path)
        cursor = archive.log.end()  # before the end is looked up: nothing falls between
        end = past.resolve(until) if until else past.version
        start = past.resolve(after) if after else 0
        if last:
            start = max(start, end - last)
        reading = _Reading(past, start)
        seen = reading.read(end)
        if follow:
            stream = archive.log.find(session)
            seen = chain(seen, reading.follow(archive.log, stream or b"", cursor))
        paper = out()
        write = _lines(paper)
        if as_json:
            write = _json_line
        for event in seen:
            write(event)
            if follow:
                paper.flush()


class _Reading:
    """Reads events, and folds as it goes."""

    def __init__(self, past: Past, start: int) -> None:
        self._past = past
        self._state = past.machine_at(start) if start else AGENT.initial()

    def read(self, until: int | None = None) -> Iterator[Seen]:
        """The events from where it stands up to version `until`."""
        for entry in self._past.entries(self._state.version, until):
            before, self._state = self._state, AGENT.evolve(self._state, entry.fact)
            content = content_of(entry.fact, entry.body, hook_of(before, entry.fact))
            yield entry, content, before, self._state

    def follow(self, stored: Log, stream: bytes, cursor: Cursor) -> Iterator[Seen]:
        """The events that are appended behind `cursor`, by any process, for ever."""
        for _, records in stored.follow(cursor):
            if any(recorded.stream == stream for recorded in records):
                yield from self.read()


def _json_line(event: Seen) -> None:
    click.echo(plain.line(_data(event)))


def _data(event: Seen) -> dict[str, Any]:
    entry, content, _, _ = event
    return {
        "version": entry.version,
        "time": entry.time,
        "record": entry.record,
        "type": entry.type,
        "fact": entry.fact,
        "content": content,
    }


def _lines(paper: Paper) -> Callable[[Seen], None]:
    """Writes an event as a line: its time where an append begins, the day where one does."""
    record, today = 0, ""

    def write(event: Seen) -> None:
        nonlocal record, today
        entry, content, before, after = event
        if today != day(entry.time):
            today = day(entry.time)
            paper.line((today, "dim"))
        time = clock(entry.time) if entry.record != record else ""
        record = entry.record
        said = one_line(words(entry.fact, content, before, after))
        style = "bold" if type(entry.fact) in _INPUTS else ""
        paper.line(
            f"{entry.version:>6}  ",
            *(() if paper.is_narrow else [(f"{time:<12}  ", "dim")]),
            (padded(entry.type, _TYPE_WIDTH) if said else entry.type, style),
            f" {said}" if said else "",
        )

    return write
