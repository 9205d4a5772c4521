"""Watching a session: from a point of its past, and then live, without a gap or a double.

A watcher never slows the session. One that falls too far behind is cut off, and told from where
to go on.
"""

from __future__ import annotations

import asyncio
import queue
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from refold.actors.hub import Hub, Published
from refold.actors.past import Past
from refold.events.agent.contents import Contents
from refold.events.agent.lifecycle import LifecycleEvent
from refold.events.agent.projection import project
from refold.events.agent.state import SessionState
from refold.events.errors import ClosedError, LaggedError

MOST_BEHIND = 10_000
"""Appends that may wait for a watcher before it is cut off."""

Item = Published | Exception


class _Intake:
    """Counts what waits for a watcher: what came on the Journal's thread, less what was taken by
    the watcher. Each of the two writes one number only, so no lock is needed.
    """

    def __init__(self, put: Callable[[Item], object], limit: int) -> None:
        self._put = put
        self._limit = limit
        self._cut_off = False
        self._came = 0
        self.taken = 0

    def take(self, item: Item) -> None:
        if self._cut_off:
            return
        self._came += 1
        if self._came - self.taken > self._limit:
            self._cut_off = True
            item = LaggedError("", 0)
        self._put(item)


class _Replay:
    """Makes lifecycle events of a past and of what is published behind it."""

    def __init__(self, past: Past, contents: Contents, after: int) -> None:
        self._past = past
        self._contents = contents
        self._after = after
        self._version = 0

    def past(self) -> Iterator[LifecycleEvent]:
        for before, fact, state in self._past.steps(self._past.version):
            yield from self._seen(before, fact, state)

    def live(self, item: Item) -> Iterator[LifecycleEvent]:
        if isinstance(item, LaggedError):
            raise LaggedError(
                f"this watcher is more than {MOST_BEHIND} appends behind, and was cut off: go on "
                f"with watch(after={self._version})",
                self._version,
            )
        if isinstance(item, Exception):
            raise item
        for index, fact in enumerate(item.facts):
            if item.first + index > self._version:
                yield from self._seen(item.states[index], fact, item.states[index + 1])

    def _seen(
        self, before: SessionState, fact: Any, state: SessionState
    ) -> Iterator[LifecycleEvent]:
        self._version = state.version
        if state.version > self._after:
            event = project(before, fact, state, self._contents)
            if event is not None:
                yield event


class Watch:
    """Iterate over it for lifecycle events; it ends when the runtime is closed, or `close`.

    Raises (while iterating):
        LaggedError: it fell behind; its `version` says from where to go on.
    """

    def __init__(self, hub: Hub, stream: bytes, past: Past, contents: Contents, after: int) -> None:
        self._items: queue.SimpleQueue[Item] = queue.SimpleQueue()
        self._intake = _Intake(self._items.put, MOST_BEHIND)
        self._end = weakref.finalize(self, hub.watch(stream, self._intake.take))
        self._events = self._follow(_Replay(past, contents, after))

    def __iter__(self) -> Iterator[LifecycleEvent]:
        return self._events

    def close(self) -> None:
        """Watch no longer; an iteration that waits on another thread ends."""
        self._end()
        self._items.put(ClosedError("the watch was closed"))

    def _follow(self, replay: _Replay) -> Iterator[LifecycleEvent]:
        yield from replay.past()
        while True:
            item = self._items.get()
            self._intake.taken += 1
            if isinstance(item, ClosedError):
                self._end()
                return
            yield from replay.live(item)


class AsyncWatch:
    """As `Watch`, for `async for`."""

    def __init__(self, hub: Hub, stream: bytes, past: Past, contents: Contents, after: int) -> None:
        loop = asyncio.get_running_loop()
        self._items: asyncio.Queue[Item] = asyncio.Queue()
        put = self._items.put_nowait

        def hand_over(item: Item) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(put, item)

        self._intake = _Intake(hand_over, MOST_BEHIND)
        self._end = weakref.finalize(self, hub.watch(stream, self._intake.take))
        self._events = self._follow(_Replay(past, contents, after))

    def __aiter__(self) -> AsyncIterator[LifecycleEvent]:
        return self._events

    def close(self) -> None:
        """As `Watch.close`."""
        self._end()
        self._items.put_nowait(ClosedError("the watch was closed"))

    async def _follow(self, replay: _Replay) -> AsyncIterator[LifecycleEvent]:
        for event in replay.past():
            yield event
        while True:
            item = await self._items.get()
            self._intake.taken += 1
            if isinstance(item, ClosedError):
                self._end()
                return
            for event in replay.live(item):
                yield event
