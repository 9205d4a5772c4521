"""Two kinds of actor: on a thread of its own, and on an asyncio event loop.

Both close pykka's traps: whatever a handler raises, `SystemExit` and `KeyboardInterrupt` included,
ends this actor only and is told to the supervisor; what waits in its inbox is read by the actor
that is started in its place; and the inbox is a plain C queue.
"""

from __future__ import annotations

import asyncio
import queue
import sys
from collections.abc import Callable
from typing import Any

import pykka
from pykka._envelope import Envelope

from refold.actors.messages import Failed, Message
from refold.events.errors import ClosedError

OnFailure = Callable[[Failed], None]


class Address:
    """Where an actor is reached, whichever incarnation of it is alive. The inbox outlives them."""

    __slots__ = ("_closing", "_inbox", "_ref", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._inbox: Any = None
        self._ref: pykka.ActorRef[Any] | None = None
        self._closing = False

    def moved(self, actor: Any) -> None:
        """The actor is this one from here on; what waits for it is its own to read."""
        if self._inbox is None:
            self._inbox = actor.actor_inbox
        actor.actor_inbox = actor.actor_ref.actor_inbox = self._inbox
        self._ref = actor.actor_ref

    def tell(self, message: Message) -> None:
        """Send it; an actor that has died reads it once it lives again.

        Raises:
            ClosedError: the actor has stopped, so nobody would read it.
        """
        if self._ref is not None:
            self._inbox.put(Envelope(message))
        elif not self._closing:
            raise ClosedError(f"the {self.name} has stopped: open the log again")

    @property
    def is_closing(self) -> bool:
        """True if the runtime is going down."""
        return self._closing

    def closing(self) -> None:
        """The runtime is going down: what is still sent here once it has stopped is dropped."""
        self._closing = True

    def stop(self) -> None:
        """Have it stop once it has read what was sent before, and wait until it has."""
        if self._ref is not None:
            self._ref.stop()
            self._ref = None

    def gone(self) -> None:
        """It has died, and will not live again."""
        self._ref = None


class _Guarded:
    """What both kinds share: dispatch by message type, and failures that reach someone."""

    address: Address | None = None
    failed: OnFailure | None = None
    _message: Any = None
    _died = False

    @classmethod
    def launch(cls, address: Address, failed: OnFailure, **arguments: Any) -> None:
        """As pykka's `start`; it is reached at `address`, and `failed` is told if it dies."""
        actor: Any = cls(**arguments)
        actor.address, actor.failed = address, failed
        address.moved(actor)
        pykka.ActorRegistry.register(actor.actor_ref)
        actor._start_actor_loop()

    def abandon(self, message: Any, error: BaseException) -> None:
        """It has died of `message`: tell those who would wait for what it had in hand."""

    def handle(self, message: Any) -> None:
        """Act on one message."""
        raise NotImplementedError

    def on_receive(self, message: Any) -> None:
        """Called by pykka."""
        self._message = message
        try:
            self.handle(message)
            self._message = None
        except Exception:
            raise
        except BaseException as error:
            # pykka would stop every actor of the process for these.
            raise RuntimeError(f"{type(error).__name__} in {type(self).__name__}") from error

    def on_failure(self, exception_type: Any, exception_value: Any, traceback: Any) -> None:
        """Called by pykka when this actor has died."""
        self._died = True
        error = exception_value.__cause__ or exception_value
        try:
            self.abandon(self._message, error)
        finally:
            if self.failed is not None:
                self.failed(Failed(actor=type(self).__name__, error=error))

    def _actor_loop_teardown(self) -> None:
        next_reads_it = self._died and self.address is not None and not self.address.is_closing
        if not next_reads_it:
            super()._actor_loop_teardown()  # type: ignore[misc]


class ThreadActor(_Guarded, pykka.ThreadingActor):
    """An actor with a thread of its own."""

    use_daemon_thread = True

    @staticmethod
    def _create_actor_inbox() -> Any:
        return queue.SimpleQueue()


class _LoopInbox:
    """An inbox that wakes an event loop instead of a thread, once for all that waits."""

    def __init__(self) -> None:
        self.waiting: queue.SimpleQueue[Envelope[Any]] = queue.SimpleQueue()
        self.wake: Callable[[], object] = lambda: None
        self.woken = False

    def put(self, envelope: Envelope[Any], /) -> None:
        self.waiting.put(envelope)
        if not self.woken:
            self.woken = True
            self.wake()

    def get(self) -> Envelope[Any]:
        return self.waiting.get()

    def empty(self) -> bool:
        return self.waiting.empty()


class LoopActor(_Guarded, pykka.ThreadingActor):
    """An actor whose messages are handled on an asyncio event loop, so that it can start
    coroutines without a hop. Handlers must not block.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.loop = loop

    @staticmethod
    def _create_actor_inbox() -> Any:
        return _LoopInbox()

    def _start_actor_loop(self) -> None:
        inbox: Any = self.actor_inbox
        inbox.wake = lambda: self.loop.call_soon_threadsafe(self._take)
        self.loop.call_soon_threadsafe(self._actor_loop_setup)
        inbox.wake()

    def _take(self) -> None:
        """As pykka's own loop, for all that waits."""
        inbox: Any = self.actor_inbox
        inbox.woken = False  # before looking: what comes from here on wakes again
        while not self.actor_stopped.is_set() and not inbox.empty():
            envelope = inbox.get()
            try:
                response = self._handle_receive(envelope.message)
            except Exception:
                self._handle_failure(*sys.exc_info())
                self.on_failure(*sys.exc_info())
                break
            if envelope.reply_to is not None:
                envelope.reply_to.set(response)
        if self.actor_stopped.is_set():
            self._actor_loop_teardown()
