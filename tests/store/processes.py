"""Other processes for the tests: real ones, that talk by lines."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from types import TracebackType
from typing import Self

import refold

ROOT = Path(refold.__path__[0]).parent
START = """
import sys, os
from refold.store import *
from refold.store.lmdb.log import LmdbLog
from refold.events.errors import *
from tests.store.making import *
def say(*words): print(*words, flush=True)
def hear(): return sys.stdin.readline().strip()
"""


class Process:
    """A Python process that runs `code`, in which `say` and `hear` talk with the test.

    It is killed at the end of the `with` block if it has not ended by then.
    """

    def __init__(self, code: str, *arguments: object) -> None:
        environment = dict(os.environ, PYTHONPATH=str(ROOT), PYTHONDONTWRITEBYTECODE="1")
        self._process = subprocess.Popen(
            [sys.executable, "-c", START + dedent(code), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout

    def hear(self) -> str:
        """The next line that it says; its traceback if it died instead."""
        line = self._out.readline()
        assert line, self._died()
        return line.strip()

    def heard(self) -> list[str]:
        """All that it says until its end."""
        return self._out.read().splitlines()

    def say(self, line: str = "") -> None:
        """Let it hear a line."""
        self._in.write(f"{line}\n")
        self._in.flush()

    def kill(self) -> None:
        """SIGKILL: it ends wherever it is."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def end(self) -> list[str]:
        """Wait for its end; what it said until then. It must not have failed."""
        said, errors = self._process.communicate()
        assert self._process.returncode == 0, errors
        return said.splitlines()

    def _died(self) -> str:
        return self._process.communicate()[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None and not pipe.closed:
                pipe.close()


def run(code: str, *arguments: object) -> list[str]:
    """Run a process to its end; the lines it said."""
    with Process(code, *arguments) as process:
        return process.end()
