"""`refold sessions`: what is in a log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.cells import cell_len

from refold.actors.cli import plain
from refold.actors.cli.help import command
from refold.actors.cli.options import json_option, log_option, looking_at
from refold.actors.cli.terminal import Paper, one_line, out, padded
from refold.actors.cli.times import minute
from refold.actors.runtime import Archive, SessionInfo
from refold.events.agent import bodies

_ACTIVE = frozenset({"prompted", "continued", "agent_start", "turn_start", "recovered"})
"""Events of a run: whoever meets one, looking back, before a `settled` is in the midst of a run."""


@command("sessions", "refold sessions", "refold sessions --json --log demo.refold")
@json_option
@log_option
def sessions(as_json: bool, path: Path) -> None:
    """List the sessions of a log.

    A session whose run has no end yet is marked with *: a process is at work on it, or was killed
    there. `refold run --session NAME` goes on with one that was cut off.
    """
    with looking_at(path) as archive:
        rows = [_row(archive, info) for info in archive.sessions()]
    if as_json:
        click.echo(plain.document({"sessions": rows}))
    elif rows:
        _write(out(), rows)
    else:
        click.echo(f"{path} has no sessions yet: `refold run PROMPT` begins one")


def _row(archive: Archive, info: SessionInfo) -> dict[str, Any]:
    return {
        "name": info.name,
        "stream": info.stream,
        "version": info.version,
        "created": info.created,
        "updated": info.updated,
        "running": _is_running(archive, info),
        "prompt": _first_prompt(archive, info),
    }


def _is_running(archive: Archive, info: SessionInfo) -> bool:
    for recorded in archive.log.read(info.stream, reverse=True, bodies=False):
        if recorded.event.type == "settled":
            return False
        if recorded.event.type in _ACTIVE:
            return True
    return False


def _first_prompt(archive: Archive, info: SessionInfo) -> str | None:
    """What the session is about, so that it is known again."""
    for recorded in archive.log.read(info.stream):
        event = recorded.event
        if event.type == "prompted" and event.body is not None:
            return bodies.messages_of(event.body)[0].text
    return None


def _write(paper: Paper, rows: list[dict[str, Any]]) -> None:
    width = min(max(len("session"), *(cell_len(one_line(row["name"])) for row in rows)), 30)
    paper.line(("  " + padded("session", width) + "  events  last event        prompt", "dim"))
    for row in rows:
        paper.line(
            ("* " if row["running"] else "  ", "yellow"),
            (padded(one_line(row["name"]), width), "bold"),
            f"  {row['version']:>6,}",
            (f"  {minute(row['updated'])}", "dim"),
            f"  {one_line(row['prompt'] or '')}",
        )
