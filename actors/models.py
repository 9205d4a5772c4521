"""Models: calls models, and tells the Loop what comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any

from msgspec.structs import replace

from refold.actors.actor import Address, LoopActor
from refold.actors.contents import StreamContents
from refold.actors.gatherer import Gatherer
from refold.actors.kit import Kits
from refold.actors.messages import Accepted, Message, Offered, Perform, Refused, Restarted
from refold.actors.providers.provider import Finish, Provider, StreamEvent
from refold.actors.reply import replied
from refold.actors.signal import AbortSignal
from refold.actors.signals import Signals
from refold.actors.user_code import called, is_being_cancelled, tamed
from refold.events.agent import bodies, effects, inputs
from refold.events.agent.bodies import Failure
from refold.events.agent.context import request_of
from refold.events.behaviour import Discard
from refold.events.canonical import canonical_text
from refold.events.errors import ModelError
from refold.events.fact import Offer


@asynccontextmanager
async def _closing(events: AsyncIterator[StreamEvent]) -> AsyncIterator[AsyncIterator[StreamEvent]]:
    """Close the stream at once when it is left, however that is, and its connection with it."""
    try:
        yield events
    finally:
        if isinstance(events, AsyncGenerator):
            await events.aclose()


class _Stop:
    """Why a call should end before its time: its run was aborted, or a message cannot wait."""

    def __init__(self, run: AbortSignal) -> None:
        self.signal, self.over = run.linked()
        self._run = run
        self._interrupted = False

    def interrupt(self) -> None:
        self._interrupted = True
        self.signal.set()

    def said(self, finish: Finish) -> Finish:
        """The end of the call, as what it really was."""
        if self._interrupted and not self._run.aborted and finish.stop_reason == "aborted":
            return replace(finish, stop_reason="interrupted", error_message=None, error_kind=None)
        return finish


class Models(LoopActor):
    """Calls models on an event loop: many calls at once, no thread for any of them.

    Args:
        resolve: the provider of a model name.
        contents: the contents of a session.
        clock: ms since 1970 (UTC).
        delta_interval: seconds for which pieces of a stream are gathered; 0: each by itself.
    """

    def __init__(
        self,
        *,
        event_loop: asyncio.AbstractEventLoop,
        loop: Address,
        resolve: Callable[[str], Provider],
        contents: Callable[[bytes], StreamContents],
        signals: Signals,
        kits: Kits,
        pool: ThreadPoolExecutor,
        clock: Callable[[], int],
        delta_interval: float,
    ) -> None:
        super().__init__(event_loop)
        self._loop = loop
        self._resolve = resolve
        self._contents = contents
        self._signals = signals
        self._kits = kits
        self._pool = pool
        self._clock = clock
        self._interval = delta_interval
        self._calls: dict[tuple[bytes, int], asyncio.Task[None]] = {}
        self._credits: dict[int, Callable[[], None]] = {}
        self._stops: dict[tuple[bytes, int], _Stop] = {}
        self._tokens = 0

    @property
    def under_way(self) -> frozenset[tuple[bytes, int]]:
        """Streams and numbers of the calls that are being made."""
        return frozenset(self._calls)

    def handle(self, message: Message) -> None:
        """Act on one message."""
        match message:
            case Accepted() | Refused():
                credit = self._credits.pop(message.token, None)
                if credit is not None:
                    credit()
            case Perform(effect=effects.CallModel() as effect):
                self._begin(message, effect)
            case Perform(effect=effects.Wait() as wait):
                key = (message.stream, -wait.call)
                self._calls[key] = task = self.loop.create_task(self._wait(message, wait))
                task.add_done_callback(lambda _: self._calls.pop(key, None))
            case Perform(effect=effects.Interrupt(call=call)):
                stop = self._stops.get((message.stream, call))
                if stop is not None:
                    stop.interrupt()
            case Perform(effect=effects.SignalAbort(run=run)):
                self._signals.abort(message.stream, run)
            case Restarted():
                self.on_stop()
            case Perform(effect=Discard()):
                for (stream, _), task in list(self._calls.items()):
                    if stream == message.stream:
                        task.cancel()

    def on_stop(self) -> None:
        """End all calls."""
        for task in self._calls.values():
            task.cancel()

    def abandon(self, message: Message, error: BaseException) -> None:
        """Its calls are made again by the next one."""
        self.on_stop()

    def _begin(self, perform: Perform, effect: effects.CallModel) -> None:
        key = (perform.stream, effect.call)
        run = perform.state.active.number
        # There before the call is: it can be interrupted from here on.
        stop = self._stops[key] = _Stop(self._signals.of(perform.stream, run, effect.aborted))
        self._calls[key] = task = self.loop.create_task(self._call(perform, effect, stop))

        def ended(_: Any) -> None:
            stop.over()
            del self._stops[key], self._calls[key]

        task.add_done_callback(ended)

    async def _call(self, perform: Perform, effect: effects.CallModel, stop: _Stop) -> None:
        state = perform.state
        gatherer = Gatherer(
            call=effect.call,
            interval=self._interval,
            send=lambda offers, shown: self._offer(perform, offers, shown),
        )
        try:
            request = request_of(state, self._contents(perform.stream))
            provider = self._resolve(request.model)
            finish: Finish | None = None
            extra = await self._key(perform.stream, provider)
            async with _closing(provider.stream(request, stop.signal, **extra)) as events:
                async for event in events:
                    if isinstance(event, Finish):
                        finish = event
                        break
                    await gatherer.take(event)
            if finish is None:
                raise ModelError(
                    f"the provider of {request.model} ended without a word", "protocol"
                )
            gatherer.finish(
                replied(request, stop.said(finish), gatherer, state.active.tools, self._clock())
            )
        except BaseException as error:  # what a provider raises is the outcome of its call
            gatherer.drop()
            if isinstance(error, asyncio.CancelledError) and is_being_cancelled():
                raise
            self._failed(perform, effect, tamed(error))

    async def _key(self, stream: bytes, provider: Provider) -> dict[str, Any]:
        """The API key that the session's hook gives for the provider; recorded nowhere."""
        hook = self._kits.of(stream).hooks.get("get_api_key")
        if hook is None:
            return {}
        try:
            key = await called(hook, self._pool, provider.name)
        except Exception as error:
            # Without its message: that may hold what the hook had got so far.
            raise ModelError(f"get_api_key raised {type(error).__name__}", "auth") from None
        return {} if key is None else {"api_key": key}

    async def _wait(self, perform: Perform, wait: effects.Wait) -> None:
        """Wait before a model call is made again; an abort ends the wait."""
        signal = self._signals.of(perform.stream, wait.run, wait.aborted)
        with suppress(TimeoutError):
            await asyncio.wait_for(signal.wait_async(), wait.delay / 1000)
        self._offer(perform, (Offer(inputs.RetryDue(call=wait.call)),), None)

    def _failed(self, perform: Perform, effect: effects.CallModel, error: BaseException) -> None:
        provider, _, model = perform.state.active.model.partition("/")
        failure = Failure(
            message=canonical_text(str(error)) or type(error).__name__,
            provider=provider,
            model=model,
            timestamp=self._clock(),
        )
        kind: Any = error.kind if isinstance(error, ModelError) else "unknown"
        fact = inputs.ModelFailed(call=effect.call, kind=kind)
        self._offer(perform, (Offer(fact, bodies.encode(failure)),), None)

    def _offer(
        self,
        perform: Perform,
        offers: tuple[Offer, ...],
        shown: Callable[[], None] | None,
    ) -> None:
        """Send inputs; `shown` is called once they are. The last ones come without."""
        token = 0
        if shown is not None:
            token = self._tokens = self._tokens + 1
            self._credits[token] = shown
        self._loop.tell(
            Offered(
                stream=perform.stream,
                offers=offers,
                sender="models",
                token=token,
                done=() if shown else (perform.effect.key,),
            )
        )
