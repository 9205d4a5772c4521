"""Callers that wait for an actor's answer, by the token that stands for them in messages."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from itertools import count


class Waiters:
    """Thread-safe: callers begin to wait on any thread, an actor answers on its own."""

    def __init__(self) -> None:
        self._tokens = count(1)
        self._lock = threading.Lock()
        self._futures: dict[int, Future[int]] = {}
        self._closed = False
        self._error: BaseException | None = None

    def wait(self) -> tuple[int, Future[int]]:
        """A new token, and the future that its answer goes to."""
        future: Future[int] = Future()
        with self._lock:
            token = next(self._tokens)
            self._futures[token] = future
        if self._closed:
            self._let_go(token)
        return token, future

    def resolve(self, token: int, version: int) -> None:
        """It is accepted, at this version."""
        future = self._take(token)
        if future is not None and future.set_running_or_notify_cancel():
            future.set_result(version)

    def refuse(self, token: int, error: BaseException) -> None:
        """It is refused."""
        future = self._take(token)
        if future is not None and future.set_running_or_notify_cancel():
            future.set_exception(error)

    def refuse_all(self, error: BaseException) -> None:
        """Nobody will answer those who wait now."""
        with self._lock:
            tokens = list(self._futures)
        for token in tokens:
            self.refuse(token, error)

    def close(self, error: BaseException | None = None) -> None:
        """Nobody will answer any more, also not those who begin to wait from now on: they are
        refused with the error, or without one let go as if what they wanted came too late.
        """
        self._error, self._closed = error, True
        with self._lock:
            tokens = list(self._futures)
        for token in tokens:
            self._let_go(token)

    def _let_go(self, token: int) -> None:
        if self._error is None:
            self.resolve(token, 0)
        else:
            self.refuse(token, self._error)

    def _take(self, token: int) -> Future[int] | None:
        with self._lock:
            return self._futures.pop(token, None)
