"""Who watches which stream. Published to by the Journal; a watcher never slows it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from refold.events.fact import Fact


class Published(msgspec.Struct, frozen=True, gc=False):
    """One durable append, as watchers get it.

    Attributes:
        first: version of its first event.
        time: ms since 1970 (UTC).
        states: `states[i]` is the state before `facts[i]`; one more than there are facts.
    """

    stream: bytes
    first: int
    time: int
    facts: tuple[Fact, ...]
    states: tuple[Any, ...]


Watcher = Callable[[Published | Exception], object]
"""Gets every append of a stream in order; or the error that stopped the stream."""


class Hub:
    """The watchers of all streams. Safe from any thread, and from finalizers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._leaving: deque[tuple[bytes, Watcher]] = deque()
        self._watchers: dict[bytes, tuple[Watcher, ...]] = {}
        self._latest: dict[bytes, Any] = {}

    def know(self, stream: bytes, state: Any) -> None:
        """This is the committed state of a hosted stream."""
        self._latest[stream] = state

    def unknow(self, stream: bytes) -> None:
        """The stream is not hosted any more."""
        self._latest.pop(stream, None)

    def known(self) -> tuple[bytes, ...]:
        """All streams that are hosted."""
        return tuple(self._latest)

    def latest(self, stream: bytes) -> Any:
        """The committed state of a stream, or None if it is not hosted."""
        return self._latest.get(stream)

    def watch(self, stream: bytes, watcher: Watcher) -> Callable[[], None]:
        """Have `watcher` called for every append from now on; returns how to end that.

        It is called on the Journal's thread, so it must only put things away, and not raise.
        """
        with self._lock:
            self._watchers[stream] = (*self._watchers.get(stream, ()), watcher)
        self._let_go()
        return lambda: self._forget(stream, watcher)

    def publish(self, stream: bytes, published: Published | Exception) -> None:
        """Give it to all watchers of the stream."""
        for watcher in self._watchers.get(stream, ()):
            watcher(published)

    def fail_all(self, error: Exception) -> None:
        """Tell all watchers that nothing will come any more."""
        for stream in list(self._watchers):
            self.publish(stream, error)

    def _forget(self, stream: bytes, watcher: Watcher) -> None:
        self._leaving.append((stream, watcher))
        self._let_go()

    def _let_go(self) -> None:
        # A finalizer runs anywhere, also in the middle of a method of this hub: it must not wait
        # for the lock. Whoever holds the lock looks here again when it is free.
        while self._leaving and self._lock.acquire(blocking=False):
            try:
                while self._leaving:
                    self._remove(*self._leaving.popleft())
            finally:
                self._lock.release()

    def _remove(self, stream: bytes, watcher: Watcher) -> None:
        left = tuple(each for each in self._watchers.get(stream, ()) if each is not watcher)
        if left:
            self._watchers[stream] = left
        else:
            self._watchers.pop(stream, None)
