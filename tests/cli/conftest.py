"""What the tests of the command line start from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.refold import Refold


@pytest.fixture
def refold(tmp_path: Path) -> Refold:
    """The command line, in an empty folder."""
    return Refold(tmp_path)


TOOLS = """
import refold

@refold.tool
def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b

@refold.tool
def fail() -> None:
    "Fail."
    raise ValueError("it cannot be done")

def plain(text: str) -> str:
    "Give it back."
    return text
"""

SUMS = [
    {
        "content": [
            {"type": "thinking", "thinking": "Two and three."},
            {"type": "text", "text": "I add them."},
            {"type": "tool_call", "name": "add", "arguments": {"a": 2, "b": 3}},
        ],
        "usage": {"input": 20, "output": 11},
    },
    {"content": "It is five.", "chunks": 4, "delay": 0.06},
]


@pytest.fixture
def sums(refold: Refold) -> Refold:
    """A folder with a log, in which session `sums` has added two numbers with a tool."""
    refold.write("tools.py", TOOLS)
    refold.write("sums.json", SUMS)
    refold.ok(
        *("run", "What is 2 + 3?", "--session", "sums", "--script", "sums.json"),
        *("--tool", "tools.py:add", "--system", "Be exact."),
    )
    return refold
