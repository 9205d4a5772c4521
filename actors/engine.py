"""The engine of a runtime: its actors, wired together over one log."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import msgspec

from refold.actors.actor import Address
from refold.actors.catalog import Catalog
from refold.actors.contents import Memory, StreamContents, remember
from refold.actors.hub import Hub
from refold.actors.journal import Journal
from refold.actors.kit import Kits
from refold.actors.loop import Audit, Loop
from refold.actors.messages import Enter, Listen, Registered
from refold.actors.models import Models
from refold.actors.providers.provider import Provider
from refold.actors.queues import Queues
from refold.actors.reader import Reader
from refold.actors.signals import Signals
from refold.actors.supervisor import Launch, Supervisor
from refold.actors.tools import Tools
from refold.actors.waiters import Waiters
from refold.events.agent import effects
from refold.events.agent.agent import AGENT
from refold.events.behaviour import Behaviour, Effect
from refold.events.errors import BugError, ClosedError
from refold.events.fact import Offer
from refold.store.log import Log


def now() -> int:
    """Milliseconds since 1970 (UTC)."""
    return time.time_ns() // 1_000_000


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How a runtime behaves.

    Attributes:
        delta_interval: seconds for which a model's pieces are gathered into one fact; 0: each
            piece is one. It trades bytes and commits for grain.
        grace: seconds that a tool has to end after an abort.
        listener_limit: seconds that an awaited listener may take for one event.
        output_limit: characters of a tool's result that the model is told; beyond that it is told
            the first and the last part, and all of it is kept as a blob.
        threads: how many sync tools and listeners may run at once.
        most_hosted: how many sessions are kept in memory; resting ones beyond that are folded
            again at their next message.
        clock: ms since 1970 (UTC).
        audit: called with a text wherever the effects that a state owes are not those under way;
            for tests.
    """

    delta_interval: float = 0.05
    grace: float = 1.0
    listener_limit: float = 30.0
    output_limit: int = 64 * 1024
    threads: int = 32
    most_hosted: int = 10_000
    clock: Callable[[], int] = now
    audit: Audit | None = None


DEFAULTS = Options()

PARTING = 1.0
"""Seconds that async functions have to end when the runtime is closed."""


class Engine:
    """Starts the actors at once; `close` stops them.

    Args:
        event_loop: where models are called and async functions run; None: one of its own, on a
            background thread.
    """

    def __init__(
        self,
        log: Log,
        *,
        providers: Sequence[Provider] = (),
        event_loop: asyncio.AbstractEventLoop | None = None,
        options: Options = DEFAULTS,
    ) -> None:
        self.log = log
        self.options = options
        self.hub = Hub()
        self.kits = Kits()
        self.catalog = Catalog(providers)
        self.memory = Memory()
        self._behaviours: dict[bytes, Behaviour[Any]] = {}
        self._waiters = Waiters()
        self._signals = Signals()
        self._pool = ThreadPoolExecutor(options.threads, thread_name_prefix="refold")
        self._background = None if event_loop else _BackgroundLoop()
        self.event_loop = event_loop or self._background.loop  # type: ignore[union-attr]
        self._closed = False
        self._addresses = {
            name: Address(name.lower())
            for name in ("Journal", "Reader", "Loop", "Models", "Tools", "Queues", "Supervisor")
        }
        self._start()

    def enter(self, stream: bytes, offer: Offer) -> Future[int]:
        """Have an input accepted; the future gives its version (0: it came too late to matter).

        Raises (in the future): what `decide` refuses it with, or what the log says.
        """
        if self._closed:
            raise ClosedError("the runtime is closed: open the log again")
        token, future = self._waiters.wait()
        self._addresses["Queues"].tell(Enter(stream=stream, token=token, offer=offer))
        return future

    def behave(self, stream: bytes, behaviour: Behaviour[Any]) -> None:
        """Streams are agents unless this says otherwise, before their first message."""
        self._behaviours[stream] = behaviour

    def contents(self, stream: bytes) -> StreamContents:
        """How the content of a session is read."""
        return StreamContents(self.log, stream, self.memory)

    def equip(self, stream: bytes, **parts: Any) -> None:
        """Give a session functions (see `refold.actors.kit.Kit`)."""
        had = bool(self.kits.of(stream).listeners)
        kit = self.kits.change(stream, **parts)
        if had != bool(kit.listeners):
            self._addresses["Loop"].tell(Listen(stream=stream, listening=bool(kit.listeners)))
        self._addresses["Tools"].tell(Registered(stream=stream))

    def close(self) -> None:
        """Stop. Runs that are active go on when their session is opened again.

        Blocks; with an event loop of the caller's, it must be called on another thread.
        """
        if self._closed:
            return
        self._closed = True
        self._waiters.close(ClosedError("the runtime was closed"))
        for address in self._addresses.values():
            address.closing()
        for name in ("Supervisor", "Queues", "Models", "Tools", "Loop", "Reader", "Journal"):
            self._addresses[name].stop()
        asyncio.run_coroutine_threadsafe(self.catalog.close(), self.event_loop).result()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self.hub.fail_all(ClosedError("the runtime was closed"))
        self.log.close()
        if self._background is not None:
            self._background.stop()

    def _performers(self, effect: Effect) -> tuple[Address, ...]:
        if isinstance(effect, effects.CallModel | effects.Wait | effects.Interrupt):
            return (self._addresses["Models"],)
        if isinstance(effect, effects.RunTool | effects.CallHook):
            return (self._addresses["Tools"],)
        return (self._addresses["Models"], self._addresses["Tools"])

    def _start(self) -> None:
        at, options = self._addresses, self.options
        owner = f"{socket.gethostname()}/{os.getpid()}"
        launches: dict[str, Launch] = {
            "Journal": lambda *born: Journal.launch(
                *born,
                log=self.log,
                owner=owner,
                loop=at["Loop"],
                reader=at["Reader"],
                hub=self.hub,
                clock=options.clock,
            ),
            "Reader": lambda *born: Reader.launch(
                *born,
                log=self.log,
                journal=at["Journal"],
                loop=at["Loop"],
                behaviour_of=lambda stream: self._behaviours.get(stream, AGENT),
            ),
            "Loop": lambda *born: Loop.launch(
                *born,
                journal=at["Journal"],
                reader=at["Reader"],
                tools=at["Tools"],
                supervisor=at["Supervisor"],
                senders={
                    "queues": at["Queues"],
                    "tools": at["Tools"],
                    "models": at["Models"],
                },
                performers=self._performers,
                hub=self.hub,
                gated=lambda stream: bool(self.kits.of(stream).listeners),
                remember=partial(remember, self.memory),
                most=options.most_hosted,
                audit=options.audit,
            ),
            "Models": lambda *born: Models.launch(
                *born,
                event_loop=self.event_loop,
                loop=at["Loop"],
                resolve=self.catalog.resolve,
                contents=self.contents,
                signals=self._signals,
                kits=self.kits,
                pool=self._pool,
                clock=options.clock,
                delta_interval=options.delta_interval,
            ),
            "Tools": lambda *born: Tools.launch(
                *born,
                event_loop=self.event_loop,
                pool=self._pool,
                loop=at["Loop"],
                kits=self.kits,
                contents=self.contents,
                signals=self._signals,
                clock=options.clock,
                grace=options.grace,
                listener_limit=options.listener_limit,
                output_limit=options.output_limit,
            ),
            "Queues": lambda *born: Queues.launch(*born, loop=at["Loop"], waiters=self._waiters),
        }
        Supervisor.launch(
            at["Supervisor"],
            lambda failed: self.hub.fail_all(BugError(f"the supervisor died: {failed.error!r}")),
            launches=launches,
            addresses=at,
            waiters=self._waiters,
            hub=self.hub,
        )


class _BackgroundLoop:
    """An asyncio event loop on a daemon thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="refold-events", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()

    def _run(self) -> None:
        self.loop.run_forever()
        # What was cancelled gets the time to tidy up, such as to end its processes.
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            if not task.cancelling():  # a second time would disturb its tidying up
                task.cancel()
        if tasks:
            self.loop.run_until_complete(asyncio.wait(tasks, timeout=PARTING))
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()
