"""Every scenario of the agent layer, on both logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.corpus import CORPUS, Scenario, scenarios
from tests.conformance.known import FAILING, UNORDERED
from tests.conformance.runner import run

AGENT_LAYER = scenarios(CORPUS / "agent")

pytestmark = pytest.mark.conformance


def with_known_failures(scenario: Scenario) -> object:
    reason = FAILING.get(scenario.name)
    marks = [] if reason is None else [pytest.mark.xfail(reason=reason, strict=True)]
    return pytest.param(scenario, id=scenario.name, marks=marks)


@pytest.fixture(params=["memory", "lmdb"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    return None if request.param == "memory" else str(tmp_path / "log")


@pytest.mark.parametrize("scenario", [with_known_failures(each) for each in AGENT_LAYER])
def test_refold_does_as_the_peer_did(scenario: Scenario, log: str | None) -> None:
    reason = run(scenario, log, at=scenario.name not in UNORDERED)
    if reason is not None:
        pytest.fail(reason, pytrace=False)


def test_every_known_difference_is_of_a_scenario() -> None:
    names = {scenario.name for scenario in AGENT_LAYER}
    assert {*FAILING, *UNORDERED} <= names
