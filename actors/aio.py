"""The same for coroutines: `open_async` gives a runtime on the caller's event loop, where models
are called and async tools run.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import Any

from refold.actors.door import Prompt
from refold.actors.engine import DEFAULTS, Engine, Options
from refold.actors.point import Point
from refold.actors.providers.provider import Provider
from refold.actors.run import AsyncRun
from refold.actors.runtime import Durability, RuntimeCore, open_log
from refold.actors.session_core import SessionCore
from refold.actors.tool import Tool
from refold.actors.watch import AsyncWatch
from refold.events.agent import inputs
from refold.events.agent.inputs import QueueName
from refold.events.agent.messages import Image, Message, ThinkingLevel
from refold.events.agent.settings import IdleQueue, QueueMode, ToolExecution
from refold.events.errors import ClosedError
from refold.events.fact import Offer
from refold.store.log import Log


class AsyncSession(SessionCore):
    """As `Session`, for coroutines: what a method has returned from is in the log."""

    async def prompt(self, prompt: Prompt, images: Sequence[Image] = ()) -> AsyncRun:
        """As `Session.prompt`."""
        return await self._run(self._prompted(prompt, images))

    async def continue_(self) -> AsyncRun:
        """As `Session.continue_`."""
        return await self._run(Offer(inputs.Continued()))

    async def steer(
        self, prompt: Prompt, images: Sequence[Image] = (), *, now: bool = False
    ) -> int:
        """As `Session.steer`."""
        return await asyncio.wrap_future(self._queue("steering", prompt, images, now))

    async def follow_up(self, prompt: Prompt, images: Sequence[Image] = ()) -> int:
        """As `Session.follow_up`."""
        return await asyncio.wrap_future(self._queue("follow_up", prompt, images))

    async def next_turn(self, prompt: Prompt, images: Sequence[Image] = ()) -> int:
        """As `Session.next_turn`."""
        return await asyncio.wrap_future(self._queue("next_turn", prompt, images))

    async def cancel(self, item: int) -> None:
        """As `Session.cancel`."""
        await asyncio.wrap_future(self._offer(inputs.Cancelled(item=item)))

    async def clear(self, *queues: QueueName) -> tuple[int, ...]:
        """As `Session.clear`."""
        return self._cleared(await asyncio.wrap_future(self._clear(queues)))

    async def abort(self) -> None:
        """As `Session.abort`."""
        await asyncio.wrap_future(self._offer(inputs.AbortRequested()))

    async def set(
        self,
        *,
        model: str | None = None,
        thinking_level: ThinkingLevel | None = None,
        system_prompt: str | None = None,
        tools: Sequence[Tool] | None = None,
        **others: Any,
    ) -> None:
        """As `Session.set`."""
        given = {
            "model": model,
            "thinking_level": thinking_level,
            "system_prompt": system_prompt,
            "tools": tools,
        }
        await asyncio.wrap_future(self._settings({**given, **others}))

    async def replace_messages(self, messages: Sequence[Message]) -> None:
        """As `Session.replace_messages`."""
        await asyncio.wrap_future(self._replace(messages))

    async def reset(self) -> None:
        """As `Session.reset`."""
        await asyncio.wrap_future(self._offer(inputs.ResetRequested()))

    def watch(self, after: Point = 0) -> AsyncWatch:
        """As `Session.watch`."""
        contents = self._engine.contents(self.stream)
        version = self.past.resolve(after)
        return AsyncWatch(self._engine.hub, self.stream, self.past, contents, version)

    async def wait(self) -> None:
        """As `Session.wait`."""
        settled, end = self._settling()
        try:
            if self.is_busy:
                await asyncio.wrap_future(settled)
        finally:
            end()

    async def _run(self, offer: Offer) -> AsyncRun:
        run = AsyncRun(self._engine.hub, self.stream, self._engine.contents(self.stream))
        try:
            version = await asyncio.wrap_future(self._enter(offer))
        except BaseException:
            run.forget()
            raise
        if not version:
            raise ClosedError("the session does not take inputs any more")
        run.begin(version)
        return run


class AsyncRuntime(RuntimeCore):
    """As `Runtime`, for coroutines. Use it with `async with`, or `await close()`."""

    async def __aenter__(self) -> AsyncRuntime:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def session(
        self,
        name: str,
        *,
        model: str | None = None,
        tools: Sequence[Tool] | None = None,
        system_prompt: str | None = None,
        thinking_level: ThinkingLevel | None = None,
        hooks: Mapping[str, Any] | None = None,
        steering_mode: QueueMode | None = None,
        follow_up_mode: QueueMode | None = None,
        tool_execution: ToolExecution | None = None,
        idle_queue: IdleQueue | None = None,
        max_retries: int | None = None,
        retry_delay: int | None = None,
        queue_limit: int | None = None,
    ) -> AsyncSession:
        """As `Runtime.session`."""
        options = {
            "model": model,
            "tools": tools,
            "system_prompt": system_prompt,
            "thinking_level": thinking_level,
            "hooks": hooks,
            "steering_mode": steering_mode,
            "follow_up_mode": follow_up_mode,
            "tool_execution": tool_execution,
            "idle_queue": idle_queue,
            "max_retries": max_retries,
            "retry_delay": retry_delay,
            "queue_limit": queue_limit,
        }
        session, waits = self._open(AsyncSession, name, options)
        for wait in waits:
            await asyncio.wrap_future(wait)
        return session  # type: ignore[no-any-return]

    async def close(self) -> None:
        """As `Runtime.close`."""
        await asyncio.to_thread(self._engine.close)


async def open_async(
    path: str | os.PathLike[str] | Log | None,
    *,
    durability: Durability = "durable",
    providers: Sequence[Provider] = (),
    options: Options = DEFAULTS,
) -> AsyncRuntime:
    """As `open`, on the running event loop."""
    log = await asyncio.to_thread(open_log, path, durability)
    engine = Engine(
        log,
        providers=providers,
        event_loop=asyncio.get_running_loop(),
        options=options,
    )
    return AsyncRuntime(engine)
