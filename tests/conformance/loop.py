"""The driver `loop`: the peer's low-level functions, which keep no state between their runs."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import refold
from refold import AsyncRun, Message
from tests.conformance import shown
from tests.conformance.agent import AgentDriver, Command
from tests.conformance.listeners import MAIN
from tests.conformance.steps import Step


class LoopDriver(AgentDriver):
    """Plays a scenario on a session that is put back to the caller's messages before each run.

    The awaited form has its events from an awaited listener, the event-stream form from the run
    itself. The runner's own queues are those of the session.
    """

    async def begin(self) -> None:
        """Take the caller's messages; the session gets them with each run."""
        given = self.given.get("messages", [])
        self.caller = self.messages({"messages": given})

    def final(self) -> Any:
        """What is left in the caller's hands."""
        queued = self.session.queued
        return {
            "callerMessages": shown.roles(self.caller),
            "steerLeft": len(queued["steering"]),
            "followUpLeft": len(queued["follow_up"]),
        }

    def _commands(self) -> dict[str, Command]:
        return {
            "run": lambda step: self._run(step, streams=False),
            "streamRun": lambda step: self._run(step, streams=True),
            "runContinue": lambda _: self._continue_from(streams=False),
            "streamContinue": lambda _: self._continue_from(streams=True),
            "steer": self.steer,
            "followUp": self.follow_up,
            "abort": self.abort,
        }

    async def _run(self, step: Step, streams: bool) -> Awaitable[Any]:
        await self._prepare(streams)
        return self._result(await self.session.prompt(*self.said(step)), streams)

    async def _continue_from(self, streams: bool) -> Awaitable[Any]:
        await self._prepare(streams)
        return self._continued(await self.session.continue_(), streams)

    async def _continued(self, run: AsyncRun, streams: bool) -> Any:
        messages = await self._messages(run, streams)
        self.caller.extend(messages)  # the peer's `continue` does so, and its `run` does not
        return shown.messages(messages)

    async def _result(self, run: AsyncRun, streams: bool) -> Any:
        return shown.messages(await self._messages(run, streams))

    async def _messages(self, run: AsyncRun, streams: bool) -> list[Message]:
        """Follow a run to its end; its new messages."""
        messages: list[Message] = []
        async for event in run:
            if streams:
                await self.listeners.hear(MAIN, event)
            if isinstance(event, refold.AgentEnd):
                messages = list(event.messages)
        return messages

    async def _prepare(self, streams: bool) -> None:
        if not self.session.is_busy:
            await self.session.replace_messages(self.caller)
        if streams:
            self.listeners.unsubscribe(MAIN)
        else:
            self.listeners.subscribe(self.session, MAIN)
