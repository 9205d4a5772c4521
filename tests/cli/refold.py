"""Running `refold` in processes of its own."""

from __future__ import annotations

import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from contextlib import chdir, contextmanager
from fcntl import ioctl
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from click.testing import CliRunner

from refold.actors.cli.main import cli

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parent.parent.parent
OURS = ("REFOLD_", "OPENAI_", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TTY_", "PYTHONIO")
TIMEOUT = 60


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


class Refold:
    """Types commands in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        theirs = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        self.env: dict[str, str] = {**theirs, "TZ": "UTC", "TERM": "xterm-256color"}
        # An environment where refold is not installed finds it here.
        self.env["PYTHONPATH"] = os.pathsep.join([str(ROOT), self.env.get("PYTHONPATH", "")])

    def write(self, name: str, content: Any) -> str:
        """Make a file; data becomes JSON."""
        text = content if isinstance(content, str) else json.dumps(content)
        (self.folder / name).write_text(text)
        return name

    def __call__(self, *words: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Done:
        """Run a command to its end."""
        return self.python("-m", "refold", *words, stdin=stdin, env=env)

    def python(self, *words: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Done:
        """Run Python to its end."""
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.folder,
            env={**self.env, **(env or {})},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def ok(self, *words: str, **options: Any) -> str:
        """What a command that ends well writes on stdout."""
        done = self(*words, **options)
        assert done.code == 0, done
        return done.out

    def look(self, *words: str) -> str:
        """As `ok`, in this process, which is much faster: for tests of what is shown."""
        done = self._here(words)
        assert done.code == 0, done
        return done.out

    def refuses(self, *words: str, code: int = 1) -> str:
        """As `fails`, in this process."""
        done = self._here(words)
        assert (done.code, done.out) == (code, ""), done
        return one_error(done.err)

    def _here(self, words: tuple[str, ...]) -> Done:
        with chdir(self.folder):
            done = CliRunner().invoke(cli, words, prog_name="refold", env=self.env)
        return Done(done.exit_code, done.stdout, done.stderr)

    def json(self, *words: str) -> Any:
        """The JSON document that a command writes."""
        return json.loads(self.look(*words, "--json"))

    def events(self, session: str, *words: str) -> list[dict[str, Any]]:
        """The events of a session."""
        return [
            json.loads(line) for line in self.look("log", session, "--json", *words).splitlines()
        ]

    def fails(self, *words: str, code: int = 1, **options: Any) -> str:
        """The one line that a command that fails writes on stderr, without its `refold: `."""
        done = self(*words, **options)
        assert (done.code, done.out) == (code, ""), done
        return one_error(done.err)

    @contextmanager
    def started(self, *words: str) -> Iterator[subprocess.Popen[bytes]]:
        """A command that runs meanwhile; it is killed if it still does at the end."""
        with subprocess.Popen(
            [sys.executable, "-m", "refold", *words],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def on_terminal(
        self, *words: str, columns: int = 80, env: Mapping[str, str] | None = None
    ) -> str:
        """What a command writes on a terminal, stdout and stderr together."""
        ours, theirs = pty.openpty()
        ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        with subprocess.Popen(
            [sys.executable, "-m", "refold", *words],
            cwd=self.folder,
            env={**self.env, **(env or {})},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        ) as process:
            os.close(theirs)
            shown = _read_terminal(ours)
            process.wait(TIMEOUT)
        return shown.replace("\r\n", "\n")


def one_error(err: str) -> str:
    """The message of an error that is one line."""
    assert err.startswith("refold: "), err
    assert err.count("\n") == 1, err
    return err.removeprefix("refold: ").rstrip("\n")


def read_until(stream: IO[bytes] | None, wanted: bytes) -> bytes:
    """Read until something was written, however it comes."""
    assert stream is not None
    got = b""
    while wanted not in got:
        more = os.read(stream.fileno(), 4096)
        assert more, f"it ended after {got!r}"
        got += more
    return got


def interrupt(process: subprocess.Popen[bytes]) -> None:
    """Press Ctrl-C."""
    process.send_signal(signal.SIGINT)


def _read_terminal(ours: int) -> str:
    got = b""
    try:
        while more := os.read(ours, 65536):
            got += more
    except OSError:  # so a terminal ends on Linux
        pass
    finally:
        os.close(ours)
    return got.decode()
