"""`refold run`: a prompt, answered on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import click

from refold.actors.catalog import Catalog
from refold.actors.cli.conversation import Conversation
from refold.actors.cli.failures import FailedError
from refold.actors.cli.help import argument, command
from refold.actors.cli.interrupts import Interrupts
from refold.actors.cli.options import log_option, past_of
from refold.actors.cli.retries import Retries
from refold.actors.cli.screen import Screen
from refold.actors.cli.script import load_script
from refold.actors.cli.terminal import err, one_line, out
from refold.actors.cli.toolfile import load_tools
from refold.actors.providers.provider import Provider
from refold.actors.runtime import Archive, Runtime, open
from refold.actors.tool import Tool
from refold.events.agent.messages import ThinkingLevel
from refold.events.agent.state import SessionState

_NO_MODEL = (
    "no model is given: --model local runs a small one on this machine, --model openai/NAME calls "
    "an OpenAI-compatible server, and REFOLD_MODEL in the environment is the one to take else"
)


@command(
    "run",
    'refold run "Tell me about the sea." --model local',
    'refold run "And the mountains?" --session run-1',
    'refold run "What is 2 + 3?" --model openai/gpt-5-mini --tool tools.py:add',
    "refold run - --model local < question.txt",
    'refold run "Hello" --script replies.json',
)
@argument(
    "prompt",
    required=False,
    help="What to say; - reads it from stdin. Without it, the run that --session names goes on.",
)
@click.option(
    "--session",
    metavar="NAME",
    help="The session to go on with, or the name of a new one. Default: a new one, run-N.",
)
@click.option(
    "--model",
    metavar="NAME",
    envvar="REFOLD_MODEL",
    help="local, or PROVIDER/MODEL such as openai/gpt-5-mini. Default: as the session has it, "
    "else $REFOLD_MODEL.",
)
@click.option(
    "--tool",
    "tool_names",
    multiple=True,
    metavar="FILE:NAME",
    help="A Python function that the model may call; FILE alone means all its tools. May be given "
    "many times.",
)
@click.option("--system", metavar="TEXT", help="The system prompt; @FILE reads it from a file.")
@click.option(
    "--thinking",
    type=click.Choice(get_args(ThinkingLevel)),
    help="How much the model should reason before it answers.",
)
@click.option(
    "--script",
    type=click.Path(path_type=Path, readable=False),
    metavar="FILE",
    help="Take the replies from this JSON file, in place of a model.",
)
@click.option(
    "--retries",
    type=click.IntRange(min=0),
    metavar="N",
    help="How often a call is made again that failed for a passing reason, such as the network. "
    "Default: as the session has it, else 4.",
)
@click.option("--quiet", "-q", is_flag=True, help="Write the answer and nothing else.")
@log_option
@click.pass_context
def run(
    ctx: click.Context,
    prompt: str | None,
    session: str | None,
    model: str | None,
    tool_names: tuple[str, ...],
    system: str | None,
    thinking: ThinkingLevel | None,
    script: Path | None,
    retries: int | None,
    quiet: bool,
    path: Path,
) -> int:
    """Say something to an agent, and watch it answer.

    The answer goes to stdout as it streams; thinking, tool calls and notes go to stderr. All of it
    is in the log before it is shown. A run that was cut off, by a kill or a crash, goes on first.

    Ctrl-C ends the run cleanly, and the log says so; a second Ctrl-C leaves at once.
    """
    if prompt is None and session is None:
        raise click.UsageError("give a PROMPT, or the session to go on with: --session NAME", ctx)
    if session is not None and not session:
        raise click.UsageError("the name of the session is empty", ctx)
    text, system_prompt = _prompt(prompt, ctx), _system(system)
    tools = load_tools(tool_names)
    providers: list[Provider] = []
    explicit = ctx.get_parameter_source("model") is click.core.ParameterSource.COMMANDLINE
    if script is not None:
        if explicit and model and model.partition("/")[0] != "scripted":
            raise click.UsageError(f"--script answers in place of {model}: give one of them", ctx)
        providers.append(load_script(script))
        model = model if explicit else "scripted"
    if model is not None:
        Catalog(providers).full_name(model)  # before a log is made for nothing
    elif session is None or not path.exists():
        raise FailedError(_NO_MODEL)
    screen = Screen(out(), err(), quiet)
    telling = "aborting (Ctrl-C again leaves at once)"
    with (
        Interrupts(lambda: screen.note(telling)) as interrupts,
        open(path, providers=providers) as runtime,
    ):
        name = _free_name(runtime) if session is None else session
        before = _checked(runtime, name, path, text, model, tools, screen)
        held = runtime.session(
            name,
            # A session keeps the model it has, unless another one is named here and now.
            model=model if explicit or script or before is None else None,
            tools=tools,
            system_prompt=system_prompt,
            thinking_level=thinking,
            max_retries=retries,
        )
        Retries(runtime.log, held.stream, screen.note).start()
        return Conversation(held, screen, interrupts).hold(text, before)


def _prompt(prompt: str | None, ctx: click.Context) -> str | None:
    if prompt == "-":
        prompt = sys.stdin.buffer.read().decode("utf-8", "replace").rstrip("\n")
    if prompt is not None and not prompt.strip():
        raise click.UsageError("the prompt is empty", ctx)
    return prompt


def _system(given: str | None) -> str | None:
    if given is None or not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text(encoding="utf-8").rstrip("\n")
    except OSError as error:
        raise FailedError(f"cannot read the system prompt {given[1:]}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FailedError(f"the system prompt {given[1:]} is not UTF-8: {error.reason}") from error


def _free_name(runtime: Runtime) -> str:
    number = len(runtime.sessions()) + 1
    while _exists(runtime, f"run-{number}"):
        number += 1
    return f"run-{number}"


def _exists(runtime: Runtime, name: str) -> bool:
    return runtime.log.find(name) is not None


def _state(runtime: Runtime, name: str) -> SessionState:
    past = Archive(runtime.log).session(name)
    return past.machine_at(past.version)


def _checked(
    runtime: Runtime,
    name: str,
    path: Path,
    text: str | None,
    model: str | None,
    tools: Sequence[Tool],
    screen: Screen,
) -> SessionState | None:
    """Refuse what cannot work, before a session is opened for it; its state, None if it is new."""
    if not _exists(runtime, name):
        if text is None:
            past_of(Archive(runtime.log), name, path)  # says that there is none
        if model is None:
            raise FailedError(_NO_MODEL)
        return None
    state = _state(runtime, name)
    if model is None and not state.settings.model:
        raise FailedError(_NO_MODEL)
    given = {tool.name for tool in tools}
    if state.run is not None:
        lost = [head.name for head in state.run.tools.heads if head.name not in given]
        if lost:
            raise FailedError(
                f"run {state.run.number} of session {name!r} was cut off, and needs its tools to "
                f"go on: give {', '.join(f'--tool FILE:{each}' for each in lost)}"
            )
    lost = [head.name for head in state.settings.tools.heads if head.name not in given]
    if lost:
        screen.note(f"{one_line(name)}: without {', '.join(lost)} now (--tool FILE:NAME)")
    return state
