"""Server-sent events out of an HTTP response, with httpx-sse."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import httpx
import httpx_sse

HEAD = 2000
"""How many bytes of a body are remembered, to be shown if nothing could be made of it."""


class Body(httpx.AsyncByteStream):
    """The bytes of a response, passed through; `head` is the first of them."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self._head = bytearray()

    @property
    def head(self) -> str:
        """The beginning of the body, as far as it was read."""
        return self._head.decode("utf-8", "replace")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for data in self._response.aiter_bytes():
            self._head += data[: max(HEAD - len(self._head), 0)]
            yield data
        # A last event that lacks its blank line counts, too: what is cut is not JSON any more.
        yield b"\n\n"


async def events(body: Body) -> AsyncGenerator[str, None]:
    """The data of each event, as it comes.

    The parser sees a response of our own, so that neither the content type nor the character set
    that a server declares matters: events are UTF-8 always, and a mark at the start (BOM) is none
    of their text.
    """
    response = httpx.Response(
        200,
        headers={"content-type": "text/event-stream"},
        stream=body,
        default_encoding="utf-8-sig",
    )
    async with aclosing(httpx_sse.EventSource(response).aiter_sse()) as source:
        async for event in source:
            yield event.data
