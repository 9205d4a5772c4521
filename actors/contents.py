"""The contents of sessions, read from a log and remembered for a while."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Any

import msgspec

from refold.actors.arguments import fitted
from refold.events.agent.agent import CODEC
from refold.events.agent.contents import call_of, message_of
from refold.events.agent.heads import MessageHead
from refold.events.agent.messages import AssistantMessage, Message
from refold.events.canonical import Json
from refold.events.errors import InvalidPointError
from refold.events.fact import Fact, Offer
from refold.store.log import Log

MEMORY_LIMIT = 64 * 2**20
"""Bytes of message bodies that one log's memory holds, roughly."""


class Memory:
    """What was read lately, by key; forgets what was not used for longest. Thread-safe."""

    def __init__(self, limit: int = MEMORY_LIMIT) -> None:
        self._limit = limit
        self._size = 0
        self._lock = threading.Lock()
        self._items: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def get(self, key: Hashable) -> Any:
        """What is remembered under `key`, or None."""
        with self._lock:
            found = self._items.get(key)
            if found is None:
                return None
            self._items.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, value: Any, size: int) -> None:
        """Remember `value`, which takes about `size` bytes."""
        with self._lock:
            old = self._items.pop(key, None)
            if old is not None:
                self._size -= old[1]
            self._items[key] = (value, size)
            self._size += size
            while self._size > self._limit and self._items:
                _, (_, dropped) = self._items.popitem(last=False)
                self._size -= dropped


class KnownReply(msgspec.Struct, frozen=True):
    """A reply that has just been assembled, with the arguments of its calls that fit."""

    message: AssistantMessage
    arguments: tuple[Json | None, ...]


def remember(memory: Memory, stream: bytes, version: int, offer: Offer) -> None:
    """Keep what has just been appended: it is about to be asked for."""
    body = offer.body or b""
    memory.put((stream, version), (offer.fact, body), 300 + len(body))
    if isinstance(offer.known, KnownReply):
        message, arguments = offer.known.message, offer.known.arguments
        memory.put((stream, "assistant", version, 0, 0), message, 500 + len(body))
        for index, fitting in enumerate(arguments):
            if fitting is not None:
                memory.put((stream, "arguments", version, index), fitting, 200 + len(fitting.text))


class StreamContents:
    """The `Contents` of one session (`refold.events.agent.contents`)."""

    __slots__ = ("_log", "_memory", "_stream")

    def __init__(self, log: Log, stream: bytes, memory: Memory) -> None:
        self._log = log
        self._stream = stream
        self._memory = memory

    def fact(self, version: int) -> tuple[Fact, bytes]:
        """The fact at `version` and its body (empty if it has none)."""
        known = self._memory.get((self._stream, version))
        if known is not None:
            return known  # type: ignore[no-any-return]
        for recorded in self._log.read(self._stream, after=version - 1, until=version):
            return CODEC.decode(recorded.event), recorded.event.body or b""
        raise InvalidPointError(f"there is no event {version} in stream {self._stream.hex()}")

    def deltas(self, since: int, until: int) -> Iterator[bytes]:
        """The bodies of the `model_delta` facts with versions in (`since`, `until`]."""
        for recorded in self._log.read(self._stream, after=since, until=until):
            if recorded.event.type == "model_delta" and recorded.event.body:
                yield recorded.event.body

    @property
    def key(self) -> bytes:
        """The log's secret for the digests of its blobs."""
        return self._log.key

    def arguments(self, reply: MessageHead, index: int, schema: Json) -> Json:
        """The arguments of a reply's call, brought into shape and checked.

        Raises:
            ToolArgumentsError: they do not fit.
        """
        known = self._memory.get((self._stream, "arguments", reply.source, index))
        if known is None:
            call = call_of(reply, index, self)
            known = fitted(call.name, schema, call.arguments)
        return known  # type: ignore[no-any-return]

    def blob(self, digest: bytes) -> bytes:
        """A blob of the session's log."""
        known = self._memory.get(digest)
        if known is None:
            known = self._log.blob(digest)
            self._memory.put(digest, known, len(known))
        return known  # type: ignore[no-any-return]

    def message(self, head: MessageHead) -> Message:
        """The message of a head; remembered once it is complete."""
        if head.role == "assistant" and head.stop_reason is None:
            return message_of(head, self)
        key = (self._stream, head.role, head.source, head.index, head.patch)
        known = self._memory.get(key)
        if known is None:
            known = message_of(head, self)
            self._memory.put(key, known, 500 + head.size)
        return known  # type: ignore[no-any-return]
