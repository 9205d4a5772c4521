"""The runner tells what fails, and why."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import __main__ as command
from tests.conformance import runner
from tests.conformance.corpus import CORPUS, Scenario, read
from tests.conformance.runner import run

pytestmark = pytest.mark.conformance


@pytest.fixture
def text_reply() -> Scenario:
    return read(CORPUS / "agent" / "text-reply.json")


def playing(**given: Any) -> Scenario:
    given = {"driver": "agent", "replies": [], "commands": []} | given
    return Scenario("agent", "made-up", given, {})


def test_a_wrong_expectation_fails_with_its_place(text_reply: Scenario) -> None:
    expect = deepcopy(text_reply.expect)
    expect["events"][3]["message"]["content"][0]["text"] = "Ho"
    wrong = Scenario("agent", "wrong", text_reply.given, expect)
    assert run(wrong) == 'events[3].message.content[0].text: expected "Ho", got "Hi"'


def test_the_order_between_lists_counts_unless_it_is_waived(text_reply: Scenario) -> None:
    expect = deepcopy(text_reply.expect)
    expect["calls"][0]["at"] += 1
    late = Scenario("agent", "late", text_reply.given, expect)
    assert run(late) == "calls[0].at: expected 5, got 4"
    assert run(late, at=False) is None


def test_a_hang_says_who_waits_for_what(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "LIMIT", 0.3)
    hang = {"at": "close", "steps": [{"waitEvent": {"type": "turn_end"}}]}
    reason = run(
        playing(
            replies=[{"content": "x", "pauses": [hang]}], commands=[{"do": "prompt", "text": "go"}]
        )
    )
    assert reason == (
        "it was not over within 0.3 s; 5 events came, the last was message_start; not ended: "
        "prompt of the script; waiting: model for {'waitEvent': {'type': 'turn_end'}}"
    )


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"driver": "harness"}, "driver harness is not there yet"),
        (
            {"driver": "functions", "commands": [{"do": "compact"}]},
            "driver functions is not there yet for compact",
        ),
        ({"commands": [{"do": "compact"}]}, "the command compact is not there yet"),
        ({"commands": [{"dance": 1}]}, "the step {'dance': 1} in the script is not there yet"),
        ({"hooks": {"context": []}}, "the hook context is not there yet"),
    ],
)
def test_what_is_not_there_yet_fails_by_name(given: dict[str, Any], reason: str) -> None:
    assert run(playing(**given)) == reason


def test_a_step_that_is_not_there_yet_fails_from_inside_a_tool() -> None:
    tool = {"name": "t", "parameters": {"type": "object"}, "run": [{"dance": 1}]}
    call = {"type": "toolCall", "id": "a", "name": "t", "arguments": {}}
    reason = run(
        playing(
            tools=[tool],
            replies=[{"content": [call]}, {"content": "x"}],
            commands=[{"do": "prompt", "text": "go"}],
        )
    )
    assert reason == "the step {'dance': 1} in tool:a is not there yet"


def test_a_command_that_is_not_awaited_is_noted_when_it_ends() -> None:
    given = {
        "replies": [{"content": "x", "pauses": [{"at": "open", "steps": [{"waitAbort": True}]}]}],
        "commands": [
            {"do": "prompt", "text": "go", "await": False, "as": "run"},
            {"do": "state"},
            {"do": "abort"},
            {"join": "run"},
            {"do": "state"},
        ],
    }
    scenario = playing(**given)
    reason = run(Scenario("agent", "made-up", scenario.given, {"ops": []}))
    assert reason is not None
    assert reason.startswith("ops[0]")


def test_the_command_line_closes_with_the_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([str(CORPUS), "agent/text-reply", "compact-long"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "agent/text-reply: passed",
        "harness/compact-long: failed: driver harness is not there yet",
        "1 passed, 1 failed",
    ]


def test_a_name_that_is_not_there_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([str(CORPUS), "nonsense"]) == 2
    assert "has no scenario nonsense" in capsys.readouterr().err


def test_a_folder_without_scenarios_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main([str(tmp_path)]) == 2
    assert "has no scenario" in capsys.readouterr().err
