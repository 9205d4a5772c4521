"""Ctrl-C while a run is active."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

from refold.actors.cli.failures import ABORTED


class Interrupts:
    """The first Ctrl-C aborts the run, the second one leaves at once.

    The handler only starts a thread: it may stand between any two steps of this one, where waiting
    for the log, or writing to a stream that is just being written to, would block or fail.

    Args:
        tell: called on that thread before the abort.

    Attributes:
        count: how often Ctrl-C was pressed.
    """

    def __init__(self, tell: Callable[[], None]) -> None:
        self.count = 0
        self._tell = tell
        self._abort: Callable[[], None] | None = None
        self._begun = False
        self._lock = threading.Lock()
        self._before: Any = None

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def arm(self, abort: Callable[[], None]) -> None:
        """From now on there is a run; one that was to end before it began is ended now."""
        self._begun = False
        self._abort = abort
        if self.count:
            self._begin()

    def disarm(self) -> None:
        """The run is over."""
        self._abort = None

    def _on_signal(self, _: int, __: FrameType | None) -> None:
        self.count += 1
        if self.count > 1:
            os._exit(ABORTED)
        self._begin()

    def _begin(self) -> None:
        if self._abort is not None:
            threading.Thread(
                target=self._run, args=(self._abort,), name="refold-abort", daemon=True
            ).start()

    def _run(self, abort: Callable[[], None]) -> None:
        with self._lock:
            if self._begun:
                return
            self._begun = True
        self._tell()
        abort()
