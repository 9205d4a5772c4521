"""The check at the edge: what cannot be read back is never written.

Python does not hold a struct to its types, so a program can hand in a message whose time is a
word. It would pass here and make the session unreadable; so each input is encoded and decoded once
before anybody accepts it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from refold.events.agent import bodies, inputs
from refold.events.agent.agent import CODEC
from refold.events.errors import InvalidArgumentError, RefoldError
from refold.events.fact import Fact, Offer

_KNOWN = frozenset(CODEC.facts)
_READERS: dict[type[Fact], Callable[[bytes], Any]] = {
    inputs.Prompted: bodies.messages_of,
    inputs.Queued: bodies.messages_of,
    inputs.HistoryReplaced: bodies.messages_of,
    inputs.ModelDelta: bodies.pieces_of,
    inputs.ModelFinished: bodies.end_of,
    inputs.ModelFailed: bodies.failure_of,
    inputs.ToolProgressed: bodies.result_of,
    inputs.ToolReturned: bodies.result_of,
    inputs.ToolFailed: bodies.result_of,
    inputs.ToolReturnedLate: bodies.result_of,
}


def sound(offer: Offer) -> Offer:
    """The same input, which can be read back.

    Raises:
        InvalidArgumentError: it cannot; the message says which value, and why.
    """
    kind = type(offer.fact)
    if kind not in _KNOWN:
        return offer  # of another behaviour, with a codec of its own
    try:
        CODEC.decode(CODEC.encode(offer.fact))
        reader = _READERS.get(kind)
        if reader is not None and offer.body is not None:
            reader(offer.body)
    except (RefoldError, msgspec.MsgspecError, OverflowError, UnicodeError, TypeError) as error:
        raise InvalidArgumentError(
            f"a value is not what its type says, and could not be read back: {error}"
        ) from error
    return offer
