"""The timeline of a script: what is done, and at which event."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import refold
from refold import LifecycleEvent

Given = dict[str, Any]
Perform = Callable[[Given], Awaitable[None]]

OTHER_THREAD = "_from_other_thread"


class _Line:
    def __init__(self, given: Given) -> None:
        self.given = given
        self.done = asyncio.Event()
        self.taken = False


class Timeline:
    """Does each line of a script when its event comes.

    Args:
        perform: does what a line says.
        idle: waits until the session rests.
    """

    def __init__(self, lines: list[Given], perform: Perform, idle: Callable[[], Any]) -> None:
        self._lines = [_Line(line) for line in lines]
        self._perform = perform
        self._idle = idle
        self._counts: Counter[str] = Counter()

    @property
    def waits_at_events(self) -> bool:
        """True if the run has to wait at an event until something is done there."""
        return any(
            line.given["on"] not in ("start", "idle") and OTHER_THREAD not in line.given["do"]
            for line in self._lines
        )

    @property
    def undone(self) -> list[Given]:
        """The lines that have not been done."""
        return [line.given for line in self._lines if not line.done.is_set()]

    async def conduct(self, limit: float) -> None:
        """Do the lines at `start` and `idle`, and wait until all are done and the session rests.

        Args:
            limit: seconds that each wait may take.

        Raises:
            TimeoutError: a wait took longer.
        """
        for number, line in enumerate(self._lines):
            if line.given["on"] == "start":
                await asyncio.wait_for(self._do(line), limit)
            elif line.given["on"] == "idle":
                await self._rest(self._lines[:number], limit)
                await asyncio.wait_for(self._do(line), limit)
        await self._rest(self._lines, limit)

    async def heard(self, event: LifecycleEvent) -> None:
        """A lifecycle event has come."""
        for name in self._names(event):
            await self.came(name)

    async def came(self, name: str) -> None:
        """An event has come, by its name in scripts."""
        for line in self._lines:
            if line.given["on"] == name and not line.taken:
                await self._do(line)

    async def _do(self, line: _Line) -> None:
        line.taken = True
        await self._perform(line.given)
        line.done.set()

    async def _rest(self, lines: list[_Line], limit: float) -> None:
        for line in lines:
            await asyncio.wait_for(line.done.wait(), limit)
        await asyncio.wait_for(self._idle(), limit)

    def _names(self, event: LifecycleEvent) -> list[str]:
        match event:
            case refold.ToolExecutionStart():
                return [f"tool_start:{event.tool_call_id}"]
            case refold.ToolExecutionUpdate():
                return [f"tool_update:{event.tool_call_id}"]
            case refold.ToolExecutionEnd():
                return [f"tool_end:{event.tool_call_id}"]
            case refold.MessageStart():
                return self._numbered(f"message_start:{ROLES[type(event.message)]}")
            case refold.MessageEnd():
                return self._numbered(f"message_end:{ROLES[type(event.message)]}")
            case refold.TurnStart():
                return self._numbered("turn_start")
            case refold.TurnEnd():
                return self._numbered("turn_end")
            case refold.AgentStart():
                return self._numbered("agent_start")
            case refold.AgentEnd():
                return self._numbered("agent_end")
        return []

    def _numbered(self, name: str) -> list[str]:
        self._counts[name] += 1
        return [name, f"{name}:{self._counts[name]}"]


ROLES: dict[type, str] = {
    refold.UserMessage: "user",
    refold.AssistantMessage: "assistant",
    refold.ToolResultMessage: "toolResult",
    refold.CustomMessage: "custom",
}
"""The corpus' words for who says something."""
