"""Inputs of kind `sse`: the body of a response, and the message that must come of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from refold.actors.providers.openai_chat import OpenAIChat
from refold.actors.providers.openai_wire import render
from refold.actors.providers.provider import Began, Provider, StreamEvent
from refold.events.agent.evolve_turn import RETRIED
from refold.events.agent.messages import (
    AssistantMessage,
    Message,
    Text,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from tests.actors.providers.replies import Outcome, outcome, request, run
from tests.actors.providers.server import Answer, Server, cut, cut_at
from tests.bugs.comparing import within

Case = dict[str, Any]

PROVIDERS: dict[str, Callable[[str], Provider]] = {
    "openai-chat": lambda url: OpenAIChat(base_url=url, api_key="key", trust_env=False)
}
"""How a server at an address is called, by the corpus' names of its interface."""

KINDS = {"unknown": "provider_error", "network": "stream_truncated", "protocol": "protocol_error"}
"""Our words for kinds of errors, in those of the corpus; the others are the same in both."""


def reads(body: bytes, case: Case) -> Iterator[tuple[str, list[bytes]]]:
    """The ways in which a body is cut into reads, each with its name."""
    yield "whole", [body]
    yield "byte by byte", cut(body, 1)
    yield "in sevens", cut(body, 7)
    if "chunks" in case:
        yield "at the listed cuts", cut_at(body, case["chunks"])


def difference(folder: Path, case: Case) -> str | None:
    """The first difference, whichever way the body is cut; None if there is none."""
    if case["provider"] not in PROVIDERS:
        return f"provider {case['provider']} is not there yet"
    body = (folder / case["body"]).read_bytes()
    for how, parts in reads(body, case):
        if found := difference_of(case, parts):
            return f"{how}: {found}"
    return None


def difference_of(case: Case, parts: Iterable[bytes]) -> str | None:
    """The difference if the body is read in these parts."""
    answer = Answer(
        list(parts), status=case["status"], content_type=case["content_type"], end=case["eof"]
    )
    return within(case["expected"], case.get("accept", []), seen(run(_call(case, answer))))


async def _call(case: Case, answer: Answer) -> Outcome:
    async with Server(answer) as server:
        provider = PROVIDERS[case["provider"]](server.url)

        def on(event: StreamEvent) -> None:
            if isinstance(event, Began):
                server.release.set()

        try:
            return await outcome(provider, on=on)
        finally:
            await provider.close()


def seen(result: Outcome) -> dict[str, Any]:
    """An outcome in the words of the corpus."""
    end = result.finish
    ids = [call.id for call in result.calls]
    return {
        "text": result.text,
        "thinking": result.thinking,
        "tool_calls": [
            {"id": call.id, "name": call.name, "arguments": call.arguments.value}
            for call in result.calls
        ],
        "executable_tool_calls": ids if end.stop_reason == "tool_use" else [],
        "tool_call_ids_unique": len(set(ids)) == len(ids),
        "stop_reason": "toolUse" if end.stop_reason == "tool_use" else end.stop_reason,
        "usage": {
            name: getattr(end.usage, name)
            for name in ("input", "output", "cache_read", "cache_write")
        },
        "error": None
        if end.error_kind is None
        else {
            "kind": KINDS.get(end.error_kind, end.error_kind),
            "message": end.error_message,
            "retryable": end.error_kind in RETRIED,
        },
        **_replayed(result),
    }


def _replayed(result: Outcome) -> dict[str, Any]:
    """What the request behind this message says of it."""
    said = AssistantMessage(content=result.content, stop_reason=result.finish.stop_reason)
    hello, next = UserMessage(content=(Text("Hello"),)), UserMessage(content=(Text("next"),))
    messages: list[Message] = [hello, said, *_results(said.tool_calls), next]
    body = json.loads(render(request(*messages)))
    told = [message for message in body["messages"] if message["role"] == "assistant"]
    return {
        "replayed_assistant_content": told[0].get("content") if told else None,
        "next_request_call_ids": [
            call["id"] for message in told for call in message.get("tool_calls", ())
        ],
    }


def _results(calls: tuple[ToolCall, ...]) -> Iterator[ToolResultMessage]:
    for call in calls:
        yield ToolResultMessage(tool_call_id=call.id, tool_name=call.name, content=(Text("done"),))
