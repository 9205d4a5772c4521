"""How the command line explains itself: help texts with sections, arguments and examples.

Laid out here and not by click, so that they are the same under every release of it; the reference
in the docs is made of the same texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import cleandoc
from typing import Any

import click

from refold.actors.cli.terminal import out

Lines = Sequence[tuple[str, str]]

WIDTH, LONGEST = 80, 100
"""Columns of a help text in a pipe and in the docs, and on a terminal at most."""
_NARROW = 60


class Argument(click.Argument):
    """An argument that says what it is for."""

    def __init__(self, *declarations: Any, help: str, **options: Any) -> None:
        super().__init__(*declarations, **options)
        self.explanation = help

    @property
    def shown(self) -> str:
        """The argument as a usage line has it."""
        name = self.metavar or str(self.name).upper()
        return name if self.required else f"[{name}]"


class _Helped(click.Command):
    """What commands and groups share: the layout.

    Args:
        examples: lines to type.
    """

    def __init__(self, *args: Any, examples: Sequence[str] = (), **options: Any) -> None:
        super().__init__(*args, **options)
        self.examples = tuple(examples)

    def get_help(self, ctx: click.Context) -> str:
        """The help text, with headings in bold where somebody looks at it."""
        paper = out()
        width = min(paper.width or WIDTH, LONGEST)
        return help_text(self, ctx, width, bold if paper.has_styles else str)

    def explained(self, ctx: click.Context) -> list[tuple[str, Lines]]:
        """The sections of the help text."""
        arguments = [(p.shown, p.explanation) for p in self.params if isinstance(p, Argument)]
        options = [
            (_shown(p), p.help or "") for p in self.get_params(ctx) if isinstance(p, click.Option)
        ]
        return [("Arguments", arguments), ("Options", options)]


class Command(_Helped):
    """A command of refold."""


class Group(_Helped, click.Group):
    """Refold itself. Its commands stand in sections.

    Args:
        sections: the commands by the heading that they stand below, in order.
    """

    def __init__(
        self, *args: Any, sections: Mapping[str, Sequence[click.Command]], **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.sections = dict(sections)
        for command in self.listed:
            self.add_command(command)

    @property
    def listed(self) -> list[click.Command]:
        """The commands, in the order in which they are explained."""
        return [command for commands in self.sections.values() for command in commands]

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, in order."""
        return [str(command.name) for command in self.listed]

    def explained(self, ctx: click.Context) -> list[tuple[str, Lines]]:
        """The sections of the help text: commands first."""
        commands = [
            (heading, [(str(c.name), first_line(c)) for c in each])
            for heading, each in self.sections.items()
        ]
        return [*commands, *super().explained(ctx)]


def command(name: str, *examples: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a function a command; its docstring is the help text."""
    return click.command(name, cls=Command, examples=examples)


def argument(name: str, *, help: str, **options: Any) -> Callable[[Any], Any]:
    """An argument, and what it is for."""
    return click.argument(name, cls=Argument, help=help, **options)


def help_text(
    command: _Helped, ctx: click.Context, width: int, heading: Callable[[str], str] = str
) -> str:
    """The help text of a command, `width` columns wide."""
    formatter = click.HelpFormatter(width=width, max_width=width)
    formatter.write(f"{heading('Usage:')} {_usage(command, ctx)}\n")
    for paragraph in cleandoc(command.help or "").split("\n\n"):
        formatter.write("\n")
        with formatter.indentation():
            if paragraph.startswith("\b"):  # a table: lines as they are
                for line in paragraph.splitlines()[1:]:
                    formatter.write(f"  {line}\n")
            else:
                formatter.write_text(paragraph)
    for title, lines in command.explained(ctx):
        if lines:
            formatter.write(f"\n{heading(title + ':')}\n")
            with formatter.indentation():
                _write_list(formatter, lines)
    if command.examples:
        formatter.write(f"\n{heading('Examples:')}\n")
        for line in command.examples:
            formatter.write(f"  {line}\n")
    return formatter.getvalue().rstrip("\n")


def _write_list(formatter: click.HelpFormatter, lines: Lines) -> None:
    """Names and what they mean: in two columns, or, where that is too narrow, below one another."""
    if formatter.width >= _NARROW:
        formatter.write_dl(lines, col_max=24)
        return
    for name, meaning in lines:
        formatter.write(f"  {name}\n")
        with formatter.indentation():
            formatter.write_text(meaning)


def first_line(command: click.Command) -> str:
    """The first sentence of a command's help, on one line."""
    return " ".join(cleandoc(command.help or "").split("\n\n")[0].split())


def bold(text: str) -> str:
    """`text` in bold."""
    return click.style(text, bold=True)


def _usage(command: _Helped, ctx: click.Context) -> str:
    arguments = [p.shown for p in command.params if isinstance(p, Argument)]
    if isinstance(command, Group):
        arguments = ["COMMAND", "..."]
    return " ".join([ctx.command_path, *arguments, "[OPTIONS]"])


def _shown(option: click.Option) -> str:
    names = ", ".join(sorted(option.opts, key=len))
    if option.is_flag or option.count:
        return names
    if option.metavar:
        return f"{names} {option.metavar}"
    if isinstance(option.type, click.Choice):
        return f"{names} {'|'.join(map(str, option.type.choices))}"
    return f"{names} {option.type.name.upper()}"
