"""How a command ends: its exit code, and one line that says why."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

import click

from refold.actors.cli.terminal import one_line
from refold.events.errors import BugError, RefoldError

FAILED, USAGE, ABORTED, READER_GONE = 1, 2, 130, 141
"""Exit codes; the last two are what a shell says of a program that SIGINT or SIGPIPE ended."""

TRACEBACK = "REFOLD_TRACEBACK"


class FailedError(click.ClickException):
    """The command failed; the message says why."""


class ReaderGoneError(Exception):
    """Nobody reads what is written, as in `refold log SESSION | head -1`."""


def exit_code_of(command: Callable[[], Any]) -> int:
    """Run `command`; what to exit with. Says on stderr what went wrong, without a traceback."""
    try:
        code = command()
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (ReaderGoneError, BrokenPipeError):
        return _leave_quietly()
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "refold"
        _say(f"{_lowered(error.format_message())} See `{where} --help`")
        return USAGE
    except click.ClickException as error:
        _say(error.format_message())
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        if sys.stderr.isatty():
            print(file=sys.stderr)  # behind the ^C that the terminal shows
        return ABORTED
    except RefoldError as error:
        _say(str(error))
        _show_traceback()
    except OSError as error:
        if error.filename:
            _say(f"{error.filename}: {error.strerror}")
        else:
            _say(f"cannot write the output: {error.strerror or error}")
            _close(sys.stdout)
        _show_traceback()
    except Exception as error:
        _say(str(BugError(f"{type(error).__name__}: {error}")))
        if not _show_traceback():
            _say(f"{TRACEBACK}=1 in the environment shows where")
    return FAILED


def _say(message: str) -> None:
    """Write one line, whatever the message has in it."""
    line = one_line(" ".join(message.split()))
    try:
        print(f"refold: {line}", file=sys.stderr, flush=True)
    except OSError:  # nobody can be told
        _close(sys.stderr)


def _lowered(message: str) -> str:
    message = message.strip()
    message = message[:1].lower() + message[1:]
    return message if message.endswith((".", "?", "!")) else f"{message}."


def _show_traceback() -> bool:
    if not os.environ.get(TRACEBACK):
        return False
    traceback.print_exc()
    return True


def _leave_quietly() -> int:
    _close(sys.stdout)
    return READER_GONE


def _close(stream: Any) -> None:
    """Have what is still in `stream` go nowhere: Python would complain of it at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
