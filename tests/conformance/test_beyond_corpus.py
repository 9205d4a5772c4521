"""Behaviour that no scenario pins. What the peer does was found by running pi 0.82.0."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.conformance.agent import AgentDriver
from tests.conformance.observation import Observation
from tests.conformance.runner import LIMIT

pytestmark = pytest.mark.conformance

PROMPT = {"do": "prompt", "text": "go"}
TOOL = {"name": "t", "parameters": {"type": "object"}}
ABORT = [{"do": "abort"}]


def observed(**given: Any) -> Observation:
    driver = AgentDriver({"commands": [PROMPT]} | given)

    async def play() -> None:
        async with asyncio.timeout(LIMIT):
            await driver.play(None)

    asyncio.run(play())
    return driver.observation


def told(observation: Observation, start: int, end: int | None = None) -> list[str]:
    """Events in short: their type, and whose or how they are."""
    short = []
    for event in observation.events[start:end]:
        message = event.get("message", {})
        what = event.get("toolCallId") or message.get("errorMessage") or message.get("role", "")
        short.append(f"{event['type']} {what}".rstrip())
    return short


def calls(*ids: str) -> dict[str, Any]:
    return {"content": [{"type": "toolCall", "id": id, "name": "t", "arguments": {}} for id in ids]}


@pytest.mark.parametrize("execution", ["parallel", "sequential"])
def test_an_abort_before_the_first_call_still_takes_that_one_up(execution: str) -> None:
    observation = observed(
        tools=[TOOL],
        options={"toolExecution": execution},
        triggers=[{"on": {"type": "message_end", "role": "assistant"}, "do": ABORT}],
        replies=[calls("a", "b")],
    )
    assert told(observation, 6, 11) == [
        "tool_execution_start a",
        "tool_execution_end a",
        "message_start toolResult",
        "message_end toolResult",
        "turn_end assistant",
    ]
    assert not observation.tool_runs


def test_an_abort_in_the_hook_before_a_call_fails_that_call_at_once() -> None:
    observation = observed(
        tools=[TOOL],
        hooks={"beforeToolCall": [{"n": 2, "steps": ABORT}]},
        replies=[calls("a", "b", "c")],
    )
    assert told(observation, 6, 10) == [
        "tool_execution_start a",
        "tool_execution_start b",
        "tool_execution_end b",
        "tool_execution_end a",
    ]
    assert [run["toolCallId"] for run in observation.tool_runs] == ["a"]


def test_hooks_on_a_sequential_batch_see_the_context_without_its_results() -> None:
    observation = observed(
        tools=[TOOL],
        options={"toolExecution": "sequential"},
        hooks={"beforeToolCall": []},
        replies=[calls("a", "b"), {"content": "x"}],
    )
    assert [hook["contextMessages"] for hook in observation.hooks] == [2, 2]


def test_a_listener_that_raises_at_the_end_of_a_run_fails_it_all_the_same() -> None:
    observation = observed(
        triggers=[{"on": {"type": "agent_end"}, "do": [{"throw": "late"}]}],
        replies=[{"content": "x"}],
    )
    assert told(observation, 6) == [
        "turn_end assistant",
        "agent_end",
        "message_start late",
        "message_end late",
        "turn_end late",
        "agent_end",
    ]


def test_a_run_fails_once_even_if_listeners_go_on_raising() -> None:
    observation = observed(
        triggers=[
            {"on": {"type": "agent_end"}, "do": [{"throw": "late"}]},
            {"on": {"type": "agent_end", "n": 2}, "do": [{"throw": "later"}]},
        ],
        replies=[{"content": "x"}],
    )
    # The peer gives up at the second: its prompt raises, and a run may lack its `agent_end`.
    assert told(observation, 10) == ["turn_end late", "agent_end"]
    assert observation.final["errorMessage"] == "late"


def test_a_run_that_starts_from_a_follow_up_looks_at_steering_before_its_first_call() -> None:
    question = {"role": "user", "content": "q"}
    answer = {"role": "assistant", "content": [{"type": "text", "text": "a"}]}
    observation = observed(
        messages=[question, answer],
        triggers=[{"on": {"type": "agent_start"}, "do": [{"do": "steer", "text": "s"}]}],
        commands=[{"do": "followUp", "text": "f"}, {"do": "continue"}],
        replies=[{"content": "x"}],
    )
    assert [call["at"] for call in observation.calls] == [6]
    assert [message["role"] for message in observation.calls[0]["messages"]][-2:] == ["user"] * 2


def test_what_a_transform_leaves_of_custom_messages_is_not_sent() -> None:
    note = {"role": "note", "text": "put in"}
    observation = observed(
        messages=[{"role": "remark", "text": "there"}],
        hooks={"transformContext": [{"steps": [{"return": {"append": [note]}}]}]},
        replies=[{"content": "x"}],
    )
    assert [message["role"] for message in observation.calls[0]["messages"]] == ["user"]
