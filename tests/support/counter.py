"""A behaviour of ten lines: what actors and store can do for it, they can do for any."""

from __future__ import annotations

from refold.events.behaviour import Effect
from refold.events.codec import Codec
from refold.events.errors import InvalidArgumentError
from refold.events.fact import Fact


class Added(Fact):
    """An input."""

    number: int


class Rounded(Fact):
    """What a counter does by itself when it is no multiple of ten for too long."""


class Woken(Fact):
    """A new process counts on."""


class Counter:
    """Adds numbers; from ten on it rounds down to tens. Refuses what is below zero."""

    name = "counter"
    codec = Codec([Added, Rounded, Woken])

    def initial(self) -> int:
        """Nothing counted."""
        return 0

    def is_input(self, fact: Fact) -> bool:
        """Rounding happens by itself."""
        return not isinstance(fact, Rounded)

    def decide(self, state: int, offered: Fact) -> tuple[Fact, ...]:
        """A number below zero is refused, and zero needs no fact."""
        if isinstance(offered, Added) and offered.number < 0:
            raise InvalidArgumentError(f"{offered.number} is below zero")
        return () if offered == Added(number=0) else (offered,)

    def step(self, state: int) -> Fact | None:
        """Round."""
        return Rounded() if state > 10 and state % 10 else None

    def evolve(self, state: int, fact: Fact) -> int:
        """Count."""
        if isinstance(fact, Added):
            return state + fact.number
        return state // 10 * 10 if isinstance(fact, Rounded) else state

    def effects(self, state: int, fact: Fact) -> tuple[Effect, ...]:
        """It wants nothing from outside."""
        return ()

    def outstanding(self, state: int) -> tuple[Effect, ...]:
        """It waits for nothing."""
        return ()

    def recovery(self, state: int) -> Fact | None:
        """A counter that has counted says that it goes on."""
        return Woken() if state else None


COUNTER = Counter()
