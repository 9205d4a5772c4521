"""The fixture that executes every session again really fails tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def report() -> str:
    """What pytest says of tests that only the fixture can fail."""
    unsound = Path("tests", "support", "unsound.py")
    command = [sys.executable, "-m", "pytest", str(unsound), "-rA", "-q", "-p", "no:cacheprovider"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return ran.stdout + ran.stderr


def test_an_event_that_no_decision_makes_fails_the_test(report: str) -> None:
    assert "ERROR tests/support/unsound.py::test_an_event_that_nobody_decided" in report
    assert "the machine steps differently" in report


def test_an_impure_decision_fails_the_test(report: str) -> None:
    name = "test_a_decision_that_depends_on_more_than_state_and_input"
    assert f"ERROR tests/support/unsound.py::{name}" in report
    assert "the input is ignored" in report


def test_an_effect_that_is_owed_and_not_under_way_fails_the_test(report: str) -> None:
    assert "ERROR tests/support/unsound.py::test_effects_under_way_that_no_state_owes" in report
    assert "the state owes ['model:1']" in report


def test_a_sound_session_passes(report: str) -> None:
    assert "4 passed, 3 errors" in report
