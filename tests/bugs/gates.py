"""The gates of a script: places where tools and replies wait until the timeline opens them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from refold import AbortSignal
from tests.support.gates import PATIENCE, Gate

LOOK = 0.02
"""Seconds between two looks at the signal while a thread waits."""


class Gates:
    """All gates of a script, by their names. A gate is opened for good."""

    def __init__(self) -> None:
        self._gates: dict[str, Gate] = {}
        self._all_open = False

    def open(self, name: Any = None) -> None:
        """Open a gate; without a name all of them."""
        self._all_open = self._all_open or name is None
        for gate in self._gates.values() if name is None else [self._gate(name)]:
            gate.open()

    def wait(self, name: Any, signal: AbortSignal) -> None:
        """Block the thread until the gate is open, or the signal is set."""
        gate = self._gate(name)
        while not (gate.wait(LOOK) or signal.aborted):
            pass

    async def passed(self, name: Any, signal: AbortSignal) -> None:
        """Suspend the coroutine until the gate is open, or the signal is set."""
        ways = [
            asyncio.create_task(self._gate(name).passed()),
            asyncio.create_task(signal.wait_async()),
        ]
        try:
            async with asyncio.timeout(PATIENCE):
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancelled(ways)

    def _gate(self, name: Any) -> Gate:
        gate = self._gates.setdefault(str(name), Gate())
        if self._all_open:
            gate.open()
        return gate


async def cancelled(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks, and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
