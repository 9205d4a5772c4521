"""Runtimes for tests: in memory, one fact a piece, and with a limit to patience."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import refold
from refold import LifecycleEvent, Options, Runtime, Session
from refold.actors.engine import Engine
from refold.actors.providers.provider import Provider
from refold.store.log import Log
from tests.support.gates import PATIENCE


def opened(*models: Provider, log: Log | None = None, **options: Any) -> Runtime:
    """A runtime over a log in memory; each piece of a stream is a fact of its own."""
    given = {"delta_interval": 0, **options}
    return refold.open(log, providers=models, options=Options(**given))


def engine_of(runtime: Runtime) -> Engine:
    """What is behind a runtime."""
    return runtime._engine


def await_rest(session: Session) -> None:
    """Wait until the session has settled, at most as long as tests have patience."""
    within(session.wait)


def await_event(watch: Iterable[LifecycleEvent], kind: type[LifecycleEvent]) -> None:
    """Wait until a watch, or a run, shows an event of a kind."""
    within(lambda: next(event for event in watch if isinstance(event, kind)))


def within(work: Any, *args: Any) -> Any:
    """The result of some work on a thread of its own; a test that hangs in it fails."""
    with background(work, *args) as future:
        return future.result(PATIENCE)


@contextmanager
def background(work: Any, *args: Any) -> Iterator[Any]:
    """Do some work on a thread of its own meanwhile; gives its future."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="test")
    try:
        yield pool.submit(work, *args)
    finally:
        pool.shutdown(wait=False)


def threads() -> set[threading.Thread]:
    """The threads that are alive now."""
    return set(threading.enumerate())
