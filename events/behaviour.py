"""A behaviour: what an event-sourced actor is, as five pure functions and an initial state.

The agent is one behaviour; the actors and the store know nothing of agents. Any object with these
members can be hosted, and gets the log, time travel and crash safety for nothing.
"""

from __future__ import annotations

from typing import ClassVar, Protocol, TypeVar

import msgspec

from refold.events.codec import Codec
from refold.events.fact import Fact

S = TypeVar("S")


class Effect(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Something wanted from outside, started once the event that asked for it is durable.

    Attributes:
        key: names this effect within its stream; its outcome carries the same key.
        AWAITED: False for effects that have no outcome, such as setting a signal.
    """

    AWAITED: ClassVar[bool] = True

    key: str


class Discard(Effect, frozen=True, kw_only=True):
    """Nothing that was started for this stream matters any more: stop what can be stopped."""

    AWAITED: ClassVar[bool] = False

    key: str = "discard"


class Behaviour(Protocol[S]):
    """The functions of an event-sourced machine. All are pure: no clock, no ids, no I/O."""

    @property
    def name(self) -> str:
        """The word under which streams of this behaviour are kept, such as `agent`."""
        ...

    @property
    def codec(self) -> Codec:
        """How this behaviour's facts are written and read."""
        ...

    def initial(self) -> S:
        """The state of a stream with no events."""
        ...

    def is_input(self, fact: Fact) -> bool:
        """True for facts that came from outside, and so begin a decision."""
        ...

    def decide(self, state: S, offered: Fact) -> tuple[Fact, ...]:
        """What accepting `offered` makes happen: `offered` first, or nothing if it came too late.

        Raises:
            RefoldError: the input is refused; nothing is written.
        """
        ...

    def step(self, state: S) -> Fact | None:
        """What the machine does next by itself; None when it waits for the outside."""
        ...

    def evolve(self, state: S, fact: Fact) -> S:
        """The state after `fact`. Never refuses, never looks outside."""
        ...

    def effects(self, state: S, fact: Fact) -> tuple[Effect, ...]:
        """What to start once `fact` is durable, given the state right after it."""
        ...

    def outstanding(self, state: S) -> tuple[Effect, ...]:
        """What the outside still owes at `state`: what a restart must start again."""
        ...

    def recovery(self, state: S) -> Fact | None:
        """The input that tells the machine, at `state`, that a new process drives it; None if it
        need not know.
        """
        ...
