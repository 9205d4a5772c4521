"""Tools: runs tools and awaited listeners, in threads or on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from refold.actors.actor import Address, LoopActor
from refold.actors.blobs import stored_result
from refold.actors.contents import StreamContents
from refold.actors.hooks import Hooks
from refold.actors.kit import Kits
from refold.actors.listeners import notify
from refold.actors.messages import (
    Accepted,
    Message,
    Notified,
    Notify,
    Offered,
    Perform,
    Refused,
    Registered,
)
from refold.actors.signals import Signals
from refold.actors.tool_run import ToolRun
from refold.events.agent import bodies, effects, inputs
from refold.events.agent.messages import ToolResult
from refold.events.behaviour import Discard
from refold.events.fact import Offer


class Tools(LoopActor):
    """Runs what users wrote: nothing it does can hurt more than the run it belongs to.

    Args:
        pool: threads for sync functions.
        clock: ms since 1970 (UTC).
        grace: seconds that a tool has to end after an abort, before its run is given up.
    """

    def __init__(
        self,
        *,
        event_loop: asyncio.AbstractEventLoop,
        pool: ThreadPoolExecutor,
        loop: Address,
        kits: Kits,
        contents: Callable[[bytes], StreamContents],
        signals: Signals,
        clock: Callable[[], int],
        grace: float,
    ) -> None:
        super().__init__(event_loop)
        self._pool = pool
        self._loop = loop
        self._kits = kits
        self._contents = contents
        self._signals = signals
        self._clock = clock
        self._grace = grace
        self._tasks: dict[tuple[bytes, str], asyncio.Task[None]] = {}
        self._parked: dict[tuple[bytes, str], Perform] = {}
        self._shown: dict[int, asyncio.Event] = {}
        self._tokens = 0
        self._hooks = Hooks(pool=pool, kits=kits, contents=contents, clock=clock)

    @property
    def under_way(self) -> frozenset[tuple[bytes, str]]:
        """Streams and keys of the effects that are being performed, or wait for their function."""
        return frozenset(self._tasks) | frozenset(self._parked)

    def handle(self, message: Message) -> None:
        """Act on one message."""
        match message:
            case Accepted() | Refused():
                shown = self._shown.pop(message.token, None)
                if shown is not None:
                    shown.set()
            case Perform(effect=effects.RunTool() | effects.CallHook()):
                self._start(message)
            case Perform(effect=effects.SignalAbort(run=run)):
                self._abort(message.stream, run)
            case Perform(effect=Discard()):
                self._discard(message.stream)
            case Notify():
                self._task((message.stream, "listeners"), self._notify(message))
            case Registered():
                for key in [key for key in self._parked if key[0] == message.stream]:
                    self._start(self._parked.pop(key))

    def on_stop(self) -> None:
        """End what can be ended; threads are left to themselves."""
        for task in self._tasks.values():
            task.cancel()

    def _start(self, perform: Perform) -> None:
        key = (perform.stream, perform.effect.key)
        kit = self._kits.of(perform.stream)
        effect = perform.effect
        if isinstance(effect, effects.CallHook):
            if not self._hooks.knows(kit, effect, perform.state):
                self._parked[key] = perform
                return
            self._task(key, self._hook(perform, effect))
        elif isinstance(effect, effects.RunTool):
            if effect.name not in kit.tools:
                self._parked[key] = perform
                return
            self._task(key, self._run(perform, effect))

    def _task(self, key: tuple[bytes, str], coroutine: Any) -> None:
        task = self.loop.create_task(coroutine)
        self._tasks[key] = task

        def done(_: Any) -> None:
            if self._tasks.get(key) is task:
                del self._tasks[key]

        task.add_done_callback(done)

    async def _run(self, perform: Perform, effect: effects.RunTool) -> None:
        signal = self._signals.of(perform.stream, perform.state.active.number, effect.aborted)
        run = ToolRun(
            tool=self._kits.of(perform.stream).tools[effect.name],
            effect=effect,
            state=perform.state,
            signal=signal,
            loop=self.loop,
            pool=self._pool,
            clock=self._clock,
            grace=self._grace,
            report=lambda result: self._report(perform, effect, result),
        )
        contents = self._contents(perform.stream)
        fact, result = await run.outcome(contents)
        self._offer(perform, Offer(fact, *stored_result(contents.key, result)))

    async def _hook(self, perform: Perform, effect: effects.CallHook) -> None:
        signal = self._signals.of(perform.stream, perform.state.active.number, effect.aborted)
        self._offer(perform, await self._hooks.outcome(perform, effect, signal))

    async def _notify(self, message: Notify) -> None:
        failure = await notify(
            message,
            listeners=lambda: self._kits.of(message.stream).listeners,
            contents=self._contents(message.stream),
            pool=self._pool,
            clock=self._clock,
        )
        self._loop.tell(Notified(stream=message.stream, failure=failure))

    async def _report(self, perform: Perform, effect: effects.RunTool, result: ToolResult) -> None:
        """Report progress; returns once it is shown."""
        self._tokens += 1
        shown = self._shown[self._tokens] = asyncio.Event()
        fact = inputs.ToolProgressed(call=effect.call)
        key = self._contents(perform.stream).key
        self._loop.tell(
            Offered(
                stream=perform.stream,
                offers=(Offer(fact, *stored_result(key, result)),),
                sender="tools",
                token=self._tokens,
            )
        )
        await shown.wait()

    def _offer(self, perform: Perform, offer: Offer) -> None:
        self._loop.tell(
            Offered(
                stream=perform.stream,
                offers=(offer,),
                sender="tools",
                done=(perform.effect.key,),
            )
        )

    def _abort(self, stream: bytes, run: int) -> None:
        self._signals.abort(stream, run)
        # What waits for a function that this process does not have will never run.
        for key in [key for key in self._parked if key[0] == stream]:
            perform = self._parked.pop(key)
            if isinstance(perform.effect, effects.RunTool):
                fact, result = ToolRun.missing(perform.effect, self._clock())
                self._offer(perform, Offer(fact, bodies.encode(result)))
            else:
                self._parked[key] = perform

    def _discard(self, stream: bytes) -> None:
        for key, task in list(self._tasks.items()):
            if key[0] == stream and key[1] != "listeners":
                task.cancel()
        for key in [key for key in self._parked if key[0] == stream]:
            del self._parked[key]
