"""The abort signal: one for each run, from the session down to the HTTP request and the tools."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable


class AbortSignal:
    """Set once, seen by all: threads wait for it, coroutines await it, callbacks hear of it."""

    __slots__ = ("_callbacks", "_event", "_lock")

    def __init__(self, aborted: bool = False) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], object]] = []
        if aborted:
            self._event.set()

    @property
    def aborted(self) -> bool:
        """True once the run is to end."""
        return self._event.is_set()

    def set(self) -> None:
        """Set it, and call back whoever asked for that. Setting it again does nothing."""
        with self._lock:
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def wait(self, timeout: float | None = None) -> bool:
        """Block the thread until it is set, at most `timeout` seconds; True if it is."""
        return self._event.wait(timeout)

    def on_abort(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Have `callback` called when it is set (at once if it is); returns how to take it back.

        It runs on the thread that sets the signal, so it must be quick and must not raise.
        """
        with self._lock:
            if not self._event.is_set():
                self._callbacks.append(callback)
                return lambda: self._forget(callback)
        callback()
        return lambda: None

    def linked(self) -> tuple[AbortSignal, Callable[[], None]]:
        """A signal that is set when this one is, and that can be set alone; and how to end that."""
        signal = AbortSignal()
        return signal, self.on_abort(signal.set)

    async def wait_async(self) -> None:
        """Suspend the coroutine until it is set."""
        loop = asyncio.get_running_loop()
        done = asyncio.Event()
        forget = self.on_abort(lambda: loop.call_soon_threadsafe(done.set))
        try:
            await done.wait()
        finally:
            forget()

    def _forget(self, callback: Callable[[], object]) -> None:
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)
