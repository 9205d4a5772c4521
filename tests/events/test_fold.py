"""Folding, and executing again: what is compared, and what is said of the first difference."""

from __future__ import annotations

import pytest

from refold.events.behaviour import Effect
from refold.events.codec import Codec
from refold.events.errors import InvalidArgumentError
from refold.events.fact import Fact, UnknownEvent
from refold.events.fold import Divergence, fold, reexecute


class Put(Fact):
    """An input: `twice` makes a decision of two facts."""

    number: int
    twice: bool = False


class Doubled(Fact):
    """What follows in the same decision."""

    number: int


class Carried(Fact):
    """What an adder does by itself when it is above nine."""


class Adder:
    """Adds; carries by itself; refuses what is below zero and ignores zero."""

    name = "adder"
    codec = Codec([Put, Doubled, Carried])

    def initial(self) -> int:
        return 0

    def is_input(self, fact: Fact) -> bool:
        return isinstance(fact, Put)

    def decide(self, state: int, offered: Fact) -> tuple[Fact, ...]:
        assert isinstance(offered, Put)
        if offered.number < 0:
            raise InvalidArgumentError("below zero")
        if offered.number == 0:
            return ()
        return (offered, Doubled(number=offered.number)) if offered.twice else (offered,)

    def step(self, state: int) -> Fact | None:
        return Carried() if state > 9 else None

    def evolve(self, state: int, fact: Fact) -> int:
        match fact:
            case Put():
                return state + fact.number
            case Doubled():
                return state * 2
            case Carried():
                return state - 10
        return state

    def effects(self, state: int, fact: Fact) -> tuple[Effect, ...]:
        return ()

    def outstanding(self, state: int) -> tuple[Effect, ...]:
        return ()

    def recovery(self, state: int) -> Fact | None:
        return None


ADDER = Adder()
SOUND = (Put(number=4, twice=True), Doubled(number=4), Put(number=3), Carried(), Put(number=5))


def test_a_fold_begins_at_the_initial_state() -> None:
    assert fold(ADDER, SOUND) == 6


def test_a_fold_of_nothing_is_where_it_began() -> None:
    assert fold(ADDER, ()) == 0
    assert fold(ADDER, (), start=7) == 7


def test_a_start_that_is_false_is_a_start() -> None:
    assert fold(ADDER, (Put(number=1),), start=0) == 1


def test_what_was_decided_the_same_has_no_difference() -> None:
    assert reexecute(ADDER, SOUND) is None


def test_an_execution_may_begin_in_the_middle() -> None:
    assert reexecute(ADDER, SOUND[3:], start=11, version=3) is None


@pytest.mark.parametrize(
    ("facts", "difference"),
    [
        (
            (Put(number=4), Carried()),
            Divergence(2, Carried(), None, "the machine steps differently"),
        ),
        (
            (Put(number=12), Doubled(number=12)),
            Divergence(2, Doubled(number=12), Carried(), "the machine steps differently"),
        ),
        (
            (Put(number=1, twice=True), Carried()),
            Divergence(2, Carried(), Doubled(number=1), "the decision goes on differently"),
        ),
        (
            (Put(number=1, twice=True), Doubled(number=2)),
            Divergence(2, Doubled(number=2), Doubled(number=1), "the decision goes on differently"),
        ),
        (
            (Put(number=1, twice=True), Put(number=1)),
            Divergence(2, Put(number=1), Doubled(number=1), "the decision goes on differently"),
        ),
        (
            (Put(number=0),),
            Divergence(1, Put(number=0), None, "the input is ignored"),
        ),
        (
            (Put(number=2), Put(number=-1)),
            Divergence(2, Put(number=-1), None, "the input is refused: below zero"),
        ),
    ],
    ids=["a step", "another step", "a decision", "a field", "an input", "ignored", "refused"],
)
def test_the_first_difference_is_told_with_both_sides(
    facts: tuple[Fact, ...], difference: Divergence
) -> None:
    assert reexecute(ADDER, facts) == difference


def test_the_version_of_a_difference_counts_from_where_it_began() -> None:
    different = reexecute(ADDER, (Put(number=1), Carried()), start=0, version=40)
    assert different is not None
    assert different.version == 42


def test_an_input_may_stand_where_the_machine_could_have_stepped() -> None:
    # It came before the step: the log says when.
    assert reexecute(ADDER, (Put(number=12), Put(number=1), Carried())) is None


def test_an_unknown_event_that_is_not_critical_is_passed_over() -> None:
    unknown = UnknownEvent(type="noted", schema=1, critical=False, skeleton=b"")
    assert reexecute(ADDER, (Put(number=12), unknown, Carried())) is None


def test_an_unknown_critical_event_is_where_an_execution_ends() -> None:
    unknown = UnknownEvent(type="moved", schema=2, critical=True, skeleton=b"")
    different = reexecute(ADDER, (Put(number=1), unknown, Put(number=1)))
    assert different == Divergence(
        2, unknown, None, "this release does not know the critical event moved, schema 2"
    )
