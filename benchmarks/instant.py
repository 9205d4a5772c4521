"""The work that is measured: a model and tools that take no time, so that refold's own is left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec

import refold

MODEL = "instant/model"
ARGUMENT = "list the files in the current directory and report the first ten of them, thank you"
RESULT = "a.py b.py c.py d.py e.py f.py g.py h.py i.py j.py: ten files listed, nothing else found"
ARGUMENTS = msgspec.json.encode({"text": ARGUMENT}).decode()


@refold.tool
def echo(text: str) -> str:
    """Say something about a text."""
    return RESULT


@refold.tool
async def echo_async(text: str) -> str:
    """The same on the event loop."""
    return RESULT


class Instant:
    """A model that wants tools for some turns, and then says that it is done.

    Args:
        turns: how many replies of a run ask for tools; the next one ends it.
        tool: which tool; calls: how often in one reply.
        text, deltas: the last reply is `text`, so many times over, a delta each; if there is more
            than one, others get their turn on the event loop before each, as with a network.
    """

    name = "instant"

    def __init__(
        self,
        turns: int,
        *,
        tool: str = "echo",
        calls: int = 1,
        text: str = "done",
        deltas: int = 1,
    ) -> None:
        self._turns = turns
        self._tool = tool
        self._calls = calls
        self._text = text
        self._deltas = deltas

    def check(self, model: str) -> None:
        """Any model is there."""

    async def stream(
        self, request: refold.Request, signal: refold.AbortSignal
    ) -> AsyncIterator[refold.Began | refold.Piece | refold.Finish]:
        """Reply (see `refold.Provider`)."""
        yield refold.Began()
        if (request.call - 1) % (self._turns + 1) < self._turns:
            for index in range(self._calls):
                id = f"{request.call}-{index}"
                yield refold.Piece("tool_call_start", index, id=id, name=self._tool)
                yield refold.Piece("tool_call_delta", index, ARGUMENTS)
                yield refold.Piece("tool_call_end", index)
            yield refold.Finish(stop_reason="tool_use")
            return
        yield refold.Piece("text_start", 0)
        for _ in range(self._deltas):
            if self._deltas > 1:
                await asyncio.sleep(0)
            yield refold.Piece("text_delta", 0, self._text)
        yield refold.Piece("text_end", 0)
        yield refold.Finish(stop_reason="stop")

    async def close(self) -> None:
        """There is nothing to give back."""
