"""Help texts: every command, option and argument says what it is for."""

from __future__ import annotations

import re
import shlex

import click
import pytest

from refold import __version__
from refold.actors.cli.help import Argument, Command
from refold.actors.cli.main import cli
from tests.cli.refold import Refold

COMMANDS = [command for command in cli.listed if isinstance(command, Command)]  # type: ignore[attr-defined]


def test_help_comes_without_arguments_and_by_both_names(refold: Refold) -> None:
    shown = refold.ok("--help")
    assert refold.ok("-h") == refold.ok() == shown
    assert shown.startswith("Usage: refold COMMAND ... [OPTIONS]\n")
    for command in COMMANDS:
        assert f"\n  {command.name} " in shown


def test_the_version_is_shown(refold: Refold) -> None:
    assert refold.ok("--version") == f"refold {__version__}\n"


def test_all_commands_are_listed() -> None:
    assert {command.name for command in COMMANDS} == set(cli.commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_command_explains_itself_and_all_its_parameters(command: Command) -> None:
    assert command.help
    assert command.examples
    for parameter in command.params:
        said = parameter.explanation if isinstance(parameter, Argument) else parameter.help  # type: ignore[attr-defined]
        assert said, f"{command.name} {parameter.name}"
        assert said.endswith((".", ")"))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_takes_a_log(command: Command) -> None:
    assert "--log" in [name for parameter in command.params for name in parameter.opts]


@pytest.mark.parametrize(
    "line",
    [line for command in [*COMMANDS, cli] for line in command.examples],  # type: ignore[attr-defined]
)
def test_every_example_can_be_typed(line: str) -> None:
    words = shlex.split(re.split(r" [|<] ", line, maxsplit=1)[0])
    assert words[0] == "refold"
    command = cli.commands[words[1]]  # type: ignore[attr-defined]
    context = command.make_context(words[1], words[2:])
    assert isinstance(context, click.Context)


@pytest.mark.parametrize("command", [*COMMANDS, cli], ids=lambda command: command.name)
def test_help_is_80_columns_wide_in_a_pipe(command: click.Command) -> None:
    whole = cli.make_context("refold", [], resilient_parsing=True)
    context = whole if command is cli else click.Context(command, whole, info_name=command.name)
    lines = command.get_help(context).splitlines()
    examples = lines.index("Examples:")
    assert max(map(len, lines[:examples])) <= 80
