"""Writes the generated parts of the docs anew: `python -m tests.docs.generate`, or `make docs`.

A part stands between `<!-- generated: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable
from inspect import cleandoc
from pathlib import Path

import click

from refold.actors.cli.help import WIDTH, help_text
from refold.actors.cli.main import cli
from refold.events import errors
from refold.events.agent import phases
from refold.events.agent.phases import WAITS_FOR
from refold.events.agent.state import Phase
from refold.events.codec import type_name
from refold.events.errors import RefoldError
from tests.docs.examples import PAGES
from tests.support.machine import Machine
from tests.support.wandering import HOOKS, TOOLS, wander

_PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def fresh(page: Path) -> str:
    """The text of a page with its generated parts as they should be."""
    return _PART.sub(
        lambda found: f"{found[1]}\n{PARTS[found[2]]().strip()}\n\n{found[3]}",
        page.read_text(encoding="utf-8"),
    )


def commands() -> str:
    """The help texts of all commands."""
    whole = cli.make_context("refold", [], resilient_parsing=True)
    parts = [_described(whole)]
    for command in cli.listed:
        parts.append(_described(click.Context(command, whole, info_name=command.name)))
    return "\n\n".join(parts)


def _described(context: click.Context) -> str:
    shown = help_text(context.command, context, WIDTH)
    return f"## {context.command_path}\n\n```text\n{shown}\n```"


def table() -> str:
    """The table of phases, as it stands in the source."""
    lines = cleandoc(phases.__doc__ or "").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("    phase"))
    rows = []
    for line in lines[start:]:
        if not line.strip():
            break
        rows.append(line.removeprefix("    ").rstrip())
    return "```text\n" + "\n".join(rows) + "\n```"


def diagram() -> str:
    """The phases and what leads from one to the next, as it was seen in many random runs."""
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> idle"]
    for (before, after), names in sorted(transitions().items()):
        lines.append(f"    {before} --> {after}: {', '.join(sorted(names))}")
    lines.append("    classDef waiting stroke-width:3px")
    waiting = sorted({*WAITS_FOR, Phase.IDLE}, key=list(Phase).index)
    lines.append(f"    class {','.join(waiting)} waiting")
    return "\n".join([*lines, "```"])


def transitions() -> dict[tuple[Phase, Phase], set[str]]:
    """What was seen to lead from phase to phase. A failed listener is left out: it leads from
    everywhere to `failing`.
    """
    seen: dict[tuple[Phase, Phase], set[str]] = {}
    for seed in range(200):
        chance = random.Random(seed)
        machine = Machine.ready(*TOOLS, hooks=HOOKS if seed % 2 else ())
        for _ in wander(machine, (chance.randrange(2**16) for _ in range(200))):
            pass
        for before, fact, after in zip(
            machine.states, machine.facts, machine.states[1:], strict=False
        ):
            name = type_name(type(fact))
            if before.phase is not after.phase and name != "listener_failed":
                seen.setdefault((before.phase, after.phase), set()).add(name)
    return seen


def error_tree() -> str:
    """The errors, with what their docstrings say."""
    lines = []
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, RefoldError):
            said = cleandoc(kind.__doc__ or "").split("\n\n")[0].replace("\n", " ")
            depth = len(kind.__mro__) - len(RefoldError.__mro__)
            lines.append(f"{'  ' * depth}- `{kind.__name__}`: {said}")
    return "\n".join(lines)


PARTS: dict[str, Callable[[], str]] = {
    "commands": commands,
    "table": table,
    "diagram": diagram,
    "errors": error_tree,
}


def main() -> None:
    """Write what is stale."""
    for page in PAGES:
        text = fresh(page)
        if text != page.read_text(encoding="utf-8"):
            page.write_text(text, encoding="utf-8")
            print(f"wrote {page.name}", file=sys.stderr)


if __name__ == "__main__":
    main()
