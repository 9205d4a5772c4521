"""A real HTTP server on the event loop of a test, whose answers are given byte by byte."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import TracebackType
from typing import Any, Literal

End = Literal["clean", "reset", "silence"]


@dataclass(frozen=True)
class Answer:
    """What the server answers with.

    Attributes:
        reads: the body, cut into the parts that the client shall read one by one. Each is an HTTP
            chunk of its own, which the client's parser hands on as it is, however TCP joins them.
        end: `reset` breaks the connection once `Server.release` is set; `silence` keeps it open
            and sends nothing more.
    """

    reads: Sequence[bytes] = ()
    status: int = 200
    content_type: str = "text/event-stream"
    headers: Mapping[str, str] = field(default_factory=dict)
    end: End = "clean"


@dataclass(frozen=True)
class Received:
    """A request as the server got it."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def chunk(**delta: Any) -> bytes:
    """An event with a chunk of a reply."""
    return event({"id": "r1", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})


def finish(reason: str = "stop", **fields: Any) -> bytes:
    """The events that end a reply."""
    last = {"id": "r1", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], **fields}
    return event(last) + b"data: [DONE]\n\n"


def event(data: Any) -> bytes:
    """An event with JSON data."""
    return b"data: " + json.dumps(data).encode() + b"\n\n"


HELLO = Answer([chunk(content="Hel"), chunk(content="lo"), finish()])


class Server:
    """Gives the answers in order, and the last one again and again.

    Args:
        together: how many requests must have come before the first is answered.

    Attributes:
        received: the requests.
        connections: how many were opened.
        asked: set when a request has come.
        release: set by the test, lets the server break a connection.
        left: set when a client has closed a connection that the server still held open.
    """

    def __init__(self, *answers: Answer, together: int = 1) -> None:
        self._answers = list(answers)
        self._together = together
        self._gathered = asyncio.Event()
        self.received: list[Received] = []
        self.connections = 0
        self.asked = asyncio.Event()
        self.release = asyncio.Event()
        self.left = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        host, port = self._server.sockets[0].getsockname()
        return f"http://{host}:{port}/v1"

    async def __aenter__(self) -> Server:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has gone
        except asyncio.CancelledError:
            pass  # the test is over
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; False if the connection is over."""
        self.received.append(await _request(reader))
        self.asked.set()
        if len(self.received) >= self._together:
            self._gathered.set()
        await self._gathered.wait()
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if answer.status:
            writer.write(_head(answer))
        for data in answer.reads:
            writer.write(b"%x\r\n%s\r\n" % (len(data), data))
            await writer.drain()
        if answer.end == "reset":
            await self.release.wait()
            linger = struct.pack("ii", 1, 0)  # on, for no time: the connection is reset
            raw: socket.socket = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
            return False
        if answer.end == "silence":
            await reader.read()
            self.left.set()
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


def _head(answer: Answer) -> bytes:
    lines = [
        f"HTTP/1.1 {answer.status} Whatever",
        "Transfer-Encoding: chunked",
        *([f"Content-Type: {answer.content_type}"] if answer.content_type else []),
        *(f"{name}: {value}" for name, value in answer.headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode()


async def _request(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.strip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, path, headers, body)


def cut(body: bytes, size: int) -> list[bytes]:
    """A body in parts of `size` bytes."""
    return [body[at : at + size] for at in range(0, len(body), size)]


def cut_at(body: bytes, offsets: Iterable[int]) -> list[bytes]:
    """A body cut at these offsets."""
    marks = [0, *offsets, len(body)]
    return [body[a:b] for a, b in pairwise(marks)]
