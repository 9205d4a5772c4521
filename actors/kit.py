"""What a process brings to its sessions and no log can hold: functions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from refold.actors.tool import Tool

Listener = Callable[[Any], Any]
"""Called with each lifecycle event, sync or async; the run waits for it."""


class Kit(msgspec.Struct, frozen=True):
    """The functions of one session.

    Attributes:
        tools, hooks: by name.
        listeners: awaited, in this order.
    """

    tools: Mapping[str, Tool] = {}
    hooks: Mapping[str, Callable[..., Any]] = {}
    listeners: tuple[Listener, ...] = ()


class Kits:
    """The kits of all sessions of a runtime. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kits: dict[bytes, Kit] = {}

    def of(self, stream: bytes) -> Kit:
        """The kit of a session, empty if it has none."""
        return self._kits.get(stream) or Kit()

    def change(self, stream: bytes, **parts: Any) -> Kit:
        """Replace some parts of a session's kit."""
        with self._lock:
            kit = msgspec.structs.replace(self.of(stream), **parts)
            self._kits[stream] = kit
            return kit
