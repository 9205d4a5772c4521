"""The scripted model of the corpus: pull driven, with pauses, and every fault a model can have."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from refold import AbortSignal, Began, Finish, Piece, Request
from refold.events.errors import InvalidArgumentError
from tests.conformance import shown
from tests.conformance.observation import Observation
from tests.conformance.steps import Place, Steps, Thrown
from tests.conformance.values import PROVIDER, STOP_REASONS, content, usage

Reply = dict[str, Any]

_KINDS = {"text": "text", "thinking": "thinking", "toolCall": "tool_call"}
_EXHAUSTED: Reply = {"content": [], "stopReason": "error", "errorMessage": "script exhausted"}


class ScriptedModel:
    """A provider that gives the replies of a scenario, in order, one per call.

    Args:
        models: ids of the models that there are.
        own: what the provider itself adds to each call. Keys and cache names are a provider's own
            affair in refold, and no part of a request.
    """

    name = PROVIDER

    def __init__(
        self,
        *,
        models: list[str],
        replies: list[Reply],
        own: Mapping[str, Any],
        steps: Steps,
        observation: Observation,
    ) -> None:
        self._models = models
        self._replies = list(replies)
        self._own = dict(own)
        self._steps = steps
        self._observation = observation
        observation.replies_left = len(replies)

    def check(self, model: str) -> None:
        """Raise if there is no such model."""
        if model not in self._models:
            raise InvalidArgumentError(f"the scenario has no model {model!r}")

    async def stream(
        self, request: Request, signal: AbortSignal
    ) -> AsyncIterator[Began | Piece | Finish]:
        """Give the next reply."""
        reply = self._replies.pop(0) if self._replies else _EXHAUSTED
        self._observation.replies_left = len(self._replies)
        self._note(request, reply, signal)
        if "throwOnCall" in reply:
            raise Thrown(reply["throwOnCall"])
        pausing = _Pausing(reply, self._steps, Place("model", signal=signal))
        if not reply.get("noStream"):
            for point, event in _streamed(reply["content"]):
                if await pausing.aborted(point):
                    yield _ABORTED
                    return
                yield event
        if not reply.get("silentEnd") and await pausing.aborted("close"):
            yield _ABORTED
            return
        yield _finish(reply)

    async def close(self) -> None:
        """Nothing is open."""

    def _note(self, request: Request, reply: Reply, signal: AbortSignal) -> None:
        call: dict[str, Any] = {
            "model": request.model,
            "systemPrompt": request.system_prompt,
            "tools": [tool.name for tool in request.tools],
            "messages": shown.messages(request.messages),
        }
        if request.thinking_level != "off":
            call["reasoning"] = request.thinking_level
        if signal.aborted:
            call["aborted"] = True
        if "payload" in reply:
            call["payload"] = reply["payload"]
        self._observation.call(call | self._own)


_ABORTED = Finish(stop_reason="aborted", error_message="scripted abort")


class _Pausing:
    """What a reply does before each of its events."""

    def __init__(self, reply: Reply, steps: Steps, place: Place) -> None:
        self._pauses = {pause["at"]: pause["steps"] for pause in reply.get("pauses", [])}
        self._ignores = reply.get("ignoreAbort", False)
        self._steps = steps
        self._place = place

    async def aborted(self, point: str) -> bool:
        """Do the steps of a point; True if the stream is to end there."""
        await self._steps.do(self._pauses.get(point, []), self._place)
        signal = self._place.signal
        return not self._ignores and signal is not None and signal.aborted


def _streamed(blocks: str | list[dict[str, Any]]) -> list[tuple[str, Began | Piece]]:
    """The events of a stream but the last, each with the point before it."""
    if isinstance(blocks, str):
        blocks = [{"type": "text", "text": blocks}]
    events: list[tuple[str, Began | Piece]] = [("open", Began())]
    for index, block in enumerate(blocks):
        kind = _KINDS[block["type"]]
        name, id = block.get("name", ""), block.get("id", "")
        events.append((f"b{index}.start", _piece(f"{kind}_start", index, id=id, name=name)))
        for number, chunk in enumerate(block.get("chunks") or [_whole(block)]):
            events.append((f"b{index}.d{number}", _piece(f"{kind}_delta", index, text=chunk)))
        events.append((f"b{index}.end", _piece(f"{kind}_end", index)))
    return events


def _piece(kind: Any, index: int, **parts: str) -> Piece:
    return Piece(kind, index, **parts)


def _whole(block: dict[str, Any]) -> str:
    if block["type"] == "toolCall":
        return json.dumps(block["arguments"], separators=(",", ":"), ensure_ascii=False)
    text: str = block[block["type"]]
    return text


def _finish(reply: Reply) -> Finish:
    whole = content(reply["content"])
    calls = not isinstance(reply["content"], str) and any(
        block["type"] == "toolCall" for block in reply["content"]
    )
    reason = reply.get("stopReason", "toolUse" if calls else "stop")
    return Finish(
        stop_reason=STOP_REASONS[reason],
        usage=usage(reply.get("usage", {})),
        content=whole if reply.get("noStream") else None,
        error_message=reply.get("errorMessage"),
    )
