"""What became of a queued message."""

from __future__ import annotations

from typing import Literal

import msgspec

from refold.actors.past import Past
from refold.events.agent import facts, inputs
from refold.events.errors import InvalidArgumentError


class Fate(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a queued message, as the log says it.

    Attributes:
        status: it still waits; it went into the conversation; a caller took it back; its queue
            was emptied.
        version: of the event that decided it; of its own, while it waits.
        turn: the session's turn, from 1, in which it was delivered; 0 if it was not.
    """

    status: Literal["queued", "delivered", "cancelled", "cleared"]
    version: int
    turn: int = 0


def fate_of(past: Past, item: int) -> Fate:
    """The fate of the item with this id.

    Raises:
        InvalidArgumentError: no message was ever queued with it.
    """
    fate: Fate | None = None
    turns = 0
    for before, fact, state in past.steps():
        if isinstance(fact, facts.TurnStart):
            turns += 1
        if state.version == item and isinstance(fact, inputs.Queued):
            fate = Fate(status="queued", version=item)
        if fate is None:
            continue
        if isinstance(fact, facts.MessageEnd) and state.messages[-1].source == item:
            return Fate(status="delivered", version=state.version, turn=turns)
        if isinstance(fact, inputs.Cancelled) and fact.item == item:
            return Fate(status="cancelled", version=state.version)
        if isinstance(fact, inputs.Cleared) and item in fact.items:
            return Fate(status="cleared", version=state.version)
        if isinstance(fact, inputs.ResetRequested) and any(
            each.id == item for each in before.waiting
        ):
            return Fate(status="cleared", version=state.version)
    if fate is None:
        raise InvalidArgumentError(f"no message was ever queued with the id {item}")
    return fate
