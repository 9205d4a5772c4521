"""What commands share: `--log`, `--json`, SESSION, and finding what they name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import click

from refold.actors.cli.help import argument
from refold.actors.past import Past
from refold.actors.runtime import Archive, read
from refold.events.errors import UnknownSessionError

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_LOG = "runs.refold"

log_option = click.option(
    "--log",
    "path",
    metavar="PATH",
    # Whether it can be read is for the log to say: its words are better.
    type=click.Path(path_type=Path, readable=False),
    envvar="REFOLD_LOG",
    default=DEFAULT_LOG,
    help="The log, a folder. Default: $REFOLD_LOG, else ./runs.refold.",
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Write JSON, for programs (see the docs for its form)."
)
session_argument = argument("session", help="Name of the session; `refold sessions` lists them.")


@contextmanager
def looking_at(path: Path) -> Iterator[Archive]:
    """The log at `path`, to look at. It is never made by looking, nor written to."""
    with read(path) as archive:
        yield archive


def past_of(archive: Archive, name: str, path: Path) -> Past:
    """The past of a session.

    Raises:
        UnknownSessionError: there is none of this name; the message has names like it.
    """
    if archive.log.find(name) is not None:
        return archive.session(name)
    names = [info.name for info in archive.sessions()]
    near = get_close_matches(name, names, n=3)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    raise UnknownSessionError(
        f"there is no session {name!r} in {path}: {hint}"
        + (f"{sessions_command(path)} lists those there are" if names else "it has no sessions yet")
    )


def sessions_command(path: Path) -> str:
    """What to type for a list of the sessions."""
    return "`refold sessions`" if str(path) == DEFAULT_LOG else f"`refold sessions --log {path}`"
