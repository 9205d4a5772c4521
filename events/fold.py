"""Folding a stretch of a log into a state, and executing it again from its inputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from refold.events.behaviour import Behaviour
from refold.events.errors import RefoldError
from refold.events.fact import Fact, UnknownEvent

S = TypeVar("S")


def fold(behaviour: Behaviour[S], facts: Iterable[Fact], start: S | None = None) -> S:
    """The state after `facts`, from `start` (default: the initial state)."""
    state = behaviour.initial() if start is None else start
    evolve = behaviour.evolve
    for fact in facts:
        state = evolve(state, fact)
    return state


class Divergence(msgspec.Struct, frozen=True):
    """The first event that this release would not have written.

    Attributes:
        version: the event's version in its stream.
        recorded: what stands in the log.
        decided: what this release decides there; None if nothing.
        reason: why, in words.
    """

    version: int
    recorded: Fact
    decided: Fact | None
    reason: str


def reexecute(
    behaviour: Behaviour[S],
    facts: Iterable[Fact],
    start: S | None = None,
    version: int = 0,
) -> Divergence | None:
    """Run the recorded inputs through `decide` and `step` again; the first difference, or None.

    An input stands in the log at the version where it came, so all other events must be what the
    machine did by itself there. What this release does not know is passed over, unless it is
    critical.
    """
    state = behaviour.initial() if start is None else start
    decision: tuple[Fact, ...] = ()
    for fact in facts:
        version += 1
        if isinstance(fact, UnknownEvent):
            if fact.critical:
                reason = (
                    f"this release does not know the critical event {fact.type}, "
                    f"schema {fact.schema}"
                )
                return Divergence(version, fact, None, reason)
        elif decision:
            decided, decision = decision[0], decision[1:]
            if decided != fact:
                return Divergence(version, fact, decided, "the decision goes on differently")
        elif behaviour.is_input(fact):
            try:
                events = behaviour.decide(state, fact)
            except RefoldError as refusal:
                return Divergence(version, fact, None, f"the input is refused: {refusal}")
            if not events or events[0] != fact:
                return Divergence(
                    version, fact, events[0] if events else None, "the input is ignored"
                )
            decision = events[1:]
        else:
            stepped = behaviour.step(state)
            if stepped != fact:
                return Divergence(version, fact, stepped, "the machine steps differently")
        state = behaviour.evolve(state, fact)
    return None
