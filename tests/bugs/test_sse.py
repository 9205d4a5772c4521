"""Bodies of responses that broke another client are read right, however they are cut."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import refold
from tests.actors.providers.replies import run
from tests.actors.providers.server import Answer, Server, finish
from tests.bugs import sse
from tests.bugs.corpus import CORPUS, bugs, read

Case = dict[str, Any]


def cases() -> Iterator[Any]:
    for bug in bugs(CORPUS):
        for case in bug.cases if bug.kind == "sse" else ():
            if case["provider"] in sse.PROVIDERS:
                yield pytest.param(bug.folder, case, id=f"{bug.id}-{case['name']}")


def parts(folder: Path, case: Case, how: str) -> list[bytes]:
    body = (folder / case["body"]).read_bytes()
    ways = dict(sse.reads(body, {"chunks": [len(body) // 2], **case}))
    return ways[how]


@pytest.mark.parametrize("how", ["whole", "byte by byte", "in sevens", "at the listed cuts"])
@pytest.mark.parametrize(("folder", "case"), list(cases()))
def test_a_body_that_broke_another_client_is_read_right(folder: Path, case: Case, how: str) -> None:
    assert sse.difference_of(case, parts(folder, case, how)) is None


def test_the_cases_are_there() -> None:
    assert len(list(cases())) == 17


def test_ids_that_are_made_up_for_calls_without_one_are_the_same_when_read_from_the_log(
    tmp_path: Path,
) -> None:
    body = (CORPUS / "B03" / "id_never.sse").read_bytes()

    @refold.tool
    def get_time() -> str:
        return "noon"

    @refold.tool
    def get_date() -> str:
        return "today"

    async def ids_sent() -> list[str]:
        async with Server(Answer([body]), Answer([finish()])) as server:
            provider = refold.OpenAIChat(base_url=server.url, api_key="key", trust_env=False)
            runtime = await refold.open_async(tmp_path / "log", providers=[provider])
            async with runtime:
                session = await runtime.session("s", model="openai/m", tools=[get_time, get_date])
                await (await session.prompt("go")).result()
            sent = server.received[1].json["messages"]
        calls = [call["id"] for each in sent for call in each.get("tool_calls", ())]
        results = [each["tool_call_id"] for each in sent if each["role"] == "tool"]
        assert results == calls
        return calls

    sent = run(ids_sent())
    with refold.read(tmp_path / "log") as archive:
        messages = tuple(archive.session("s").context().messages)
    kept = [
        call.id
        for each in messages
        if isinstance(each, refold.AssistantMessage)
        for call in each.tool_calls
    ]
    assert kept == sent
    assert all(kept)
    assert len(set(kept)) == 2


def test_a_reply_that_was_cut_off_is_asked_for_again() -> None:
    bug = read(CORPUS / "B09")
    case = next(case for case in bug.cases if case["name"] == "args_complete_but_cut")
    runs = []

    @refold.tool(name="write_file", parameters={"type": "object"})
    def write_file(arguments: dict[str, Any]) -> str:
        runs.append(arguments)
        return "done"

    async def talk() -> refold.AssistantMessage:
        cut_off = Answer([(bug.folder / case["body"]).read_bytes()])
        async with Server(cut_off, Answer([finish()])) as server:
            provider = refold.OpenAIChat(base_url=server.url, api_key="key", trust_env=False)
            async with await refold.open_async(None, providers=[provider]) as runtime:
                session = await runtime.session(
                    "s", model="openai/m", tools=[write_file], retry_delay=0
                )
                return await (await session.prompt("go")).result()

    assert run(talk()).stop_reason == "stop"
    assert runs == []
