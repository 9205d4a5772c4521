"""What actors say to each other: immutable, and never refused between our own.

Callers that wait are named by a `token`, never carried in a message.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from refold.events.behaviour import Effect
from refold.events.fact import Fact, Offer
from refold.events.record import EventData
from refold.store.log import Expected

Sender = Literal["queues", "tools", "models", "loop"]


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """The base of all actor messages. `stream` is the uid of the session it is about."""

    stream: bytes = b""


class Enter(Message, frozen=True, kw_only=True, gc=False):
    """A caller at the door (to Queues): have this input accepted, and tell me when it is."""

    token: int
    offer: Offer


class Offered(Message, frozen=True, kw_only=True, gc=False):
    """Inputs for a machine (to Loop), decided in this order and appended together.

    Attributes:
        sender: who is told what became of them. Queues hears as soon as they are in the log (its
            callers may be awaited listeners); the others once all that followed from them by
            itself is, and awaited listeners are done with it.
        token: by which the sender knows them; 0 if it does not want to know.
        done: keys of the effects whose outcomes these are.
    """

    offers: tuple[Offer, ...]
    sender: Sender = "loop"
    token: int = 0
    done: tuple[str, ...] = ()


class Accepted(Message, frozen=True, kw_only=True, gc=False):
    """An offer is durable (from Loop). `version` is that of its first event, 0 if ignored."""

    token: int
    version: int


class Refused(Message, frozen=True, kw_only=True):
    """An offer was refused, or could not be written (from Loop)."""

    token: int
    error: Exception


class Write(Message, frozen=True, kw_only=True, gc=False):
    """One append (to Journal). `facts` and `states` are for those who watch the stream:
    `states[i]` is the state before `facts[i]`, and the last one that after all of them.
    """

    expected: Expected
    events: tuple[EventData, ...]
    epoch: int | None
    cause: str
    blobs: tuple[tuple[bytes, bytes], ...] = ()
    facts: tuple[Fact, ...] = ()
    states: tuple[Any, ...] = ()


class Written(Message, frozen=True, kw_only=True, gc=False):
    """An append is durable (from Journal)."""

    version: int


class NotWritten(Message, frozen=True, kw_only=True):
    """An append was refused (from Journal); nothing of it is in the log."""

    error: Exception


class Claim(Message, frozen=True, kw_only=True):
    """Claim a stream (Reader to Journal); answered with `Claimed` or `NotRevived`."""

    asked: int = 0


class Claimed(Message, frozen=True, kw_only=True):
    """The stream is this process's to drive (Journal to Reader)."""

    epoch: int
    asked: int = 0


class Host(Message, frozen=True, kw_only=True):
    """Drive this stream from here on (to Loop), as it `asked`. `first` is offered before anything
    else.
    """

    behaviour: Any
    state: Any
    version: int
    epoch: int
    asked: int
    first: tuple[Offer, ...] = ()


class CatchUp(Message, frozen=True, kw_only=True):
    """Read what was appended behind `version` by others (to Reader)."""

    behaviour: Any
    version: int


class CaughtUp(Message, frozen=True, kw_only=True):
    """What was read (from Reader). `time` is that of the last of it."""

    version: int
    time: int
    facts: tuple[Fact, ...]


class Revive(Message, frozen=True, kw_only=True):
    """Fold a stream that is not hosted, and have it hosted again (to Reader). `asked` is in the
    answer: a Loop that died before may have asked as well.
    """

    asked: int = 0


class NotRevived(Message, frozen=True, kw_only=True):
    """A stream could not be folded or claimed (from Reader)."""

    error: Exception


class Perform(Message, frozen=True, kw_only=True, gc=False):
    """Start an effect (to Tools or Models). `state` is the one right after the event that wants
    it.
    """

    effect: Effect
    state: Any


class Listen(Message, frozen=True, kw_only=True):
    """A session has awaited listeners, or has none any more (to Loop)."""

    listening: bool


class Notify(Message, frozen=True, kw_only=True, gc=False):
    """Tell the awaited listeners of a session, one after the other (to Tools)."""

    facts: tuple[Fact, ...]
    states: tuple[Any, ...]


class Notified(Message, frozen=True, kw_only=True):
    """All awaited listeners are done (from Tools); `failure` is an input if one of them failed."""

    failure: Offer | None = None


class Registered(Message, frozen=True, kw_only=True):
    """A session has got functions (to Tools): what waited for one of them may start."""


class Flush(Message, frozen=True, kw_only=True):
    """Commit what has been put (Journal to itself)."""


class Retry(Message, frozen=True, kw_only=True):
    """Try again what could not be written (to Loop)."""


class Restarted(Message, frozen=True, kw_only=True):
    """An actor that had died is back, and knows nothing of before (Supervisor to Loop)."""

    actor: str


class Failed(Message, frozen=True, kw_only=True):
    """An actor died (to Supervisor)."""

    actor: str
    error: BaseException
