"""A scripted model that checks what it is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

from msgspec.structs import replace

from refold import AbortSignal, Reply, Request, Scripted
from refold.actors.providers.provider import StreamEvent
from refold.events.agent.context import answered
from tests.support.validity import faults

MODEL = "test/model"
"""The name under which sessions of the tests know it."""


class Model:
    """Answers from a script, and notes every request and what is wrong with it.

    Args:
        replies: the script, one entry a call (see `refold.Scripted`).
        every: in place of a script: what to reply to a request.
    """

    name = "test"

    def __init__(self, *replies: Any, every: Callable[[Request], Any] | None = None) -> None:
        self._script = Scripted(every or replies, name=self.name)
        self.requests: list[Request] = []
        self.faults: list[str] = []

    def check(self, model: str) -> None:
        """Any model is there."""

    async def stream(self, request: Request, signal: AbortSignal) -> AsyncIterator[StreamEvent]:
        """Answer with the next reply."""
        sent = replace(request, messages=tuple(request.messages))
        self.requests.append(sent)
        self.faults += faults(answered(sent.messages))
        async for event in self._script.stream(sent, signal):
            yield event

    async def close(self) -> None:
        """There is nothing to give back."""


def call(name: str, id: str = "", **arguments: Any) -> dict[str, Any]:
    """A block that calls a tool."""
    return {"type": "tool_call", "name": name, "arguments": arguments, "id": id}


def calls(*blocks: dict[str, Any], text: str = "", **fields: Any) -> Reply:
    """A reply that calls tools, perhaps after some words."""
    words = [{"type": "text", "text": text}] if text else []
    return Reply([*words, *blocks], **fields)
