"""Two kinds of actor: on a thread of its own, and on an asyncio event loop.

Both close pykka's traps: whatever a handler raises, `SystemExit` and `KeyboardInterrupt` included,
ends this actor only and is told to the supervisor; and the inbox is a plain C queue.
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
    """Where an actor is reached, whichever incarnation of it is alive."""

    __slots__ = ("_closing", "_ref", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._ref: pykka.ActorRef[Any] | None = None
        self._closing = False

    def moved(self, ref: pykka.ActorRef[Any]) -> None:
        """The actor is a new one from here on."""
        self._ref = ref

    def tell(self, message: Message) -> None:
        """Send it.

        Raises:
            ClosedError: the actor has stopped, so nobody would read it.
        """
        try:
            if self._ref is None:
                raise pykka.ActorDeadError
            self._ref.tell(message)
        except pykka.ActorDeadError:
            if not self._closing:
                raise ClosedError(f"the {self.name} has stopped: open the log again") from None

    def closing(self) -> None:
        """The runtime is going down: what is still sent here once it has stopped is dropped."""
        self._closing = True

    def stop(self) -> None:
        """Have it stop once it has read what was sent before, and wait until it has."""
        if self._ref is not None:
            self._ref.stop()


class _Guarded:
    """What both kinds share: dispatch by message type, and failures that reach someone."""

    failed: OnFailure | None = None

    @classmethod
    def launch(cls, failed: OnFailure, **arguments: Any) -> pykka.ActorRef[Any]:
        """As pykka's `start`; `failed` is told if the actor dies."""
        actor: Any = cls(**arguments)
        actor.failed = failed
        pykka.ActorRegistry.register(actor.actor_ref)
        actor._start_actor_loop()
        return actor.actor_ref  # type: ignore[no-any-return]

    def handle(self, message: Any) -> None:
        """Act on one message."""
        raise NotImplementedError

    def on_receive(self, message: Any) -> None:
        """Called by pykka."""
        try:
            self.handle(message)
        except Exception:
            raise
        except BaseException as error:
            # pykka would stop every actor of the process for these.
            raise RuntimeError(f"{type(error).__name__} in {type(self).__name__}") from error

    def on_failure(self, exception_type: Any, exception_value: Any, traceback: Any) -> None:
        """Called by pykka when this actor has died."""
        if self.failed is not None:
            error = exception_value.__cause__ or exception_value
            self.failed(Failed(actor=type(self).__name__, error=error))


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
