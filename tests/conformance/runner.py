"""Runs a scenario, and says whether what came of it is what was expected."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future

from tests.conformance import functions
from tests.conformance.agent import AgentDriver
from tests.conformance.comparing import first_difference
from tests.conformance.corpus import Scenario
from tests.conformance.loop import LoopDriver
from tests.conformance.observation import Observation

LIMIT = 10.0
"""Seconds that a scenario may take; all of them take a fraction of one."""

_DRIVERS = {"agent": AgentDriver, "loop": LoopDriver}


def run(scenario: Scenario, log: str | None = None, *, at: bool = True) -> str | None:
    """Run a scenario; why it failed, None if it passed.

    It runs on a thread of its own, so that whatever hangs there, this comes back.

    Args:
        log: folder of a log on disk; None: one in memory.
        at: the order between the lists of an observation counts, too.
    """
    answer: Future[str | None] = Future()

    def play() -> None:
        try:
            answer.set_result(asyncio.run(_reason(scenario, log, at)))
        except BaseException as error:  # nothing may be lost on this thread
            answer.set_exception(error)

    threading.Thread(target=play, name=f"scenario {scenario.name}", daemon=True).start()
    try:
        return answer.result(2 * LIMIT)
    except Exception as error:
        if not answer.done():
            return f"the runtime did not close within {LIMIT:g} s"
        return f"the runner raised {error!r}"


async def _reason(scenario: Scenario, log: str | None, at: bool) -> str | None:
    given = scenario.given
    if given["driver"] == "functions":
        missing = {step["do"] for step in given["commands"]} - functions.FUNCTIONS
        if missing:
            return f"driver functions is not there yet for {', '.join(sorted(missing))}"
        return _difference(scenario, functions.play(given), at)
    if given["driver"] not in _DRIVERS:
        return f"driver {given['driver']} is not there yet"
    driver = _DRIVERS[given["driver"]](given)
    try:
        async with asyncio.timeout(LIMIT):
            await driver.play(log)
    except TimeoutError:
        return _hang(driver)
    except NotImplementedError as error:
        return str(error)
    if driver.divergence is not None:
        return f"its log does not re-execute: {driver.divergence}"
    if driver.audited:
        return f"what is under way is not what is owed: {driver.audited[0]}"
    return _difference(scenario, driver.observation, at)


def _difference(scenario: Scenario, observation: Observation, at: bool) -> str | None:
    if observation.troubles:
        return observation.troubles[0]
    at = at and not scenario.given.get("noAt", False)
    found = first_difference(scenario.expect, observation.normal(), at=at)
    return None if found is None else str(found)


def _hang(driver: AgentDriver) -> str:
    events = driver.observation.events
    told = [f"it was not over within {LIMIT:g} s", f"{len(events)} events came"]
    if events:
        told[-1] += f", the last was {events[-1]['type']}"
    if unfinished := driver.observation.unfinished():
        told.append(f"not ended: {', '.join(unfinished)}")
    told.extend(f"waiting: {wait}" for wait in driver.steps.waits)
    return "; ".join(told)
