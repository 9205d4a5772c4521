"""Events out of bytes, wherever the reads are cut."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from refold.actors.providers.sse import HEAD, Body, events
from tests.actors.providers.replies import run
from tests.actors.providers.server import cut, cut_at


class Reads(httpx.AsyncByteStream):
    def __init__(self, reads: list[bytes]) -> None:
        self.reads = reads

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for data in self.reads:
            yield data


async def read(reads: list[bytes], content_type: str = "text/event-stream") -> list[str]:
    body = Body(httpx.Response(200, headers={"content-type": content_type}, stream=Reads(reads)))
    return [data async for data in events(body) if data]


ODD = (
    "\ufeffdata: a\u2028b\u2029c\x85d\r\n\r\n"
    ": a comment\r\n\r\n"
    "event: named\rdata:no space\rdata:  two\r\r"
    "id: 1\nretry: 5\nunknown: x\ndata\n\n"
    "data: \N{GRINNING FACE} last\n\n"
).encode()
EVENTS = ["a\u2028b\u2029c\x85d", "no space\n two", "\N{GRINNING FACE} last"]


@pytest.mark.parametrize("size", [1, 2, 3, 7, len(ODD)])
def test_events_are_the_same_in_reads_of_any_size(size: int) -> None:
    assert run(read(cut(ODD, size))) == EVENTS


def test_events_are_the_same_cut_at_every_byte() -> None:
    async def all_cuts() -> None:
        for offset in range(1, len(ODD)):
            assert await read(cut_at(ODD, [offset])) == EVENTS, offset

    run(all_cuts())


@pytest.mark.parametrize(
    "content_type", ["", "text/plain", "text/event-stream; charset=iso-8859-1", "x/y"]
)
def test_events_are_utf8_whatever_the_server_declares(content_type: str) -> None:
    assert run(read([ODD], content_type)) == EVENTS


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\r"])
def test_a_last_event_without_its_blank_line_counts(end: bytes) -> None:
    assert run(read([b"data: a\n\ndata: b" + end])) == ["a", "b"]


def test_the_head_of_a_body_is_remembered() -> None:
    body = Body(httpx.Response(200, stream=Reads([b"error: x\n", b"y" * 5000])))

    async def all_events() -> list[str]:
        return [data async for data in events(body)]

    assert run(all_events()) == []
    assert body.head == "error: x\n" + "y" * (HEAD - 9)
