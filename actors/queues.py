"""The door: takes what callers want, at any time, and answers when it is durable.

Bounds stand here, by credits: a session takes so many inputs at once, and further callers wait
their turn. The contents of a session's queues are part of its state; only its Loop appends to its
stream, so that draining a queue and putting its messages in is one append.
"""

from __future__ import annotations

from collections import deque

from refold.actors.actor import Address, ThreadActor
from refold.actors.messages import Accepted, Enter, Message, Offered, Refused
from refold.actors.waiters import Waiters


class Queues(ThreadActor):
    """Passes callers' inputs to the Loop, and its answers to them.

    Args:
        credits: how many inputs of one session may be on their way at once.
    """

    def __init__(self, *, loop: Address, waiters: Waiters, credits: int = 256) -> None:
        super().__init__()
        self._loop = loop
        self._waiters = waiters
        self._credits = credits
        self._under_way: dict[bytes, int] = {}
        self._outside: dict[bytes, deque[Enter]] = {}

    def handle(self, message: Message) -> None:
        """Act on one message."""
        match message:
            case Enter():
                self._enter(message)
            case Accepted():
                self._waiters.resolve(message.token, message.version)
                self._left(message.stream)
            case Refused():
                self._waiters.refuse(message.token, message.error)
                self._left(message.stream)

    def _enter(self, enter: Enter) -> None:
        under_way = self._under_way.get(enter.stream, 0)
        if under_way >= self._credits:
            self._outside.setdefault(enter.stream, deque()).append(enter)
            return
        self._under_way[enter.stream] = under_way + 1
        self._loop.tell(
            Offered(stream=enter.stream, offers=(enter.offer,), sender="queues", token=enter.token)
        )

    def _left(self, stream: bytes) -> None:
        under_way = self._under_way.get(stream, 0) - 1
        if under_way > 0:
            self._under_way[stream] = under_way
        else:
            self._under_way.pop(stream, None)
        outside = self._outside.get(stream)
        if outside:
            enter = outside.popleft()
            if not outside:
                del self._outside[stream]
            self._enter(enter)
