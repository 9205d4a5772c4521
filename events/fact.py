"""What every event is: an immutable fact, known by a type name, a schema version, and whether
a reader that does not know it may pass over it.
"""

from __future__ import annotations

from typing import ClassVar, dataclass_transform

import msgspec


# gc=False, here and on the other structs of states and messages: they hold each other as trees,
# never in a cycle, and with 1,000 sessions at work the collector's passes over them took 25 to 40 %
# of all time (`benchmarks/bench_sessions.py`).
@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class Fact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The base of all events: the skeleton, which the machine decides by. Frozen, keyword-only.

    Content stands in a body beside it (see `refold.events.record`), which only the edge reads.

    Class attributes:
        SCHEMA: the version of this type's fields; raised when they change, with an upcaster.
        CRITICAL: True if a release that does not know this type must not run the stream.
    """

    SCHEMA: ClassVar[int] = 1
    CRITICAL: ClassVar[bool] = True


class UnknownEvent(Fact, frozen=True, kw_only=True):
    """An event of a type or schema that this release does not know, kept as it is."""

    type: str
    schema: int
    critical: bool
    skeleton: bytes


class Offer(msgspec.Struct, frozen=True, gc=False):
    """An input on its way into a machine: a fact not yet accepted, and its content.

    An input and the fact it becomes are one struct: `decide` either puts it first in the
    decision, ignores it, or refuses it.

    Attributes:
        body: the content in encoded form, or None; the machine never looks into it.
        blobs: (digest, bytes) pairs that must be stored with the fact.
        known: what the sender knows the content to be, already decoded; it saves reading it.
    """

    fact: Fact
    body: bytes | None = None
    blobs: tuple[tuple[bytes, bytes], ...] = ()
    known: object = None
