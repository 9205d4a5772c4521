"""The cases of kind `sse` for this provider, collected from public bug reports (tests/data/bugs).

Each folder holds bodies as a server sent them, and the message that must come of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from refold.actors.providers.openai_chat import OpenAIChat
from refold.actors.providers.provider import Began, StreamEvent
from tests.actors.providers.replies import Outcome, outcome, run
from tests.actors.providers.server import Answer, Server, cut, cut_at

BUGS = Path(__file__).parents[2] / "data" / "bugs"

KINDS = {"unknown": "provider_error", "network": "stream_truncated"}
"""Our words for kinds of errors, in the words of the cases; the others are the same in both."""


def cases() -> Iterator[Any]:
    for folder in sorted(BUGS.iterdir()):
        if not folder.is_dir():
            continue
        bug = json.loads((folder / "expected.json").read_text())
        for case in bug["cases"] if bug["kind"] == "sse" else ():
            if case.get("provider", bug["provider"]) == "openai-chat":
                yield pytest.param(folder, case, id=f"{bug['id']}-{case['name']}")


def reads(body: bytes, how: str, case: dict[str, Any]) -> list[bytes]:
    match how:
        case "whole":
            return [body]
        case "byte by byte":
            return cut(body, 1)
        case "seven bytes":
            return cut(body, 7)
        case _:
            return cut_at(body, case.get("chunks", [len(body) // 2]))


def seen(result: Outcome) -> dict[str, Any]:
    """An outcome in the words of the cases."""
    end = result.finish
    ids = [call.id for call in result.calls]
    error = None
    if end.error_kind is not None:
        error = {"kind": KINDS.get(end.error_kind, end.error_kind), "message": end.error_message}
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
        "error": error,
    }


def fits(value: Any, wanted: Any) -> bool:
    match wanted:
        case {"any": list(choices)}:
            return any(fits(value, choice) for choice in choices)
        case {"contains": str(part)}:
            return part in value
        case {"nonempty": True}:
            return bool(value)
        case dict():
            # Whether a kind is tried again is not the provider's to say.
            keys = [key for key in wanted if key != "retryable"]
            return isinstance(value, dict) and all(fits(value[key], wanted[key]) for key in keys)
        case list():
            return len(value) == len(wanted) and all(map(fits, value, wanted))
        case _:
            return bool(value == wanted)


@pytest.mark.parametrize("how", ["whole", "byte by byte", "seven bytes", "cut"])
@pytest.mark.parametrize(("folder", "case"), list(cases()))
def test_a_body_that_broke_another_client_is_read_right(
    folder: Path, case: dict[str, Any], how: str
) -> None:
    body = (folder / case["body"]).read_bytes()
    answer = Answer(
        reads(body, how, case),
        status=case["status"],
        content_type=case["content_type"],
        end=case["eof"],
    )

    async def call() -> Outcome:
        async with Server(answer) as server:
            provider = OpenAIChat(base_url=server.url, api_key="key", trust_env=False)

            def on(event: StreamEvent) -> None:
                if isinstance(event, Began):
                    server.release.set()

            try:
                return await outcome(provider, on=on)
            finally:
                await provider.close()

    result = seen(run(call()))
    wanted = case["expected"]
    allowed = [wanted, *({**wanted, **other} for other in case.get("accept", []))]
    assert any(fits(result, expectation) for expectation in allowed), result


def test_the_cases_are_there() -> None:
    assert len(list(cases())) == 17
