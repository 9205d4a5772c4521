"""A program against the async API."""

from typing import assert_type

import refold
from refold import (
    AssistantMessage,
    AsyncRun,
    AsyncRuntime,
    AsyncSession,
    LifecycleEvent,
    ToolContext,
)


@refold.tool
async def fetch(context: ToolContext, url: str) -> str:
    """Fetch a page."""
    await context.update("fetching")
    return url


async def main() -> None:
    """Use it."""
    async with await refold.open_async(None) as runtime:
        assert_type(runtime, AsyncRuntime)
        session = await runtime.session("pages", model="local", tools=[fetch])
        assert_type(session, AsyncSession)
        run = await session.prompt("Fetch it.")
        assert_type(run, AsyncRun)
        async for event in run:
            assert_type(event, LifecycleEvent)
        assert_type(await run.result(), AssistantMessage)
        assert_type(await session.steer("Stop", now=True), int)
        async for seen in session.watch(after=0):
            assert_type(seen, LifecycleEvent)
