"""Saying that a model is called again, which no lifecycle event tells."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Self

from refold.actors.cli.words import seconds
from refold.events.agent import bodies, facts, inputs
from refold.events.agent.agent import CODEC
from refold.events.errors import ClosedError
from refold.events.record import Recorded
from refold.store.log import Cursor, Log


class Retries:
    """Follows a session's log on a thread, until the log is closed.

    Args:
        tell: called with a line of text.
    """

    def __init__(self, log: Log, stream: bytes, tell: Callable[[str], None]) -> None:
        self._log = log
        self._stream = stream
        self._tell = tell
        self._failure = ""
        self._thread = threading.Thread(
            target=self._follow, args=(log.end(),), name="refold-retries", daemon=True
        )

    def start(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def _follow(self, cursor: Cursor) -> None:
        try:
            for _, records in self._log.follow(cursor):
                for recorded in records:
                    if recorded.stream == self._stream:
                        self._take(recorded)
        except (ClosedError, OSError):  # the run is over, or nobody can be told
            pass

    def _take(self, recorded: Recorded) -> None:
        fact, body = CODEC.decode(recorded.event), recorded.event.body
        if isinstance(fact, inputs.ModelFinished) and body:
            self._failure = bodies.end_of(body).error_message or ""
        elif isinstance(fact, inputs.ModelFailed) and body:
            self._failure = bodies.failure_of(body).message
        elif isinstance(fact, facts.RetryScheduled):
            self._tell(f"{self._failure} (trying again in {seconds(fact.delay)})")
