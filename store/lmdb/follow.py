"""Waiting for commits of any process: LMDB tells nobody, so its last transaction is looked at."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from refold.store.lmdb.environment import Environment

SHORTEST, LONGEST, SLOWER = 0.005, 0.05, 1.5
"""Seconds between two looks, right after something came and when nothing comes for long."""


def wait_for_commit(
    environment: Environment, tick: int, deadline: float | None, check_open: Callable[[], None]
) -> bool:
    """Wait until the environment's tick is not `tick`; False at the deadline (`time.monotonic`).

    Commits of this process wake it at once.
    """
    pause = SHORTEST
    changed = environment.changed
    with changed:
        # Before the first look at the tick: a commit after that look sees that somebody waits.
        environment.watchers += 1
        try:
            while True:
                check_open()
                if environment.tick() != tick:
                    return True
                left = pause if deadline is None else min(pause, deadline - monotonic())
                if left <= 0:
                    return False
                changed.wait(left)
                pause = min(pause * SLOWER, LONGEST)
        finally:
            environment.watchers -= 1
