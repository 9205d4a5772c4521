"""Hooks about one tool call: before its arguments are checked, before it runs, after it ran."""

from __future__ import annotations

from refold.actors.arguments import fitted
from refold.actors.blobs import Blobs, stored_content
from refold.actors.hook_call import HookCall
from refold.actors.hook_types import AfterToolCall, BeforeToolCall, Block, Override
from refold.actors.tool import content_from
from refold.events.agent import bodies, inputs
from refold.events.agent.contents import call_of, tool_result_of
from refold.events.agent.evolve_calls import result_head
from refold.events.agent.heads import MessageHead
from refold.events.agent.messages import Content, ToolCall
from refold.events.agent.state import Call
from refold.events.canonical import Json, canonical_text
from refold.events.errors import ToolArgumentsError
from refold.events.fact import Offer


async def prepare_arguments(call: HookCall) -> Offer:
    """Have the tool itself rewrite the model's arguments, and check what comes of it."""
    wanted = _tool_call(call)
    tool = call.kits.of(call.stream).tools[wanted.name]
    assert tool.prepare_arguments is not None
    prepared = await call.ask_function(tool.prepare_arguments, wanted.arguments.value)
    arguments = Json.of(prepared, "the prepared arguments")
    try:
        fitting = fitted(wanted.name, tool.parameters, arguments)
    except ToolArgumentsError as error:
        fact = inputs.HookReturned(call=call.number, problem=True)
        return Offer(fact, bodies.encode(bodies.Verdict(text=str(error))))
    return _with_arguments(call, fitting)


async def before_tool_call(call: HookCall) -> Offer:
    """Ask whether the tool may run, and with what."""
    wanted = _tool_call(call)
    before = _arguments(call, wanted)
    arguments = before.value
    answer = await call.ask(
        BeforeToolCall(
            tool_call_id=wanted.id,
            tool_name=wanted.name,
            arguments=arguments,
            messages=call.context(),
            signal=call.signal,
        )
    )
    if isinstance(answer, Block):
        fact = inputs.HookReturned(call=call.number, block=True)
        return Offer(fact, bodies.encode(bodies.Verdict(text=canonical_text(answer.reason))))
    call.expect(answer is None, answer, "None or a refold.Block")
    after = Json.of(arguments, "the arguments after before_tool_call")
    if after == before:
        return Offer(inputs.HookReturned(call=call.number))
    return _with_arguments(call, after)


async def after_tool_call(call: HookCall) -> Offer:
    """Ask what to make of the tool's result."""
    wanted = _tool_call(call)
    ended = _batch_call(call)
    answer = await call.ask(
        AfterToolCall(
            tool_call_id=wanted.id,
            tool_name=wanted.name,
            arguments=_arguments(call, wanted).value,
            result=tool_result_of(
                result_head(_reply(call), call.effect.index, ended), call.contents
            ),
            is_error=ended.is_error,
            messages=call.context(),
            signal=call.signal,
        )
    )
    if answer is None:
        return Offer(inputs.HookReturned(call=call.number))
    call.expect(isinstance(answer, Override), answer, "None or a refold.Override")
    content: tuple[Content, ...] | None = None
    blobs: Blobs = ()
    if answer.content is not None:
        content, blobs = stored_content(call.contents.key, content_from(answer.content))
    patch = bodies.ResultPatch(
        content=content,
        details=None if answer.details is None else Json.of(answer.details, "details"),
        usage=answer.usage,
        terminate=answer.terminate,
    )
    fact = inputs.HookReturned(
        call=call.number,
        is_error=answer.is_error,
        terminate=answer.terminate,
        patched=patch != bodies.ResultPatch(),
    )
    return Offer(fact, bodies.encode(patch), blobs)


def _with_arguments(call: HookCall, arguments: Json) -> Offer:
    fact = inputs.HookReturned(call=call.number, patched=True)
    return Offer(fact, bodies.encode(bodies.Verdict(arguments=arguments)))


def _reply(call: HookCall) -> MessageHead:
    assert call.run.reply is not None
    return call.run.reply


def _batch_call(call: HookCall) -> Call:
    assert call.run.batch is not None
    return call.run.batch.calls[call.effect.index]


def _tool_call(call: HookCall) -> ToolCall:
    return call_of(_reply(call), call.effect.index, call.contents)


def _arguments(call: HookCall, wanted: ToolCall) -> Json:
    checked = _batch_call(call).checked
    if checked:
        verdict = bodies.verdict_of(call.contents.fact(checked)[1])
        if verdict.arguments is not None:
            return verdict.arguments
    tool = call.kits.of(call.stream).tools[wanted.name]
    return call.contents.arguments(_reply(call), call.effect.index, tool.parameters)
