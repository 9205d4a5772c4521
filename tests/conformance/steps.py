"""Steps: what a scenario has done in its script, in tools, hooks, listeners and model pauses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec

from refold import AbortSignal
from tests.conformance.heard import Heard
from tests.conformance.observation import Observation
from tests.conformance.values import ABSENT, tool_result

Step = dict[str, Any]


class Thrown(Exception):
    """What a scenario has raised; its text is the scenario's."""


class Place(msgspec.Struct):
    """Where steps are done, and what is at hand there.

    Attributes:
        where: as the corpus names it; empty for the script.
        arguments: the arguments object that was handed in.
        update: reports a partial result.
        signal: the run's abort signal.
    """

    where: str = ""
    arguments: dict[str, Any] | None = None
    update: Callable[[Any], Awaitable[None]] | None = None
    signal: AbortSignal | None = None


class Perform(Protocol):
    """Performs a command; `started` is set once it is under way."""

    async def __call__(self, step: Step, where: str, started: asyncio.Event) -> None: ...


class Steps:
    """Does steps.

    Args:
        perform: performs a command, and notes what comes of it.
    """

    def __init__(self, perform: Perform, heard: Heard, observation: Observation) -> None:
        self._perform = perform
        self._heard = heard
        self._observation = observation
        self._begun: list[asyncio.Task[None]] = []
        self._named: dict[str, asyncio.Task[None]] = {}
        self.waits: list[str] = []

    async def do(self, steps: list[Step], place: Place) -> Any:
        """Do them, one after another; the value that one of them returns, else `ABSENT`."""
        for step in steps:
            if "return" in step:
                return step["return"]
            await self._do(step, place)
        return ABSENT

    async def all_ended(self) -> None:
        """Wait until everything that was begun has ended."""
        for task in self._begun:
            await task

    async def _do(self, step: Step, place: Place) -> None:
        match step:
            case {"do": _}:
                await self._command(step, place.where)
            case {"throw": text}:
                raise Thrown(text)
            case {"update": partial} if place.update is not None:
                await place.update(tool_result(partial))
            case {"setArg": changes} if place.arguments is not None:
                place.arguments.update(changes)
            case {"waitEvent": pattern}:
                await self._wait(self._heard.wait(pattern), place, step)
            case {"waitAbort": True} if place.signal is not None:
                await self._wait(place.signal.wait_async(), place, step)
            case {"join": name}:
                await self._wait(asyncio.shield(self._named[name]), place, step)
            case _:
                raise self._observation.trouble(
                    f"the step {step} in {place.where or 'the script'} is not there yet"
                )

    async def _command(self, step: Step, where: str) -> None:
        started = asyncio.Event()
        if step.get("await", True):
            await self._perform(step, where, started)
            return
        task = asyncio.get_running_loop().create_task(self._perform(step, where, started))
        self._begun.append(task)
        if "as" in step:
            self._named[step["as"]] = task
        await started.wait()

    async def _wait(self, awaited: Awaitable[Any], place: Place, step: Step) -> None:
        told = f"{place.where or 'the script'} for {step}"
        self.waits.append(told)
        await awaited
        self.waits.remove(told)
