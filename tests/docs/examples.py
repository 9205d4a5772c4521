"""Examples in Markdown pages, and how they are run.

A fenced block is an example by its language, and the words behind that say more:

    ```python                run it
    ```python file=tools.py  write it to this file first; later examples of the page may use it
    ```json file=x.json      write it
    ```sh                    run it; its exit code must be 0
    ```console               lines that begin with `$ ` are run; what follows each is its output
    ```text                  behind a `python` or `sh` block: what it printed
    ... killed               it kills itself
    ... local                needs the bundled model, and is passed over where that is not installed
    ... install              not run: it would install refold from a package index

The examples of a page are run in one folder, in their order. In an output `...` stands for
anything, a line of it for any lines.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
TIMEOUT = 90

_FENCE = re.compile(r"^```(\w*)([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_OURS = ("REFOLD_", "OPENAI_", "NO_COLOR", "FORCE_COLOR", "COLUMNS")


class Example(NamedTuple):
    """A fenced block of a page."""

    page: Path
    line: int
    language: str
    words: tuple[str, ...]
    text: str

    @property
    def file(self) -> str | None:
        """The file that it is written to."""
        return next((word.removeprefix("file=") for word in self.words if "file=" in word), None)

    @property
    def place(self) -> str:
        """Where it stands."""
        return f"{self.page.relative_to(ROOT)}, line {self.line}"


def examples_of(page: Path) -> Iterator[Example]:
    """The fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        language, words, block = found.groups()
        line = text.count("\n", 0, found.start()) + 1
        yield Example(page, line, language, tuple(words.split()), block)


class Folder:
    """Where the examples of a page are run."""

    def __init__(self, path: Path, env: dict[str, str]) -> None:
        self.path = path
        programs = path / ".bin"
        programs.mkdir()
        for name, words in (("refold", "-m refold "), ("python", "")):
            program = programs / name
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n')
            program.chmod(0o755)
        theirs = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        self.env = {
            **theirs,
            "PATH": f"{programs}{os.pathsep}{theirs.get('PATH', '')}",
            "PYTHONPATH": os.pathsep.join([str(ROOT), theirs.get("PYTHONPATH", "")]),
            "TZ": "UTC",
            **env,
        }

    def run(self, examples: list[Example]) -> None:
        """Run them all.

        Raises:
            AssertionError: one failed, or printed something else.
        """
        printed: str | None = None
        for example in examples:
            if example.file:
                (self.path / example.file).write_text(example.text)
            if example.language == "text" and printed is not None:
                _compare(example, example.text, printed)
            printed = self._one(example)

    def _one(self, example: Example) -> str | None:
        match example.language:
            case "python":
                name = example.file or "example.py"
                (self.path / name).write_text(example.text)
                return self._done(example, ["python", name], may_fail="killed" in example.words)
            case "sh":
                return self._done(example, ["bash", "-euo", "pipefail", "-c", example.text])
            case "console":
                for command, output in _typed(example):
                    got = self._done(example, ["bash", "-c", command], may_fail="refold:" in output)
                    _compare(example, output, got)
        return None

    def _done(self, example: Example, words: list[str], may_fail: bool = False) -> str:
        done = subprocess.run(
            words,
            cwd=self.path,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        assert done.returncode == 0 or may_fail, f"{example.place}: {done.stdout}"
        return done.stdout


def _typed(example: Example) -> Iterator[tuple[str, str]]:
    """The commands of a console, and the output that is shown of each."""
    parts = re.split(r"^\$ ", example.text, flags=re.MULTILINE)
    assert parts[0] == "", f"{example.place}: a console begins with `$ `"
    for part in parts[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def _compare(example: Example, wanted: str, got: str) -> None:
    lines = [line.rstrip() for line in wanted.strip("\n").split("\n")]
    pattern = "\n".join(
        "(?:.*\n)*?.*" if line.strip() == "..." else _line_pattern(line) for line in lines
    )
    shown = "\n".join(line.rstrip() for line in got.strip("\n").split("\n"))
    assert re.fullmatch(pattern, shown), f"{example.place} shows\n{wanted}\nand it is\n{shown}"


def _line_pattern(line: str) -> str:
    return ".*?".join(map(re.escape, line.split("...")))
