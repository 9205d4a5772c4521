"""What holds for every test: sessions are sound, and the laws are tried without a clock."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.support.soundness import Soundness

# No deadline: how long an example takes says how busy the machine is. Where tests must not depend
# on chance, the examples are the same each time; elsewhere new ones are looked for, and one that
# fails is printed in a form that makes it fail again.
settings.register_profile("explore", deadline=None, print_blob=True)
settings.register_profile("repeat", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("repeat" if os.environ.get("CI") else "explore")


@pytest.fixture(autouse=True)
def soundness() -> Iterator[Soundness]:
    """Every session of every test is executed again, and its audit is listened to."""
    soundness = Soundness()
    with soundness.watching():
        yield soundness
    if soundness.differences:
        pytest.fail("\n".join(soundness.differences), pytrace=False)
