"""Events and streams for the tests of the store."""

from __future__ import annotations

from os import urandom
from typing import Any

import msgspec

from refold.events.record import EventData, Recorded

pack = msgspec.msgpack.encode


def uid() -> bytes:
    """A new stream."""
    return urandom(16)


def event(n: int = 0, body: bytes | None = None, type: str = "counted", **fields: Any) -> EventData:
    """An event whose skeleton holds `n`."""
    return EventData(type, 1, True, pack({"n": n, **fields}), body)


def events(*numbers: int) -> list[EventData]:
    """Events without bodies."""
    return [event(n) for n in numbers]


def named(name: str, type: str = "created") -> EventData:
    """An event that names its stream."""
    return EventData(type, 1, True, pack({"name": name}))


def erased(*versions: int) -> EventData:
    """An event that says whose bodies were taken away."""
    return EventData("erased", 1, True, pack({"versions": list(versions)}))


def number(recorded: Recorded) -> int:
    """The `n` that an event was made with."""
    n = msgspec.msgpack.decode(recorded.event.skeleton)["n"]
    assert isinstance(n, int)
    return n


def numbers(read: Any) -> list[int]:
    """The `n`s of some events."""
    return [number(recorded) for recorded in read]
