"""The abort signals of the runs that are active."""

from __future__ import annotations

import threading

from refold.actors.signal import AbortSignal


class Signals:
    """One signal a run; a session's next run has a new one. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._signals: dict[bytes, tuple[int, AbortSignal]] = {}

    def of(self, stream: bytes, run: int, aborted: bool = False) -> AbortSignal:
        """The signal of a session's run; `aborted` if its state says that it is set."""
        with self._lock:
            known = self._signals.get(stream)
            if known is None or known[0] < run:
                known = (run, AbortSignal())
                self._signals[stream] = known
        if aborted:
            known[1].set()
        return known[1]

    def abort(self, stream: bytes, run: int) -> None:
        """Set the signal of a run."""
        self.of(stream, run).set()
