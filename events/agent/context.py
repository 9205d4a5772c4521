"""What a model is sent: the canonical request, and what makes it valid for every provider."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import is_
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from refold.events.agent import bodies
from refold.events.agent.contents import (
    Contents,
    Conversation,
    error_result,
    text_blob,
    tools_blob,
    with_images,
)
from refold.events.agent.messages import (
    AssistantMessage,
    CustomMessage,
    Message,
    Text,
    Thinking,
    ThinkingLevel,
    ToolCall,
    ToolResultMessage,
    ToolSpec,
    UserMessage,
)
from refold.events.agent.state import SessionState
from refold.events.agent.wording import OUTCOME_TEXTS


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A model call in refold's own form. From the log it is exact for ever; what goes over the
    wire is rendered from it by the provider.

    Attributes:
        call: number of the model call within the session.
        model: as `provider/id`.
        messages: the conversation as the model sees it, custom messages left out.
    """

    call: int
    model: str
    thinking_level: ThinkingLevel
    system_prompt: str
    tools: tuple[ToolSpec, ...]
    messages: Sequence[Message]

    @property
    def model_id(self) -> str:
        """The model's name at its provider."""
        return self.model.partition("/")[2] or self.model


def request_of(state: SessionState, contents: Contents) -> Request:
    """The request of the model call that `state` is right after (its `model_called`)."""
    run = state.active
    seen: Sequence[Message] = Conversation(run.context, contents, run.counted)
    if run.transform:
        edit = bodies.edit_of(contents.fact(run.transform)[1])
        seen = tuple(_applied(edit, seen, contents))
    if state.customs or run.transform:
        seen = tuple(message for message in seen if not isinstance(message, CustomMessage))
    return Request(
        call=state.model_calls,
        model=run.model,
        thinking_level=run.thinking_level,
        system_prompt=text_blob(run.system_prompt, contents),
        tools=tools_blob(run.tools.digest, contents),
        messages=seen,
    )


def _applied(
    edit: bodies.ContextEdit, seen: Sequence[Message], contents: Contents
) -> Iterator[Message]:
    for part in edit.parts:
        if isinstance(part, tuple):
            yield from seen[part[0] : part[1]]
        else:
            yield with_images(part, contents)


NO_OUTPUT = "(no output)"


def answered(messages: Iterable[Message]) -> Iterator[Message]:
    """The same conversation in a form that every provider takes.

    Every call is answered once, directly behind its message, and no result lacks its call; a call
    without a result gets one that says it was not run. Messages that failed or were aborted keep
    their text and lose their calls; blank texts, and what is empty then, are left out.

    A call and its result are a pair by their place: a result belongs to the first call of its id,
    in the message before it, that has none yet. Servers give ids again, in later messages and even
    within one; where an id has been sent already, the pair goes out with one made from it.
    """
    sent: dict[str, int] = {}
    waiting: list[tuple[str, ToolCall]] = []  # the id in the log, and the call as it goes out
    for message in messages:
        if isinstance(message, ToolResultMessage):
            for place, (id, call) in enumerate(waiting):
                if id == message.tool_call_id:
                    del waiting[place]
                    yield _result(message, call)
                    break
            continue
        if waiting:
            yield from _unanswered(waiting)
            waiting = []
        if isinstance(message, AssistantMessage):
            message = _sound(message)
            calls = message.tool_calls
            if calls:
                distinct = [_distinct(call, sent) for call in calls]
                waiting = [(call.id, new) for call, new in zip(calls, distinct, strict=True)]
                message = _with_calls(message, distinct)
            if message.content:
                yield message
        elif isinstance(message, UserMessage):
            message = _without_blanks(message)
            if message.content:
                yield message
    yield from _unanswered(waiting)


def _result(message: ToolResultMessage, call: ToolCall) -> ToolResultMessage:
    message = _without_blanks(message)
    if not message.content:
        message = replace(message, content=(Text(NO_OUTPUT),))
    return message if message.tool_call_id == call.id else replace(message, tool_call_id=call.id)


def _unanswered(waiting: list[tuple[str, ToolCall]]) -> Iterator[ToolResultMessage]:
    for _, call in waiting:
        text = OUTCOME_TEXTS["unanswered"].format(name=call.name)
        yield ToolResultMessage(
            tool_call_id=call.id,
            tool_name=call.name,
            content=error_result(text).content,
            is_error=True,
        )


def _distinct(call: ToolCall, sent: dict[str, int]) -> ToolCall:
    """The call under an id that was not sent before; `sent` counts how often an id was given."""
    given = id = call.id or "call"
    while id in sent:
        sent[given] += 1
        id = f"{given}_{sent[given]}"
    sent[id] = 1
    return call if id == call.id else replace(call, id=id)


def _with_calls(message: AssistantMessage, calls: list[ToolCall]) -> AssistantMessage:
    if all(map(is_, message.tool_calls, calls)):
        return message
    rest = iter(calls)
    content = (next(rest) if isinstance(b, ToolCall) else b for b in message.content)
    return replace(message, content=tuple(content))


def _blank(block: object) -> bool:
    return isinstance(block, Text) and (not block.text or block.text.isspace())


M = TypeVar("M", UserMessage, ToolResultMessage)


def _without_blanks(message: M) -> M:
    if not any(map(_blank, message.content)):
        return message
    return replace(message, content=tuple(b for b in message.content if not _blank(b)))


def _sound(message: AssistantMessage) -> AssistantMessage:
    failed = message.stop_reason in ("error", "aborted", "interrupted", None)
    kept = [
        block
        for block in message.content
        if not _blank(block) and not (failed and isinstance(block, Thinking | ToolCall))
    ]
    if not any(isinstance(block, Text | ToolCall) for block in kept):
        kept = []
    if len(kept) == len(message.content):
        return message
    return replace(message, content=tuple(kept))
