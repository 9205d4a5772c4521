"""Places where a test holds something up: no test ever sleeps."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from typing import Any

PATIENCE = 20.0
"""Seconds after which a wait that should have been short fails its test."""


class Gate:
    """Whoever comes here waits until it is opened, and the test can wait until somebody came.

    It has the `wait` of a `threading.Event`, so that it can be a gate of a scripted reply.
    """

    def __init__(self) -> None:
        self._reached = threading.Event()
        self._opened: Future[None] = Future()
        self._lock = threading.Lock()

    def open(self) -> None:
        """Let everybody pass, now and later."""
        with self._lock:
            if not self._opened.done():
                self._opened.set_result(None)

    def wait(self, timeout: float = PATIENCE) -> bool:
        """Wait on a thread until it is open; False if that took longer than `timeout` seconds."""
        self._reached.set()
        try:
            self._opened.result(timeout)
        except TimeoutError:
            return False
        return True

    async def passed(self) -> None:
        """Wait as a coroutine until it is open."""
        self._reached.set()
        await asyncio.shield(asyncio.wrap_future(self._opened))

    @property
    def was_reached(self) -> bool:
        """True if somebody came here."""
        return self._reached.is_set()

    def await_arrival(self) -> None:
        """Wait until somebody has come here."""
        assert self._reached.wait(PATIENCE), "nobody came to the gate"


class Turnstile:
    """Several arrive, and the test waits until a number of them is there.

    Attributes:
        count: how many have arrived.
    """

    def __init__(self) -> None:
        self.count = 0
        self._changed = threading.Condition()

    def arrive(self, *_: Any) -> None:
        """One more is there."""
        with self._changed:
            self.count += 1
            self._changed.notify_all()

    def await_count(self, count: int) -> None:
        """Wait until `count` have arrived."""
        with self._changed:
            came = self._changed.wait_for(lambda: self.count >= count, PATIENCE)
            assert came, f"{self.count} of {count} arrived"
