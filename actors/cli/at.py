"""`refold at`: the agent at any moment of its past."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import click

from refold.actors.cli import plain, show
from refold.actors.cli.help import argument, command
from refold.actors.cli.options import (
    json_option,
    log_option,
    looking_at,
    past_of,
    session_argument,
)
from refold.actors.cli.terminal import Paper, one_line, out
from refold.actors.cli.times import moment
from refold.actors.cli.words import count
from refold.actors.past import Entry, Past
from refold.events.agent import effects
from refold.events.agent.agent import AGENT
from refold.events.agent.inputs import QueueName
from refold.events.agent.projection import AgentState
from refold.events.agent.state import Phase, SessionState

# A place from the end begins with a dash, which is not meant as an option.
_DASHES = {"ignore_unknown_options": True}


@command(
    "at",
    "refold at sums end",
    "refold at sums 12",
    "refold at sums -3 --json",
    "refold at sums turn:1",
    "refold at sums 2026-11-30T10:15",
)
@session_argument
@argument(
    "point",
    help="A version (412), a place from the end (-3), the end of a turn (turn:7), a model call "
    "(call:12), a time (2026-11-30T10:15, local unless it has a zone), or end.",
)
@click.option("--all", "whole", is_flag=True, help="Show every message, and all of its text.")
@json_option
@log_option
def at(session: str, point: str, whole: bool, as_json: bool, path: Path) -> None:
    """Show the agent at a point of its past.

    The state is folded from the log up to there: settings, conversation, queues, and what was on
    screen if a reply was streaming just then. Nothing is written.
    """
    with looking_at(path) as archive:
        past = past_of(archive, session, path)
        version = past.resolve(point)
        machine, state = past.machine_at(version), past.at(version)
        last = next(past.entries(version - 1, version), None)
        if as_json:
            click.echo(plain.document(_data(session, past, last, machine, state)))
        else:
            _write(out(), session, past, last, machine, state, whole)


at.context_settings = {**at.context_settings, **_DASHES}


def _queued(past: Past, machine: SessionState) -> dict[str, list[dict[str, Any]]]:
    """What waits in the queues, with its content."""
    return {
        name: [
            {"id": item.id, "messages": past.queued_messages(item.id)}
            for item in machine.queue(name)
        ]
        for name in get_args(QueueName)
    }


def _data(
    session: str, past: Past, last: Entry | None, machine: SessionState, state: AgentState
) -> dict[str, Any]:
    return {
        "session": session,
        "last_version": past.version,
        "time": last.time if last else None,
        "event": last.type if last else None,
        "phase": machine.phase,
        "run": machine.runs,
        **plain.plain(state),
        "queued": _queued(past, machine),
    }


def _write(
    paper: Paper,
    session: str,
    past: Past,
    last: Entry | None,
    machine: SessionState,
    state: AgentState,
    whole: bool,
) -> None:
    when = f"{moment(last.time)}, after {last.type}" if last else "before its first event"
    paper.title(f"{one_line(session)} at version {state.version} of {past.version}", when)
    paper.line()
    show.field(paper, "model", f"{state.model or 'none'}, thinking {state.thinking_level}")
    if state.system_prompt:
        paper.block(show.label("system"), state.system_prompt, most=0 if whole else 3)
    show.tools(paper, state.tools, described=False)
    show.field(paper, "run", _run(machine, state))
    if state.error_message:
        show.field(paper, "error", state.error_message, "red")
    for name, items in _queued(past, machine).items():
        for item in items:
            said = " / ".join(message.text for message in item["messages"])
            show.field(paper, name.replace("_", "-"), f"{item['id']}: {said}")
    paper.line()
    show.conversation(paper, state.messages, whole)
    if state.streaming_message is not None:
        show.message(paper, state.streaming_message, whole, note=_note(state, machine))


def _run(machine: SessionState, state: AgentState) -> str:
    runs = count(machine.runs, "run")
    if machine.phase is Phase.IDLE:
        return f"none active, {runs} so far"
    said = f"number {machine.runs}, {_doing(machine)}"
    if machine.run and machine.run.aborted:
        said += ", to be aborted"
    if state.pending_tool_calls:
        said += f"; pending: {', '.join(state.pending_tool_calls)}"
    return said


def _doing(machine: SessionState) -> str:
    hooks = [e.hook for e in AGENT.outstanding(machine) if isinstance(e, effects.CallHook)]
    if hooks:
        return f"waiting for {', '.join(hooks)}"
    return _PHASES.get(machine.phase, f"phase {machine.phase}")


def _note(state: AgentState, machine: SessionState) -> str:
    return "streaming" if machine.phase is Phase.STREAM else "not yet part of the conversation"


_PHASES = {
    Phase.STREAM: "waiting for the model",
    Phase.BATCH: "running tools",
    Phase.RETRY: "waiting to call the model again",
}
"""Phases in the words of people; the others pass by themselves, and have their own names."""
