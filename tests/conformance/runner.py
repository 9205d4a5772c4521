"""Runs a scenario, and says whether what came of it is what was expected."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future

import msgspec

from tests.conformance import functions
from tests.conformance.agent import AgentDriver
from tests.conformance.comparing import first_difference
from tests.conformance.corpus import Scenario
from tests.conformance.loop import LoopDriver
from tests.conformance.observation import Observation

LIMIT = 10.0
"""Seconds that a scenario may take; all of them take a fraction of one."""

_DRIVERS = {"agent": AgentDriver, "loop": LoopDriver}


class Outcome(msgspec.Struct, frozen=True):
    """What came of a scenario. `reason` says why it failed; None if it passed."""

    name: str
    reason: str | None = None

    def __str__(self) -> str:
        return f"{self.name}: " + ("passed" if self.reason is None else f"failed: {self.reason}")


def run(scenario: Scenario, log: str | None = None, *, at: bool = True) -> Outcome:
    """Run a scenario, on a thread of its own: whatever hangs there, this comes back.

    Args:
        log: folder of a log on disk; None: one in memory.
        at: the order between the lists of an observation counts, too.
    """
    answer: Future[str | None] = Future()

    def play() -> None:
        try:
            answer.set_result(asyncio.run(_reason(scenario, log, at)))
        except BaseException as error:
            answer.set_result(f"the runner raised {error!r}")

    threading.Thread(target=play, name=f"scenario {scenario.name}", daemon=True).start()
    try:
        return Outcome(scenario.name, answer.result(2 * LIMIT))
    except TimeoutError:
        return Outcome(scenario.name, f"the runtime did not close within {LIMIT:g} s")


async def _reason(scenario: Scenario, log: str | None, at: bool) -> str | None:
    """Why a scenario failed, None if it did not."""
    given = scenario.given
    if given["driver"] == "functions" and {c["do"] for c in given["commands"]} <= functions.FUNCTIONS:
        return _difference(scenario, functions.play(given), at)
    if given["driver"] not in _DRIVERS:
        return f"driver {given['driver']} is not there yet"
    driver = _DRIVERS[given["driver"]](given)
    try:
        async with asyncio.timeout(LIMIT):
            await driver.play(log, "durable")
    except TimeoutError:
        return _hang(driver)
    except NotImplementedError as error:
        return str(error)
    if driver.divergence is not None:
        return f"its log does not re-execute: {driver.divergence}"
    if driver.audited:
        return f"effects are not those under way: {driver.audited[0]}"
    return _difference(scenario, driver.observation, at)


def _difference(scenario: Scenario, observation: Observation, at: bool) -> str | None:
    if observation.troubles:
        return observation.troubles[0]
    at = at and not scenario.given.get("noAt", False)
    found = first_difference(scenario.expect, observation.normal(), at=at)
    return None if found is None else str(found)


def _hang(driver: AgentDriver) -> str:
    events = driver.observation.events
    last = f", the last {events[-1]['type']}" if events else ""
    ops = ", ".join(driver.observation.unfinished()) or "none"
    waits = "; ".join(driver.steps.waits) or "nobody waits for a step"
    return (
        f"it was not over within {LIMIT:g} s: {len(events)} events came{last}; commands under way: "
        f"{ops}; {waits}"
    )
