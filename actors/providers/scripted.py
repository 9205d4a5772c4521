"""A model whose replies are given beforehand: for tests, demos, and trying things out."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from refold.actors.providers.interruption import AbortedError, unless_aborted
from refold.actors.providers.provider import ABORTED, Finish, StreamEvent
from refold.actors.providers.script import Gate, Reply
from refold.actors.signal import AbortSignal
from refold.events.agent.context import Request
from refold.events.agent.messages import ErrorKind
from refold.events.errors import InvalidArgumentError

__all__ = ["Reply", "Scripted"]

ReplyData = Reply | str | Mapping[str, Any]
Answer = Callable[[Request], ReplyData]

_LOOK = 0.02
"""Seconds between two looks at the signal while a thread waits for a gate."""


class Scripted:
    """A provider that answers from a script: one reply a call, in order.

    Replies are data, so that a JSON file can hold them: a text, a `Reply`, or a mapping of its
    fields. When none is left, a call ends with an error that says so. The signal is looked at
    before each event; when it is set, the reply ends as `aborted` with the content so far.

    Args:
        replies: the script. A function in it is called with its request and returns the reply; a
            function in place of the list answers every call.
        name: the word before the slash in the names of its models, which may be any.
        delay: seconds before each part of a reply, to make streaming visible.

    Raises:
        InvalidArgumentError: a reply cannot be used; the message says which, and why.
    """

    default_model = "script"

    def __init__(
        self,
        replies: Iterable[ReplyData | Answer] | Answer = (),
        name: str = "scripted",
        *,
        delay: float = 0.0,
    ) -> None:
        self._name = name
        self._delay = delay
        self._every = replies if callable(replies) else None
        self._script: deque[Reply | Answer] = deque()
        if isinstance(replies, str | Mapping):
            raise InvalidArgumentError("replies are one reply: give a list of replies")
        if not callable(replies):
            for number, reply in enumerate(replies):
                known = reply if callable(reply) else Reply.of(reply, f"replies[{number}]")
                self._script.append(known)
        self._lock = threading.Lock()
        self._calls: list[Request] = []

    @property
    def name(self) -> str:
        """The word before the slash in the names of its models."""
        return self._name

    @property
    def calls(self) -> tuple[Request, ...]:
        """The requests of all calls so far, in order."""
        with self._lock:
            return tuple(self._calls)

    @property
    def replies_left(self) -> int:
        """How many replies of the script have not been used."""
        return len(self._script)

    def check(self, model: str) -> None:
        """Any model is there."""

    async def stream(
        self, request: Request, signal: AbortSignal, *, api_key: str | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        """Answer with the next reply (see `Provider.stream`); it wants no key."""
        reply = self._next(request)
        if reply is None:
            kind: ErrorKind = "invalid_request"  # which is not tried again
            message = "the script has no reply left"
            yield Finish(stop_reason="error", error_kind=kind, error_message=message)
            return
        if reply.raises is not None:
            raise (
                reply.raises if isinstance(reply.raises, Exception) else RuntimeError(reply.raises)
            )
        end: StreamEvent = ABORTED
        for place, event in reply.events(request.call):
            await self._pause(reply, place, signal)
            if signal.aborted and not reply.ignores_abort:
                break
            if isinstance(event, Finish):
                end = event
            else:
                yield event
        yield end

    async def close(self) -> None:
        """There is nothing to give back."""

    def _next(self, request: Request) -> Reply | None:
        with self._lock:
            self._calls.append(request)
            entry = self._every or (self._script.popleft() if self._script else None)
        if callable(entry):
            return Reply.of(entry(request), f"the reply to call {request.call}")
        return entry

    async def _pause(self, reply: Reply, place: str, signal: AbortSignal) -> None:
        gate = reply.gates.get(place)
        if gate is not None:
            await _passed(gate, lambda: signal.aborted and not reply.ignores_abort)
        delay = self._delay if reply.delay is None else reply.delay
        if delay <= 0 or ".d" not in place:
            return
        if reply.ignores_abort:
            await asyncio.sleep(delay)
        else:
            with suppress(AbortedError):
                await unless_aborted(signal, asyncio.sleep(delay))


async def _passed(gate: Gate, given_up: Callable[[], bool]) -> None:
    """Wait for a gate; one that blocks is waited for on a thread."""
    if inspect.iscoroutinefunction(gate.wait):
        await gate.wait()
        return
    left = threading.Event()

    def wait() -> None:
        while not (gate.wait(_LOOK) or given_up() or left.is_set()):
            pass

    try:
        await asyncio.to_thread(wait)
    finally:
        left.set()  # a thread that waits on would keep the interpreter from ending
