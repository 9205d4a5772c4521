"""Waiting that ends when the run is aborted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

from refold.actors.signal import AbortSignal

T = TypeVar("T")


class AbortedError(Exception):
    """The signal was set while a provider waited for something. Never leaves the providers."""


async def unless_aborted(signal: AbortSignal, awaitable: Awaitable[T]) -> T:
    """Await something; when the signal is set, cancel it and wait until it has ended.

    Only what is awaited here is ever cancelled, never what the caller does between two such
    waits: a generator that used one cancel scope for all its life would cut into the code of
    whoever consumes it.

    Raises:
        AbortedError: the signal was set first.
    """
    loop = asyncio.get_running_loop()
    scope = asyncio.timeout(None)
    waiting = True

    def cut() -> None:
        if waiting:
            scope.reschedule(loop.time())

    def on_abort() -> None:
        # The loop may be closed by now: then nobody waits here, and the setter must not hear of it.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(cut)

    try:
        async with scope:
            forget = signal.on_abort(on_abort)
            try:
                return await awaitable
            finally:
                waiting = False
                forget()
    except TimeoutError:
        if scope.expired():
            raise AbortedError from None
        raise
