"""Facts to bytes and back: tagged, versioned, and never losing what is not known."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from refold.events.errors import CorruptError
from refold.events.fact import Fact, UnknownEvent
from refold.events.record import EventData

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
"""Fields of one schema version to fields of the next one."""

_encode = msgspec.msgpack.Encoder().encode


def type_name(fact: type[Fact]) -> str:
    """The name under which a fact class stands in the log: `MessageEnd` is `message_end`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", fact.__name__).lower()


class Codec:
    """Knows the facts of one behaviour.

    Args:
        facts: the fact classes of this release.
        upcasters: (type name, schema version) to the step to the next version. An old event
            passes through the steps from its version up to the present one.
    """

    def __init__(
        self,
        facts: Iterable[type[Fact]],
        upcasters: Mapping[tuple[str, int], Upcaster] = {},
    ) -> None:
        self._names = {fact: type_name(fact) for fact in facts}
        self._facts = {name: fact for fact, name in self._names.items()}
        self._decoders = {name: msgspec.msgpack.Decoder(fact) for name, fact in self._facts.items()}
        self._upcasters = dict(upcasters)

    @property
    def facts(self) -> tuple[type[Fact], ...]:
        """The fact classes this codec knows."""
        return tuple(self._names)

    def encode(self, fact: Fact, body: bytes | None = None) -> EventData:
        """The stored form of `fact` and its body."""
        if isinstance(fact, UnknownEvent):
            return EventData(fact.type, fact.schema, fact.critical, fact.skeleton, body)
        kind = type(fact)
        return EventData(self._names[kind], kind.SCHEMA, kind.CRITICAL, _encode(fact), body)

    def decode(self, event: EventData) -> Fact:
        """The fact of a stored event; an `UnknownEvent` if its type or schema is newer than this.

        Raises:
            CorruptError: the type is known, and its skeleton cannot be read.
        """
        known = self._facts.get(event.type)
        if known is None or event.schema > known.SCHEMA:
            return UnknownEvent(
                type=event.type,
                schema=event.schema,
                critical=event.critical,
                skeleton=event.skeleton,
            )
        try:
            if event.schema == known.SCHEMA:
                return self._decoders[event.type].decode(event.skeleton)
            return self._upcast(event, known)
        except (msgspec.MsgspecError, KeyError) as error:
            raise CorruptError(
                f"an event of type {event.type}, schema {event.schema}, cannot be read: {error}. "
                "`refold verify` finds the damaged record"
            ) from error

    def _upcast(self, event: EventData, known: type[Fact]) -> Fact:
        fields: dict[str, Any] = msgspec.msgpack.decode(event.skeleton)
        for schema in range(event.schema, known.SCHEMA):
            fields = self._upcasters[event.type, schema](fields)
        return msgspec.convert(fields, known)
