"""A model that says what chance wants, and fails when it wants."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from random import Random
from typing import Any

from refold import AbortSignal, Began, Finish, Piece, Request
from refold.events.agent.context import answered
from tests.random.tools import NAMES
from tests.support.validity import faults

MODEL = "chancy/model"

PASSING = ("rate_limit", "overloaded", "network", "timeout")
LASTING = ("auth", "invalid_request", "context_overflow", "unknown", "protocol")


class ChancyModel:
    """A provider for many sessions at once.

    Attributes:
        faults: what a provider would have refused in what it was sent.
        calls: how often it was called.
    """

    name = "chancy"

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self.faults: list[str] = []
        self.calls = 0

    def check(self, model: str) -> None:
        """Any model is there."""

    async def stream(self, request: Request, signal: AbortSignal) -> AsyncIterator[Any]:
        """Answer in one of many ways."""
        chance = self._chance
        self.calls += 1
        self.faults += faults(answered(request.messages))
        if signal.aborted:
            yield _aborted()
            return
        match chance.choices(("raise", "fail", "pass", "silent", "answer"), (2, 2, 8, 3, 85))[0]:
            case "raise":
                raise chance.choice([RuntimeError("boom"), SystemExit("boom"), ValueError()])
            case "fail":
                yield _error(chance.choice(LASTING))
                return
            case "pass":
                if chance.random() < 0.5:
                    yield Began()
                yield _error(chance.choice(PASSING), chance.choice([None, None, 0.001]))
                return
            case "silent":
                yield Finish(stop_reason="stop")
                return
        async for event in self._answer(request, signal):
            yield event

    async def close(self) -> None:
        """Nothing is open."""

    async def _answer(self, request: Request, signal: AbortSignal) -> AsyncIterator[Any]:
        chance = self._chance
        heedless = chance.random() < 0.05
        yield Began()
        yield Piece("text_start", 0)
        for number in range(chance.randrange(5)):
            await asyncio.sleep(chance.random() * 0.002)
            if signal.aborted and not heedless:
                yield _aborted()
                return
            yield Piece("text_delta", 0, f"word{number} ")
        yield Piece("text_end", 0)
        count = chance.choice((0, 0, 0, 0, 1, 2, 4))
        for index in range(1, count + 1):
            id = chance.choice((f"call_{request.call}_{index}", "same", ""))
            name = chance.choice((*NAMES, "nobody", ""))
            yield Piece("tool_call_start", index, id=id, name=name)
            yield Piece("tool_call_delta", index, chance.choice(("{}", '{"x": 1}', '{"x": "no"}')))
            yield Piece("tool_call_end", index)
        if count:
            yield Finish(stop_reason=chance.choice(("tool_use",) * 9 + ("length",)))
        else:
            yield Finish(stop_reason=chance.choice(("stop",) * 9 + ("length",)))


def _aborted() -> Finish:
    return Finish(stop_reason="aborted", error_kind="aborted", error_message="aborted")


def _error(kind: Any, retry_after: float | None = None) -> Finish:
    return Finish(stop_reason="error", error_kind=kind, error_message=kind, retry_after=retry_after)
