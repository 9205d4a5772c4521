"""Hooks about a run: what its model sees, what its next turn is, and what else it should hear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from refold.actors.blobs import Blobs, settings_blobs, stored_messages, stored_parts
from refold.actors.door import as_messages
from refold.actors.hook_call import HookCall
from refold.actors.hook_types import AfterTurn, Next
from refold.events.agent import bodies, inputs
from refold.events.agent.contents import Conversation
from refold.events.agent.messages import Message
from refold.events.fact import Offer

TRANSFORMS = ("transform_context", "convert_to_llm")
"""Hooks that make of the context what the model gets, in this order."""


async def transform_context(call: HookCall) -> Offer:
    """Ask what the model is to see instead of the run's context."""
    given = list(call.context())
    wanted: Sequence[Message] = given
    for name in TRANSFORMS:
        if name in call.hooks:
            changed = await call.ask_function(call.hooks[name], list(wanted), call.signal)
            wanted = wanted if changed is None else changed
    if wanted is given:
        return Offer(inputs.HookReturned(call=call.number))
    parts, blobs = stored_parts(call.contents.key, _parts(given, wanted))
    fact = inputs.HookReturned(call=call.number, patched=True)
    return Offer(fact, bodies.encode(bodies.ContextEdit(parts)), blobs)


async def prepare_next_turn(call: HookCall) -> Offer:
    """Ask what changes for the rest of the run."""
    given = _after_turn(call)
    context = list(given.messages)
    wanted = await call.ask(given)
    if wanted is None:
        return Offer(inputs.HookReturned(call=call.number))
    call.expect(isinstance(wanted, Next), wanted, "None or a refold.Next")
    if wanted.tools is not None:
        kit = call.kits.of(call.stream)
        named = {tool.name: tool for tool in wanted.tools}
        call.kits.change(call.stream, tools={**kit.tools, **named})
    key = call.contents.key
    prompt, toolset, blobs = settings_blobs(key, wanted.system_prompt, wanted.tools)
    parts: tuple[Any, ...] | None = None
    body = bodies.encode(())
    images: Blobs = ()
    if wanted.messages is not None:
        edited = _parts(context, wanted.messages)
        put = tuple(part for part in edited if not isinstance(part, tuple))
        put_shapes, body, images = stored_messages(key, put)
        shapes = iter(put_shapes)
        parts = tuple(part if isinstance(part, tuple) else next(shapes) for part in edited)
    fact = inputs.HookReturned(
        call=call.number,
        next_turn=inputs.NextTurn(
            model=wanted.model,
            thinking_level=wanted.thinking_level,
            system_prompt=prompt,
            tools=toolset,
            context=parts,
        ),
    )
    return Offer(fact, body, (*blobs, *images))


async def should_stop_after_turn(call: HookCall) -> Offer:
    """Ask whether the run is to end here."""
    wanted = await call.ask(_after_turn(call))
    return Offer(inputs.HookReturned(call=call.number, stop=bool(wanted)))


async def messages_to_hear(call: HookCall) -> Offer:
    """Ask for messages that a queue has not."""
    given = await call.ask(call.signal)
    messages = as_messages(given, (), call.clock()) if given else ()
    shapes, body, blobs = stored_messages(call.contents.key, messages)
    return Offer(inputs.HookReturned(call=call.number, shapes=shapes), body, blobs)


def _after_turn(call: HookCall) -> AfterTurn:
    run, contents = call.run, call.contents
    assert run.reply is not None
    message: Any = contents.message(run.reply)
    results: Any = tuple(contents.message(head) for head in run.results)
    return AfterTurn(
        message=message,
        tool_results=results,
        messages=call.context(),
        new_messages=Conversation(run.new, contents),
        signal=call.signal,
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
