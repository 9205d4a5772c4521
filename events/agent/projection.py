"""From marks and states to what people hold: lifecycle events, and the state of an agent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgspec

from refold.events.agent import bodies, facts
from refold.events.agent import lifecycle as seen
from refold.events.agent.contents import (
    Contents,
    Conversation,
    arguments_of,
    text_blob,
    tool_result_of,
    tools_blob,
)
from refold.events.agent.evolve_calls import result_head
from refold.events.agent.messages import (
    AssistantMessage,
    Message,
    ThinkingLevel,
    ToolResultMessage,
    ToolSpec,
)
from refold.events.agent.state import Life, Phase, SessionState
from refold.events.fact import Fact


class AgentState(msgspec.Struct, frozen=True, kw_only=True):
    """An agent at one moment, live or past.

        message_start          streaming_message = message
        message_update         streaming_message = message so far
        message_end            messages + message; streaming_message = None
        tool_execution_start   pending_tool_calls + id
        tool_execution_end     pending_tool_calls - id
        turn_end               error_message, if the turn failed
        agent_end              streaming_message = None; is_streaming = False

    Attributes:
        version: how many events of the session's log it is the fold of.
        model: as `provider/id`.
        messages: the conversation; read from the log when asked for.
    """

    version: int
    system_prompt: str
    model: str
    thinking_level: ThinkingLevel
    tools: tuple[ToolSpec, ...]
    messages: Conversation
    is_streaming: bool
    streaming_message: Message | None
    pending_tool_calls: tuple[str, ...]
    error_message: str | None


def agent_state(state: SessionState, contents: Contents) -> AgentState:
    """What people see of a machine's state."""
    settings = state.settings
    error = contents.message(state.error) if state.error else None
    return AgentState(
        version=state.version,
        system_prompt=text_blob(settings.system_prompt, contents),
        model=settings.model,
        thinking_level=settings.thinking_level,
        tools=tools_blob(settings.tools.digest, contents),
        messages=Conversation(state.messages, contents),
        is_streaming=state.phase not in (Phase.IDLE, Phase.START, Phase.SETTLE),
        streaming_message=contents.message(state.shown) if state.shown else None,
        pending_tool_calls=pending_tool_calls(state),
        error_message=error.error_message if isinstance(error, AssistantMessage) else None,
    )


def pending_tool_calls(state: SessionState) -> tuple[str, ...]:
    """The ids of the calls that have been taken up and have not ended."""
    batch = state.run.batch if state.run else None
    return tuple(
        call.head.id
        for call in (batch.calls if batch else ())
        if Life.STARTED <= call.life < Life.ENDED
    )


def project(
    before: SessionState, fact: Fact, after: SessionState, contents: Contents
) -> seen.LifecycleEvent | None:
    """The lifecycle event of a mark, given the states around it; None for any other fact."""
    rule = _PROJECTIONS.get(type(fact))
    return rule(before, fact, after, contents) if rule else None


def _message_start(_: Any, __: Any, after: SessionState, contents: Contents) -> seen.MessageStart:
    assert after.shown is not None
    return seen.MessageStart(version=after.version, message=contents.message(after.shown))


def _message_update(
    before: SessionState, _: Any, after: SessionState, contents: Contents
) -> seen.MessageUpdate:
    stream = before.active.stream
    assert stream is not None
    assert after.shown is not None
    since = stream.shown or stream.since
    return seen.MessageUpdate(
        version=after.version,
        pieces=tuple(
            piece
            for body in contents.deltas(since, stream.arrived)
            for piece in bodies.pieces_of(body)
        ),
        head=after.shown,
        contents=contents,
    )


def _message_end(_: Any, __: Any, after: SessionState, contents: Contents) -> seen.MessageEnd:
    return seen.MessageEnd(version=after.version, message=contents.message(after.messages[-1]))


def _call(after: SessionState, index: int, contents: Contents) -> dict[str, Any]:
    run = after.active
    assert run.batch is not None
    assert run.reply is not None
    head = run.batch.calls[index].head
    return {"version": after.version, "tool_call_id": head.id, "tool_name": head.name}


def _tool_start(
    _: Any, fact: facts.ToolExecutionStart, after: SessionState, contents: Contents
) -> seen.ToolExecutionStart:
    reply = after.active.reply
    assert reply is not None
    return seen.ToolExecutionStart(
        **_call(after, fact.index, contents), arguments=arguments_of(reply, fact.index, contents)
    )


def _tool_update(
    _: Any, fact: facts.ToolExecutionUpdate, after: SessionState, contents: Contents
) -> seen.ToolExecutionUpdate:
    run = after.active
    assert run.reply is not None
    assert run.batch is not None
    _fact, body = contents.fact(run.batch.showing)
    return seen.ToolExecutionUpdate(
        **_call(after, fact.index, contents),
        arguments=arguments_of(run.reply, fact.index, contents),
        partial_result=bodies.result_of(body),
    )


def _tool_end(
    _: Any, fact: facts.ToolExecutionEnd, after: SessionState, contents: Contents
) -> seen.ToolExecutionEnd:
    run = after.active
    assert run.batch is not None
    assert run.reply is not None
    call = run.batch.calls[fact.index]
    return seen.ToolExecutionEnd(
        **_call(after, fact.index, contents),
        result=tool_result_of(result_head(run.reply, fact.index, call), contents),
        is_error=call.is_error,
    )


def _turn_end(_: Any, __: Any, after: SessionState, contents: Contents) -> seen.TurnEnd:
    run = after.active
    assert run.reply is not None
    return seen.TurnEnd(
        version=after.version,
        message=cast("AssistantMessage", contents.message(run.reply)),
        tool_results=tuple(
            cast("ToolResultMessage", contents.message(head)) for head in run.results
        ),
    )


def _agent_end(_: Any, __: Any, after: SessionState, contents: Contents) -> seen.AgentEnd:
    return seen.AgentEnd(version=after.version, messages=Conversation(after.active.new, contents))


_PROJECTIONS: dict[type[Fact], Callable[..., seen.LifecycleEvent]] = {
    facts.AgentStart: lambda _, fact, after, __: seen.AgentStart(
        version=after.version, run=fact.run
    ),
    facts.TurnStart: lambda _, __, after, ___: seen.TurnStart(version=after.version),
    facts.MessageStart: _message_start,
    facts.MessageUpdate: _message_update,
    facts.MessageEnd: _message_end,
    facts.ToolExecutionStart: _tool_start,
    facts.ToolExecutionUpdate: _tool_update,
    facts.ToolExecutionEnd: _tool_end,
    facts.TurnEnd: _turn_end,
    facts.AgentEnd: _agent_end,
}
