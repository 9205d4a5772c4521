"""Keeping readers out of an environment for a moment.

A map may only be resized while no transaction of the process is open: a reader whose buffer lay in
the old map would be killed by SIGBUS. So who looks enters the `Gate`, who writes has the
`refold.store.slot.Slot`, and a resize, a reopening and a fork take the slot, shut the gate, and
wait until nobody is inside.
"""

from __future__ import annotations

from threading import Condition, Lock


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
