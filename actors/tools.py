"""Tools: runs tools, hooks and awaited listeners, in threads or on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from refold.actors.actor import Address, LoopActor
from refold.actors.blobs import stored_result
from refold.actors.contents import StreamContents
from refold.actors.hook_call import HookCall
from refold.actors.hooks import knows, outcome
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
    Restarted,
)
from refold.actors.signals import Signals
from refold.actors.tool_run import Outcome, ToolRun
from refold.actors.waiters import Waiters
from refold.events.agent import effects, inputs
from refold.events.agent.contents import error_result
from refold.events.agent.messages import ToolResult
from refold.events.agent.wording import OUTCOME_TEXTS
from refold.events.behaviour import Discard
from refold.events.fact import Fact, Offer

Key = tuple[bytes, str]
"""A stream and the key of an effect in it."""


class Tools(LoopActor):
    """Runs what users wrote: nothing it does can hurt more than the run it belongs to.

    Args:
        pool: threads for sync functions.
        clock: ms since 1970 (UTC).
        grace: seconds that a tool has to end after an abort, before its run is given up.
        listener_limit: seconds that an awaited listener may take for one event.
        output_limit: characters of a tool's result that the model is told.
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
        listener_limit: float,
        output_limit: int,
    ) -> None:
        super().__init__(event_loop)
        self._pool = pool
        self._loop = loop
        self._kits = kits
        self._contents = contents
        self._signals = signals
        self._clock = clock
        self._grace = grace
        self._listener_limit = listener_limit
        self._output_limit = output_limit
        self._tasks: dict[Key, asyncio.Task[None]] = {}
        self._runs: dict[Key, ToolRun] = {}
        self._parked: dict[Key, Perform] = {}
        self._shown = Waiters()

    @property
    def under_way(self) -> frozenset[Key]:
        """Streams and keys of the effects that are being performed, or wait for their function."""
        hooks = {key for key in self._tasks if key[1] != "listeners"}
        return frozenset(self._runs) | frozenset(self._parked) | hooks

    def handle(self, message: Message) -> None:
        """Act on one message."""
        match message:
            case Accepted() | Refused():
                self._shown.resolve(message.token, 0)
            case Perform(effect=effects.RunTool() as effect):
                self._run(message, effect)
            case Perform(effect=effects.CallHook() as effect):
                self._call_hook(message, effect)
            case Perform(effect=effects.SignalAbort(run=run)):
                self._abort(message.stream, run)
            case Perform(effect=Discard()):
                self._discard(message.stream)
            case Notify():
                self._task((message.stream, "listeners"), self._notify(message))
            case Restarted():
                self._forget_all()
            case Registered():
                for key in [key for key in self._parked if key[0] == message.stream]:
                    self.handle(self._parked.pop(key))

    def on_stop(self) -> None:
        """End what can be ended; threads are left to themselves."""
        for run in list(self._runs.values()):
            run.drop()
        self._shown.close()
        for task in self._tasks.values():
            task.cancel()

    def abandon(self, message: Message, error: BaseException) -> None:
        """Its runs matter no more: their sessions are recovered."""
        self._forget_all()

    def _run(self, perform: Perform, effect: effects.RunTool) -> None:
        key = (perform.stream, effect.key)
        tool = self._kits.of(perform.stream).tools.get(effect.name)
        if tool is None:
            self._parked[key] = perform
            return
        run = self._runs[key] = ToolRun(
            tool=tool,
            effect=effect,
            state=perform.state,
            signal=self._signals.of(perform.stream, perform.state.active.number, effect.aborted),
            contents=self._contents(perform.stream),
            clock=self._clock,
            deliver=lambda fact, result: self._deliver(key, fact, result),
            note=lambda fact, result: self._offer(key[0], fact, result, done=()),
            report=lambda result: self._report(perform.stream, effect, result),
        )
        if tool.timeout is not None:
            self._give_up_later(key, run, tool.timeout, f"within {tool.timeout:g} s")
        if effect.aborted:
            self._give_up_after_grace(key, run)
        if tool.is_async:
            self._task(key, run.on_loop())
        else:
            self._pool.submit(run.on_thread)

    def _deliver(self, key: Key, fact: Outcome, result: ToolResult) -> None:
        self._runs.pop(key, None)
        self._offer(key[0], fact, result, done=(key[1],))

    def _offer(self, stream: bytes, fact: Fact, result: ToolResult, done: tuple[str, ...]) -> None:
        stored = stored_result(self._contents(stream).key, result, self._output_limit)
        offer = Offer(fact, *stored)
        self._loop.tell(Offered(stream=stream, offers=(offer,), sender="tools", done=done))

    def _task(self, key: Key, coroutine: Any) -> None:
        task = self.loop.create_task(coroutine)
        self._tasks[key] = task

        def done(_: Any) -> None:
            if self._tasks.get(key) is task:
                del self._tasks[key]

        task.add_done_callback(done)

    def _call_hook(self, perform: Perform, effect: effects.CallHook) -> None:
        key = (perform.stream, effect.key)
        if knows(self._kits.of(perform.stream), effect, perform.state):
            self._task(key, self._hook(perform, effect))
        else:
            self._parked[key] = perform

    async def _hook(self, perform: Perform, effect: effects.CallHook) -> None:
        offer = await outcome(
            HookCall(
                stream=perform.stream,
                effect=effect,
                state=perform.state,
                signal=self._signals.of(
                    perform.stream, perform.state.active.number, effect.aborted
                ),
                contents=self._contents(perform.stream),
                kits=self._kits,
                pool=self._pool,
                clock=self._clock,
            )
        )
        self._loop.tell(
            Offered(stream=perform.stream, offers=(offer,), sender="tools", done=(effect.key,))
        )

    async def _notify(self, message: Notify) -> None:
        failure = await notify(
            message,
            listeners=lambda: self._kits.of(message.stream).listeners,
            contents=self._contents(message.stream),
            pool=self._pool,
            clock=self._clock,
            limit=self._listener_limit,
        )
        self._loop.tell(Notified(stream=message.stream, failure=failure))

    def _report(self, stream: bytes, effect: effects.RunTool, result: ToolResult) -> Future[int]:
        """Report progress, from whatever thread; the future is there once it is shown."""
        stored = stored_result(self._contents(stream).key, result, self._output_limit)
        offer = Offer(inputs.ToolProgressed(call=effect.call), *stored)
        token, shown = self._shown.wait()
        self._loop.tell(Offered(stream=stream, offers=(offer,), sender="tools", token=token))
        return shown

    def _abort(self, stream: bytes, run: int) -> None:
        self._signals.abort(stream, run)
        for key, tool_run in list(self._runs.items()):
            if key[0] == stream:
                self._give_up_after_grace(key, tool_run)
        # What waits for a function that this process does not have would wait for ever.
        for key, perform in list(self._parked.items()):
            if key[0] == stream and isinstance(perform.effect, effects.RunTool):
                del self._parked[key]
                fact = inputs.ToolFailed(call=perform.effect.call)
                text = OUTCOME_TEXTS["aborted"].format(name=perform.effect.name)
                self._deliver(key, fact, error_result(text))

    def _give_up_after_grace(self, key: Key, run: ToolRun) -> None:
        self._give_up_later(key, run, self._grace, f"within {self._grace:g} s of the abort")

    def _give_up_later(self, key: Key, run: ToolRun, delay: float, why: str) -> None:
        def give_up() -> None:
            run.give_up(why)
            task = self._tasks.get(key)
            if task is not None:
                task.cancel()

        self.loop.call_later(delay, give_up)

    def _forget_all(self) -> None:
        self.on_stop()
        self._runs.clear()
        self._parked.clear()

    def _discard(self, stream: bytes) -> None:
        for key, run in list(self._runs.items()):
            if key[0] == stream:
                run.drop()
                del self._runs[key]
        for key, task in list(self._tasks.items()):
            if key[0] == stream and key[1] != "listeners":
                task.cancel()
        for key in [key for key in self._parked if key[0] == stream]:
            del self._parked[key]
