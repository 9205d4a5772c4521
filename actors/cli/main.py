"""The command `refold`."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from typing import Any, NoReturn

import click

from refold import __version__
from refold.actors.cli import at, context, log, run, sessions, verify
from refold.actors.cli.failures import ReaderGoneError, exit_code_of
from refold.actors.cli.help import Group


class Refold(Group):
    """All commands. Whatever goes wrong in one of them is one line on stderr."""

    def main(self, *args: Any, standalone_mode: bool = True, **options: Any) -> Any:
        """Run, and exit; or, not `standalone_mode`, give back and raise what comes of it."""

        def command() -> Any:
            return super(Refold, self).main(*args, **{**options, "standalone_mode": False})

        if not standalone_mode:
            return command()
        _exit(exit_code_of(command))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that is named."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # click would answer with another exit code
            raise ReaderGoneError from None
        except KeyboardInterrupt:  # click would write an empty line, also where nobody typed
            raise click.Abort from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which was perhaps meant."""
        word = args[0] if args else ""
        names = self.list_commands(ctx)
        if word and word not in names and not word.startswith("-"):
            near = get_close_matches(word, names, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}."
            raise click.UsageError(f"there is no command {word!r}: {hint}", ctx)
        return super().resolve_command(ctx, args)


def _exit(code: int) -> NoReturn:
    sys.exit(code)


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(f"refold {__version__}")
        ctx.exit()


@click.group(
    "refold",
    cls=Refold,
    sections={
        "Run": [run.run],
        "Look back": [sessions.sessions, log.log, at.at, context.context],
        "Check": [verify.verify],
    },
    examples=[
        'refold run "Tell me about the sea." --model local',
        "refold log run-1",
        "refold at run-1 20",
    ],
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the version and exit.",
)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Run agents whose only truth is an append-only log, and look at any moment of their past.

    Whatever happens in a session is an event of its log. States, contexts and answers are folds
    of it: `refold at SESSION POINT` shows the agent at any point, in the middle of a streamed
    sentence too. Looking never writes.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
