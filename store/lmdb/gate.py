"""Who may be inside an environment: many users at a time, or one alone.

A map may only be resized while no transaction of the process is open: a reader whose buffer lay in
the old map would be killed by SIGBUS. So whoever works with a transaction enters the gate, and a
resize, a reopening and a fork shut it and wait until nobody is inside.
"""

from __future__ import annotations

from threading import Condition, Lock, Thread, current_thread
from time import monotonic

from refold.events.errors import BugError


class Gate:
    """A lock for many users or one, re-entrant for users."""

    def __init__(self) -> None:
        self._moved = Condition(Lock())
        self._inside: dict[Thread, int] = {}
        self._shut = False

    def enter(self) -> None:
        """Become a user; waits while the gate is shut, unless this thread is inside already."""
        me = current_thread()
        with self._moved:
            inside = self._inside.get(me)
            if inside is None:
                while self._shut:
                    self._moved.wait()
                inside = 0
            self._inside[me] = inside + 1

    def leave(self, thread: Thread | None = None) -> None:
        """Stop being a user; `thread` is who entered, if another one tidies up for it."""
        me = thread or current_thread()
        with self._moved:
            inside = self._inside.get(me, 0)
            if inside > 1:
                self._inside[me] = inside - 1
            else:
                self._inside.pop(me, None)
                if self._shut:
                    self._moved.notify_all()

    def holds(self) -> bool:
        """Whether this thread is inside."""
        return current_thread() in self._inside

    def shut(self, timeout: float) -> bool:
        """Keep everybody out and wait until nobody is inside; False if that took too long.

        Args:
            timeout: in seconds.
        """
        deadline = monotonic() + timeout
        with self._moved:
            if self.holds():
                raise BugError("an environment was to be resized from within a transaction")
            while self._shut:
                if not self._moved.wait(deadline - monotonic()):
                    return False
            self._shut = True
            while self._inside:
                if not self._moved.wait(deadline - monotonic()):
                    self._shut = False
                    self._moved.notify_all()
                    return False
            return True

    def open(self) -> None:
        """Let users in again."""
        with self._moved:
            self._shut = False
            self._moved.notify_all()
