"""The keys of `--json` are those that docs/past.md lists, and all of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.refold import Refold
from tests.docs.examples import ROOT

WORDS = {
    "refold sessions --json": ("sessions",),
    "refold log SESSION --json": ("log", "s"),
    "refold at SESSION POINT --json": ("at", "s", "end"),
    "refold context SESSION --json": ("context", "s"),
    "refold verify --json": ("verify",),
}


@pytest.fixture
def refold(tmp_path: Path) -> Refold:
    """A folder with a log that has a session `s`."""
    refold = Refold(tmp_path)
    refold.write("hello.json", ["Hello."])
    refold.ok("run", "Hi", "--session", "s", "--script", "hello.json")
    return refold


def listed(command: str) -> set[str]:
    """The keys in the table behind the words `command`."""
    text = (ROOT / "docs" / "past.md").read_text()
    lines = text[text.index(f"`{command}`") :].splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| key |"))
    keys: set[str] = set()
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        keys.update(re.findall(r"`(\w+)`", line.split("|")[1]))
    return keys


@pytest.mark.parametrize("command", WORDS)
def test_the_docs_list_the_keys(refold: Refold, command: str) -> None:
    data = (
        json.loads(refold.look(*WORDS[command], "--json").splitlines()[0])
        if (WORDS[command][0] == "log")
        else refold.json(*WORDS[command])
    )
    if command == "refold sessions --json":
        [data] = data["sessions"]
    assert set(data) == listed(command)
