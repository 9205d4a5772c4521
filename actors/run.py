"""A run as its caller holds it: its lifecycle events, live, and its result."""

from __future__ import annotations

import asyncio
import queue
import weakref
from collections.abc import AsyncIterator, Iterator
from typing import Any

from refold.actors.hub import Hub, Published
from refold.events.agent import facts
from refold.events.agent.contents import Contents
from refold.events.agent.lifecycle import LifecycleEvent
from refold.events.agent.messages import AssistantMessage
from refold.events.agent.projection import project
from refold.events.agent.state import SessionState
from refold.events.errors import RefoldError


class Projector:
    """Makes lifecycle events of what is published, from the fact that began a run to its end.

    Attributes:
        number: of the run, once it has begun; over: True once the session has settled.
        result: the last assistant message of the run, None if it had none.
    """

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self.begun = 0
        self.number = 0
        self.over = False
        self.result: AssistantMessage | None = None

    def take(self, published: Published) -> Iterator[LifecycleEvent]:
        """The events of one append that belong to the run."""
        for index, fact in enumerate(published.facts):
            version = published.first + index
            if version < self.begun or self.over:
                continue
            before: SessionState = published.states[index]
            after: SessionState = published.states[index + 1]
            if version == self.begun:
                self.number = after.runs
            event = project(before, fact, after, self._contents)
            if event is not None:
                yield event
            if isinstance(fact, facts.Settled):
                self._settle(before)

    def skip(self, published: Published) -> None:
        """As `take`, for those who only wait for the end."""
        for index, fact in enumerate(published.facts):
            if isinstance(fact, facts.Settled) and published.first + index > self.begun:
                self._settle(published.states[index])
                return

    def _settle(self, state: SessionState) -> None:
        self.over = True
        for head in reversed(state.active.new):
            if head.role == "assistant":
                message = self._contents.message(head)
                assert isinstance(message, AssistantMessage)
                self.result = message
                return


class Run:
    """A run of a session. Iterate over it for its lifecycle events, live; they come once.

    Letting go of it changes nothing: the run goes on.
    """

    def __init__(self, hub: Hub, stream: bytes, contents: Contents) -> None:
        self._published: queue.SimpleQueue[Published | Exception] = queue.SimpleQueue()
        self._projector = Projector(contents)
        self._events = self._follow()
        self._forget = weakref.finalize(self, hub.watch(stream, self._published.put))

    def begin(self, version: int) -> None:
        """The run was accepted, at `version`."""
        self._projector.begun = version

    def forget(self) -> None:
        """It was not accepted, or nobody follows it any more."""
        self._forget()

    @property
    def number(self) -> int:
        """How many runs the session has had, this one included; 0 until its first event is read."""
        return self._projector.number

    def __iter__(self) -> Iterator[LifecycleEvent]:
        return self._events

    def result(self) -> AssistantMessage:
        """Wait for the end of the run; its last assistant message.

        A run that failed or was aborted has a result too: its `stop_reason` says so, and its
        `error_message` why.

        Raises:
            RefoldError: the log could not be written, or the runtime was closed.
        """
        while not self._projector.over:
            self._projector.skip(self._next())
        self._forget()
        return _result(self._projector)

    def _follow(self) -> Iterator[LifecycleEvent]:
        while not self._projector.over:
            yield from self._projector.take(self._next())
        self._forget()

    def _next(self) -> Published:
        item = self._published.get()
        if isinstance(item, Exception):
            self._published.put(item)  # for whoever asks next
            self._forget()
            raise item
        return item


class AsyncRun:
    """As `Run`, for coroutines: iterate with `async for`, and `await run.result()`."""

    def __init__(self, hub: Hub, stream: bytes, contents: Contents) -> None:
        loop = asyncio.get_running_loop()
        self._published: asyncio.Queue[Published | Exception] = asyncio.Queue()
        put = self._published.put_nowait
        self._projector = Projector(contents)
        self._events = self._follow()
        watching = hub.watch(stream, lambda item: _hand_over(loop, put, item))
        self._forget = weakref.finalize(self, watching)

    def begin(self, version: int) -> None:
        """The run was accepted, at `version`."""
        self._projector.begun = version

    def forget(self) -> None:
        """It was not accepted, or nobody follows it any more."""
        self._forget()

    @property
    def number(self) -> int:
        """How many runs the session has had, this one included; 0 until its first event is read."""
        return self._projector.number

    def __aiter__(self) -> AsyncIterator[LifecycleEvent]:
        return self._events

    async def result(self) -> AssistantMessage:
        """As `Run.result`."""
        while not self._projector.over:
            self._projector.skip(await self._next())
        self._forget()
        return _result(self._projector)

    async def _follow(self) -> AsyncIterator[LifecycleEvent]:
        while not self._projector.over:
            for event in self._projector.take(await self._next()):
                yield event
        self._forget()

    async def _next(self) -> Published:
        item = await self._published.get()
        if isinstance(item, Exception):
            self._published.put_nowait(item)  # for whoever asks next
            self._forget()
            raise item
        return item


def _hand_over(loop: asyncio.AbstractEventLoop, put: Any, item: Any) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(put, item)


def _result(projector: Projector) -> AssistantMessage:
    if projector.result is None:
        raise RefoldError("the run ended before a model answered: look with `refold log`")
    return projector.result
