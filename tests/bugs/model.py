"""The model of a script: its n-th entry answers the n-th request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from msgspec.structs import replace

from refold import AbortSignal, Began, Finish, Piece, Request
from refold.actors.providers.blocks import CallBlock, TextBlock, TextKind
from refold.actors.providers.interruption import AbortedError, unless_aborted
from refold.actors.providers.provider import ABORTED
from refold.events.agent.context import answered
from tests.bugs.gates import Gates

PROVIDER = "played"
"""The word before the slash in the model's name."""

Given = dict[str, Any]

STOP_REASONS: dict[str, Any] = {"toolUse": "tool_use"}
KINDS: dict[str, Any] = {
    "provider_error": "unknown",
    "protocol_error": "protocol",
    "stream_truncated": "network",
    "empty_response": "network",
}
"""The corpus' words, in ours; the others are the same in both."""


class PlayedModel:
    """A provider that plays a script.

    With the signal set at the call nothing is sent, so that is no request.

    Args:
        stalled: called when a reply waits at a gate.

    Attributes:
        requests: as they would go out, one by one.
        beyond: how many came when the script was over.
    """

    name = PROVIDER

    def __init__(self, script: Given, gates: Gates, stalled: Callable[[], object]) -> None:
        self._entries: list[Given] = script["model"]
        self._delay = script.get("model_delay_ms", 0) / 1000
        self._gates = gates
        self._stalled = stalled
        self.requests: list[Request] = []

    @property
    def beyond(self) -> int:
        return max(0, len(self.requests) - len(self._entries))

    def check(self, model: str) -> None:
        """Any model is there."""

    async def stream(self, request: Request, signal: AbortSignal) -> AsyncIterator[Any]:
        """Give the next answer."""
        if signal.aborted:
            yield ABORTED
            return
        self.requests.append(replace(request, messages=tuple(answered(request.messages))))
        number = len(self.requests)
        if self.beyond:
            words = f"the script has no answer {number}"
            yield Finish(stop_reason="error", error_kind="invalid_request", error_message=words)
            return
        try:
            await unless_aborted(signal, asyncio.sleep(self._delay))
        except AbortedError:
            yield ABORTED
            return
        async for event in self._played(self._entries[number - 1], signal):
            yield event

    async def close(self) -> None:
        """Nothing is open."""

    async def _played(self, entry: Given, signal: AbortSignal) -> AsyncIterator[Any]:
        yield Began()
        blocks = _Blocks()
        for step in entry.get("stream", _steps(entry)):
            if "gate" in step:
                self._stalled()
                await self._gates.passed(step["gate"], signal)
            if signal.aborted:
                yield ABORTED
                return
            if "error" in step:
                yield _error(step)
                return
            for piece in blocks.take(step):
                yield piece
        for piece in blocks.end():
            yield piece
        reason = entry.get("stop_reason", "toolUse" if blocks.calls else "stop")
        yield Finish(stop_reason=STOP_REASONS.get(reason, reason))


def _steps(entry: Given) -> Iterator[Given]:
    """The steps of an answer that is given as a whole."""
    if "error" in entry:
        yield {"error": entry["error"]}
    if "thinking" in entry:
        yield {"thinking": entry["thinking"]}
    if "text" in entry:
        yield {"text": entry["text"]}
    for call in entry.get("tool_calls", ()):
        yield {"tool_call_start": call}
        yield {"arguments": json.dumps(call.get("arguments", {}))}
    for id, name, arguments in entry.get("raw_tool_calls", ()):
        yield {"tool_call_start": {"id": id, "name": name}}
        yield {"arguments": arguments}


def _error(step: Given) -> Finish:
    told = step["error"]
    kind = told["kind"] if isinstance(told, dict) else told
    words = told.get("message", kind) if isinstance(told, dict) else step.get("message", kind)
    return Finish(stop_reason="error", error_kind=KINDS.get(kind, kind), error_message=str(words))


class _Blocks:
    """Makes pieces of steps, as providers do: a block goes on until another kind begins."""

    def __init__(self) -> None:
        self._open: TextBlock | CallBlock | None = None
        self._index = 0
        self.calls = 0

    def take(self, step: Given) -> Iterator[Piece]:
        """The pieces of one step."""
        if "tool_call_start" in step:
            yield from self.end()
            told = step["tool_call_start"]
            call = self._open = CallBlock(self._next())
            call.id, call.name = (told["id"], told["name"]) if isinstance(told, dict) else told
            self.calls += 1
            yield from call.take("")
        elif "arguments" in step:
            assert isinstance(self._open, CallBlock)
            yield from self._open.take(step["arguments"])
        if "thinking" in step:
            yield from self._say("thinking", step["thinking"])
        if "text" in step:
            yield from self._say("text", step["text"])

    def end(self) -> Iterator[Piece]:
        """The end of the block that is open."""
        if self._open is not None:
            yield from self._open.end()
            self._open = None

    def _say(self, kind: TextKind, text: str) -> Iterator[Piece]:
        if not isinstance(self._open, TextBlock) or self._open.kind != kind:
            yield from self.end()
            self._open = TextBlock(kind, self._next())
            yield self._open.start()
        yield from self._open.take(text)

    def _next(self) -> int:
        self._index += 1
        return self._index - 1
