"""Whose turn it is to write: one thread of a process at a time has a batch open."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Condition, Lock, Thread, current_thread
from time import monotonic

from refold.events.errors import BugError

PATIENCE = 0.5
"""Seconds between looks at whether the thread that is waited for still lives."""


class Slot:
    """The turn to write: first come, first served, so that a busy writer starves nobody.

    A thread that dies in its turn is noticed by those who wait.

    Args:
        bury: called under the slot's lock to end what the dead thread had begun.
    """

    def __init__(self, bury: Callable[[], None]) -> None:
        self._lock = Lock()
        self._passed = Condition(self._lock)
        self._owner: Thread | None = None
        self._queue: deque[Thread] = deque()
        self._bury = bury

    def take(self, timeout: float | None = None) -> bool:
        """Wait for the turn; False if `timeout` seconds were not enough.

        Raises:
            BugError: this thread has it already, and would wait for ever.
        """
        me = current_thread()
        with self._lock:
            if self._owner is None:
                self._owner = me
                return True
            if self._owner is me:
                raise BugError("a batch was begun inside another one of the same thread")
            self._queue.append(me)
            try:
                self._wait(me, None if timeout is None else monotonic() + timeout)
            except BaseException:
                if self._owner is me:
                    self._pass_on()
                raise
            finally:
                if self._owner is not me and me in self._queue:
                    self._queue.remove(me)
            return self._owner is me

    def mine(self) -> bool:
        """Whether it is this thread's turn."""
        return self._owner is current_thread()

    def has(self, thread: Thread) -> bool:
        """Whether it is the turn of `thread`."""
        return self._owner is thread

    def free(self) -> None:
        """Let the next one have it."""
        with self._lock:
            self._pass_on()

    def _wait(self, me: Thread, deadline: float | None) -> None:
        while self._owner is not me:
            if self._owner is not None and not self._owner.is_alive():
                self._bury()
                self._pass_on()
                continue
            left = PATIENCE if deadline is None else min(PATIENCE, deadline - monotonic())
            if left <= 0:
                return
            self._passed.wait(left)

    def _pass_on(self) -> None:
        if self._queue:
            self._owner = self._queue.popleft()
            self._passed.notify_all()
        else:
            self._owner = None
