"""Calling hooks: what they are given, and how what they give back becomes a fact."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from refold.actors.arguments import fitted
from refold.actors.blobs import (
    Blobs,
    settings_blobs,
    stored_content,
    stored_messages,
    stored_parts,
)
from refold.actors.contents import StreamContents
from refold.actors.door import as_messages
from refold.actors.hook_types import (
    AfterToolCall,
    AfterTurn,
    BeforeToolCall,
    Block,
    Next,
    Override,
)
from refold.actors.kit import Kit, Kits
from refold.actors.listeners import called
from refold.actors.messages import Perform
from refold.actors.signal import AbortSignal
from refold.actors.tool import content_from
from refold.events.agent import bodies, effects, inputs
from refold.events.agent.batch import PREPARE_ARGUMENTS
from refold.events.agent.contents import Conversation, call_of, tool_result_of
from refold.events.agent.evolve_calls import result_head
from refold.events.agent.messages import Content, Message, ToolCall
from refold.events.agent.state import Phase, SessionState
from refold.events.canonical import Json, canonical_text
from refold.events.errors import InvalidArgumentError, ToolArgumentsError
from refold.events.fact import Offer

_TRANSFORMS = ("transform_context", "convert_to_llm")
"""Hooks that make of the context what the model gets, in this order."""


class Hooks:
    """Calls the hooks of all sessions."""

    def __init__(
        self,
        *,
        pool: ThreadPoolExecutor,
        kits: Kits,
        contents: Callable[[bytes], StreamContents],
        clock: Callable[[], int],
    ) -> None:
        self._pool = pool
        self._kits = kits
        self._contents = contents
        self._clock = clock

    def knows(self, kit: Kit, effect: effects.CallHook, state: SessionState) -> bool:
        """True if this process has the function."""
        if effect.hook == PREPARE_ARGUMENTS:
            return _call_head(state, effect.index) in kit.tools
        if effect.hook == "transform_context":
            return all(hook in kit.hooks for hook in _TRANSFORMS if hook in state.settings.hooks)
        return effect.hook in kit.hooks

    async def outcome(
        self, perform: Perform, effect: effects.CallHook, signal: AbortSignal
    ) -> Offer:
        """Call the hook; what it returned, or that it raised, as an input."""
        try:
            return await _RULES[effect.hook](self, perform, effect, signal)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return self._raised(perform, effect, RuntimeError("the hook was cancelled"))
        except BaseException as error:  # a hook's SystemExit is its failure, no more
            return self._raised(perform, effect, error)

    def _raised(self, perform: Perform, effect: effects.CallHook, error: BaseException) -> Offer:
        provider, _, model = perform.state.active.model.partition("/")
        failure = bodies.Failure(
            message=canonical_text(str(error)) or type(error).__name__,
            provider=provider,
            model=model,
            timestamp=self._clock(),
        )
        return Offer(inputs.HookRaised(call=effect.call), bodies.encode(failure))

    async def _transform(
        self, perform: Perform, effect: effects.CallHook, signal: AbortSignal
    ) -> Offer:
        context = _context(perform.state, self._contents(perform.stream))
        given = list(context)
        hooks = self._kits.of(perform.stream).hooks
        wanted: Sequence[Message] = given
        for name in _TRANSFORMS:
            if name in hooks:
                changed = await called(hooks[name], self._pool, list(wanted), signal)
                wanted = wanted if changed is None else changed
        if wanted is given:
            return Offer(inputs.HookReturned(call=effect.call))
        key = self._contents(perform.stream).key
        parts, blobs = stored_parts(key, _parts(given, wanted))
        fact = inputs.HookReturned(call=effect.call, patched=True)
        return Offer(fact, bodies.encode(bodies.ContextEdit(parts)), blobs)

    async def _prepare(
        self, perform: Perform, effect: effects.CallHook, signal: AbortSignal
    ) -> Offer:
        call = _call(perform, effect, self._contents(perform.stream))
        tool = self._kits.of(perform.stream).tools[call.name]
        assert tool.prepare_arguments is not None
        prepared = await called(tool.prepare_arguments, self._pool, call.arguments.value)
        arguments = Json.of(prepared, "the prepared arguments")
        try:
            fitting = fitted(call.name, tool.parameters, arguments)
        except ToolArgumentsError as error:
            verdict = bodies.Verdict(text=str(error))
            fact = inputs.HookReturned(call=effect.call, problem=True)
            return Offer(fact, bodies.encode(verdict))
        fact = inputs.HookReturned(call=effect.call, patched=True)
        return Offer(fact, bodies.encode(bodies.Verdict(arguments=fitting)))

    async def _before(
        self, perform: Perform, effect: effects.CallHook, signal: AbortSignal
    ) -> Offer:
        contents = self._contents(perform.stream)
        call = _call(perform, effect, contents)
        before = self._arguments(perform, effect, call, contents)
        arguments = before.value
        given = BeforeToolCall(
            tool_call_id=call.id,
            tool_name=call.name,
            arguments=arguments,
            messages=_context(perform.state, contents),
            signal=signal,
        )
        wanted = await called(self._hook(perform, effect), self._pool, given)
        if isinstance(wanted, Block):
            verdict = bodies.Verdict(text=canonical_text(wanted.reason))
            fact = inputs.HookReturned(call=effect.call, block=True)
            return Offer(fact, bodies.encode(verdict))
        _expect(wanted is None, effect, wanted, "None or a refold.Block")
        after = Json.of(arguments, "the arguments after before_tool_call")
        if after == before:
            return Offer(inputs.HookReturned(call=effect.call))
        fact = inputs.HookReturned(call=effect.call, patched=True)
        return Offer(fact, bodies.encode(bodies.Verdict(arguments=after)))

    async def _after(
        self, perform: Perform, effect: effects.CallHook, signal: AbortSignal
    ) -> Offer:
        contents = self._contents(perform.stream)
        call = _call(perform, effect, contents)
        state = perform.state
        batch_call = state.active.batch.calls[effect.index]
        head = result_head(state.active.reply, effect.index, batch_call)
        given = AfterToolCall(
            tool_call_id=call.id,
            tool_name=call.name,
            arguments=self._arguments(perform, effect, call, contents).value,
            result=tool_result_of(head, contents),
            is_error=batch_call.is_error,
            messages=_context(state, contents),
            signal=signal,
        )
        wanted = await called(self._hook(perform, effect), self._pool, given)
        if wanted is None:
            return Offer(inputs.HookReturned(call=effect.call))
        _expect(isinstance(wanted, Override), effect, wanted, "None or a refold.Override")
        content: tuple[Content, ...] | None = None
        blobs: Blobs = ()
        if wanted.content is not None:
            content, blobs = stored_content(contents.key, content_from(wanted.content))
        patch = bodies.ResultPatch(
            content=content,
            details=None if wanted.details is None else Json.of(wanted.details, "details"),
            usage=wanted.usage,
            terminate=wanted.terminate,
        )
        fact = inputs.HookReturned(
            call=effect.call,
            is_error=wanted.is_error,
            terminate=wanted.terminate,
            patched=patch != bodies.ResultPatch(),
        )
        return Offer(fact, bodies.encode(patch), blobs)

    async def _next_turn(
        self, perform: Perform, effect: effects.CallHook, signal: AbortSignal
    ) -> Offer:
        contents = self._contents(perform.stream)
        given = _after_turn(perform.state, contents, signal)
        context = list(given.messages)
        wanted = await called(self._hook(perform, effect), self._pool, given)
        if wanted is None:
            return Offer(inputs.HookReturned(call=effect.call))
        _expect(isinstance(wanted, Next), effect, wanted, "None or a refold.Next")
        if wanted.tools is not None:
            kit = self._kits.of(perform.stream)
            named = {tool.name: tool for tool in wanted.tools}
            self._kits.change(perform.stream, tools={**kit.tools, **named})
        prompt, toolset, blobs = settings_blobs(contents.key, wanted.system_prompt, wanted.tools)
        parts: tuple[Any, ...] | None = None
        body = bodies.encode(())
        if wanted.messages is not None:
            edited = tuple(_parts(context, wanted.messages))
            put: tuple[Message, ...] = tuple(part for part in edited if not isinstance(part, tuple))
            given_shapes, body, images = stored_messages(contents.key, put)
            shapes, blobs = iter(given_shapes), (*blobs, *images)
            parts = tuple(p if isinstance(p, tuple) else next(shapes) for p in edited)
        fact = inputs.HookReturned(
            call=effect.call,
            next_turn=inputs.NextTurn(
                model=wanted.model,
                thinking_level=wanted.thinking_level,
                system_prompt=prompt,
                tools=toolset,
                context=parts,
            ),
        )
        return Offer(fact, body, blobs)

    async def _should_stop(
        self, perform: Perform, effect: effects.CallHook, signal: AbortSignal
    ) -> Offer:
        given = _after_turn(perform.state, self._contents(perform.stream), signal)
        wanted = await called(self._hook(perform, effect), self._pool, given)
        return Offer(inputs.HookReturned(call=effect.call, stop=bool(wanted)))

    async def _messages(
        self, perform: Perform, effect: effects.CallHook, signal: AbortSignal
    ) -> Offer:
        given = await called(self._hook(perform, effect), self._pool, signal)
        messages = as_messages(given, (), self._clock()) if given else ()
        key = self._contents(perform.stream).key
        shapes, body, blobs = stored_messages(key, messages)
        return Offer(inputs.HookReturned(call=effect.call, shapes=shapes), body, blobs)

    def _hook(self, perform: Perform, effect: effects.CallHook) -> Callable[..., Any]:
        return self._kits.of(perform.stream).hooks[effect.hook]

    def _arguments(
        self,
        perform: Perform,
        effect: effects.CallHook,
        call: ToolCall,
        contents: StreamContents,
    ) -> Json:
        checked = perform.state.active.batch.calls[effect.index].checked
        if checked:
            verdict = bodies.verdict_of(contents.fact(checked)[1])
            if verdict.arguments is not None:
                return verdict.arguments
        tool = self._kits.of(perform.stream).tools[call.name]
        return fitted(call.name, tool.parameters, call.arguments)


def _expect(right: bool, effect: effects.CallHook, value: Any, wanted: str) -> None:
    if not right:
        raise InvalidArgumentError(
            f"{effect.hook} returned a {type(value).__name__}: it may return {wanted}"
        )


def _call_head(state: SessionState, index: int) -> str:
    batch = state.active.batch
    assert batch is not None
    return batch.calls[index].head.name


def _call(perform: Perform, effect: effects.CallHook, contents: StreamContents) -> ToolCall:
    return call_of(perform.state.active.reply, effect.index, contents)


def _context(state: SessionState, contents: StreamContents) -> Conversation:
    """The run's context; the results of a batch join it together, when the batch is over."""
    run = state.active
    told = len(run.results) if state.phase is Phase.BATCH else 0
    return Conversation(run.context, contents, len(run.context) - told)


def _after_turn(state: SessionState, contents: StreamContents, signal: AbortSignal) -> AfterTurn:
    run = state.active
    assert run.reply is not None
    message: Any = contents.message(run.reply)
    results: Any = tuple(contents.message(head) for head in run.results)
    return AfterTurn(
        message=message,
        tool_results=results,
        messages=_context(state, contents),
        new_messages=Conversation(run.new, contents),
        signal=signal,
    )


def _parts(given: Sequence[Message], wanted: Sequence[Message]) -> list[Any]:
    """`wanted` as ranges of `given` (by identity, else by equality) and messages put in."""
    places = {id(message): place for place, message in enumerate(given)}
    equals = {message: place for place, message in enumerate(given)}
    parts: list[Any] = []
    for message in wanted:
        place = places.get(id(message), equals.get(message))
        if place is None:
            parts.append(message)
        elif parts and isinstance(parts[-1], tuple) and parts[-1][1] == place:
            parts[-1] = (parts[-1][0], place + 1)
        else:
            parts.append((place, place + 1))
    return parts


_RULES: dict[str, Callable[..., Awaitable[Offer]]] = {
    "transform_context": Hooks._transform,
    PREPARE_ARGUMENTS: Hooks._prepare,
    "before_tool_call": Hooks._before,
    "after_tool_call": Hooks._after,
    "prepare_next_turn": Hooks._next_turn,
    "should_stop_after_turn": Hooks._should_stop,
    "get_steering_messages": Hooks._messages,
    "get_follow_up_messages": Hooks._messages,
}
