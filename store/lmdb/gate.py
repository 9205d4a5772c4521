"""Who may have a transaction: many readers at a time, one writer, or somebody who is alone.

A map may only be resized while no transaction of the process is open: a reader whose buffer lay in
the old map would be killed by SIGBUS. So who looks enters the `Gate`, who writes has the `Slot`,
and a resize, a reopening and a fork take the slot, shut the gate, and wait until nobody is inside.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition, Lock, Thread, current_thread
from time import monotonic

from refold.events.errors import BugError

PATIENCE = 0.5
"""Seconds between looks at whether the thread that is waited for still lives."""


class Gate:
    """Lets in any number of readers, unless it is shut."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._moved = Condition(self._lock)
        self._inside = 0
        self._shut = False

    def enter(self) -> None:
        """Become a reader; waits while the gate is shut."""
        with self._lock:
            while self._shut:
                self._moved.wait()
            self._inside += 1

    def leave(self) -> None:
        """Stop being a reader."""
        with self._lock:
            self._inside -= 1
            if self._shut:
                self._moved.notify_all()

    def shut(self) -> None:
        """Keep readers out, and wait for those that are inside."""
        with self._lock:
            self._shut = True
            while self._inside:
                self._moved.wait()

    def open(self) -> None:
        """Let readers in again."""
        with self._lock:
            self._shut = False
            self._moved.notify_all()


class Slot:
    """The turn to write. A thread that dies with it is noticed by who waits for it.

    Args:
        bury: called under the slot's lock to end what the dead thread had begun.
    """

    def __init__(self, bury: Callable[[], None]) -> None:
        self._lock = Lock()
        self._freed = Condition(self._lock)
        self._owner: Thread | None = None
        self._waiting = 0
        self._bury = bury

    def take(self, timeout: float | None = None) -> bool:
        """Wait for the turn; False if `timeout` seconds were not enough.

        Raises:
            BugError: this thread has it already, and would wait for ever.
        """
        me = current_thread()
        with self._lock:
            if self._owner is not None:
                if self._owner is me:
                    raise BugError("a batch was begun inside another one of the same thread")
                if not self._wait(timeout):
                    return False
            self._owner = me
            return True

    def mine(self) -> bool:
        """Whether it is this thread's turn."""
        return self._owner is current_thread()

    def has(self, thread: Thread) -> bool:
        """Whether it is the turn of `thread`."""
        return self._owner is thread

    def free(self) -> None:
        """Let the next one have it."""
        with self._lock:
            self._owner = None
            if self._waiting:
                self._freed.notify()

    def _wait(self, timeout: float | None) -> bool:
        end = None if timeout is None else monotonic() + timeout
        self._waiting += 1
        try:
            while (owner := self._owner) is not None:
                if not owner.is_alive():
                    self._bury()
                    return True
                left = PATIENCE if end is None else min(PATIENCE, end - monotonic())
                if left <= 0:
                    return False
                self._freed.wait(left)
            return True
        finally:
            self._waiting -= 1
