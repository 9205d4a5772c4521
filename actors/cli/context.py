"""`refold context`: what a model was sent."""

from __future__ import annotations

from pathlib import Path

import click

from refold.actors.cli import plain, show
from refold.actors.cli.help import command
from refold.actors.cli.options import (
    json_option,
    log_option,
    looking_at,
    past_of,
    session_argument,
)
from refold.actors.cli.terminal import Paper, one_line, out
from refold.actors.cli.words import count
from refold.events.agent.context import Request


@command(
    "context",
    "refold context sums",
    "refold context sums --call 2",
    "refold context sums --call -2 --json",
)
@session_argument
@click.option(
    "--call",
    type=int,
    default=-1,
    metavar="N",
    help="Which model call of the session: 1 is the first, -1 the last. Default: -1.",
)
@click.option("--all", "whole", is_flag=True, help="Show every message, and all of its text.")
@json_option
@log_option
def context(session: str, call: int, whole: bool, as_json: bool, path: Path) -> None:
    """Show exactly what the model was sent at a call.

    That is system prompt, tools and messages in refold's own form, from which the provider renders
    the request that goes over the wire.
    """
    with looking_at(path) as archive:
        request = past_of(archive, session, path).context(call)
        if as_json:
            click.echo(plain.document({"session": session, **plain.plain(request)}))
        else:
            _write(out(), session, request, whole)


def _write(paper: Paper, session: str, request: Request, whole: bool) -> None:
    paper.title(f"{one_line(session)} call {request.call}", count(len(request.messages), "message"))
    paper.line()
    show.field(paper, "model", f"{request.model}, thinking {request.thinking_level}")
    system = request.system_prompt or "none"
    paper.block(show.label("system"), system, most=0 if whole else show.FEW_LINES)
    show.tools(paper, request.tools, described=True)
    paper.line()
    show.conversation(paper, request.messages, whole)
