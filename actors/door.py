"""What callers hand in, brought into canonical form on their own thread, before it is offered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast, get_args

from msgspec import UNSET
from msgspec.structs import replace

from refold.actors.blobs import settings_blobs, stored_messages
from refold.actors.tool import Tool
from refold.events.agent import inputs
from refold.events.agent.messages import (
    AssistantMessage,
    CustomMessage,
    Image,
    Message,
    Text,
    Thinking,
    ThinkingLevel,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from refold.events.agent.settings import HookName, IdleQueue, QueueMode, ToolExecution
from refold.events.canonical import canonical_text
from refold.events.errors import InvalidArgumentError
from refold.events.fact import Offer

Prompt = str | Message | Sequence[Message]
"""What starts a run, or waits in a queue: text, a message, or several."""

T = TypeVar("T")


def as_messages(given: Prompt, images: Sequence[Image], time: int) -> tuple[Message, ...]:
    """`given` as canonical messages; text and images become one user message.

    Raises:
        InvalidArgumentError: it is empty, or something else.
    """
    if isinstance(given, str):
        message = UserMessage(content=(Text(given), *images), timestamp=time)
        return (_canonical(message, time),)
    if isinstance(given, UserMessage | AssistantMessage | ToolResultMessage | CustomMessage):
        return (_canonical(given, time),)
    several: Any = given
    if isinstance(several, Sequence) and several and not isinstance(several, bytes):
        return tuple(_canonical(message, time) for message in several)
    raise InvalidArgumentError(
        f"{given!r} is no prompt: give text, a message, or a list of at least one message"
    )


def _canonical(message: Any, time: int) -> Message:
    if isinstance(message, CustomMessage):
        return replace(message, timestamp=message.timestamp or time)
    if not isinstance(message, UserMessage | AssistantMessage | ToolResultMessage):
        raise InvalidArgumentError(
            f"{message!r} is no message: give a UserMessage, AssistantMessage, "
            "ToolResultMessage or CustomMessage"
        )
    given: Any = message.content
    blocks = (Text(given),) if isinstance(given, str) else given
    content = cast("Any", tuple(canonical_block(block) for block in blocks))
    return replace(message, content=content, timestamp=message.timestamp or time)


def canonical_block(block: Any) -> Any:
    """A content block in canonical form.

    Raises:
        InvalidArgumentError: it is none.
    """
    match block:
        case Text():
            return replace(block, text=canonical_text(block.text))
        case Thinking():
            return replace(block, thinking=canonical_text(block.thinking))
        case ToolCall():
            return replace(block, name=canonical_text(block.name), id=canonical_text(block.id))
        case Image() if block.data or block.blob:
            return block
    raise InvalidArgumentError(f"{block!r} is no content block of a message")


def carrying(
    fact: type[inputs.Prompted] | type[inputs.HistoryReplaced],
    key: bytes,
    messages: Sequence[Message],
) -> Offer:
    """An input that carries messages."""
    shapes, body, blobs = stored_messages(key, messages)
    return Offer(fact(shapes=shapes), body, blobs)


def queued(
    key: bytes, queue: inputs.QueueName, messages: Sequence[Message], now: bool = False
) -> Offer:
    """Messages for a queue; with `now` they go before all that waits."""
    shapes, body, blobs = stored_messages(key, messages)
    return Offer(inputs.Queued(queue=queue, shapes=shapes, now=now), body, blobs)


def settings(
    key: bytes,
    *,
    model: str | None = None,
    thinking_level: ThinkingLevel | None = None,
    system_prompt: str | None = None,
    tools: Sequence[Tool] | None = None,
    steering_mode: QueueMode | None = None,
    follow_up_mode: QueueMode | None = None,
    tool_execution: ToolExecution | None = None,
    idle_queue: IdleQueue | None = None,
    hooks: Mapping[str, Any] | None = None,
    max_retries: int | None = None,
    retry_delay: int | None = None,
    queue_limit: int | None = None,
) -> Offer:
    """New settings; None leaves one as it is.

    Raises:
        InvalidArgumentError: a value is none of those allowed.
    """
    if tools is not None:
        _check_tools(tools)
    prompt, toolset, blobs = settings_blobs(key, system_prompt, tools)
    fact = inputs.SettingsRequested(
        model=UNSET if model is None else model,
        thinking_level=_one_of(ThinkingLevel, thinking_level, "thinking_level"),
        system_prompt=UNSET if prompt is None else prompt,
        tools=UNSET if toolset is None else toolset,
        steering_mode=_one_of(QueueMode, steering_mode, "steering_mode"),
        follow_up_mode=_one_of(QueueMode, follow_up_mode, "follow_up_mode"),
        tool_execution=_one_of(ToolExecution, tool_execution, "tool_execution"),
        idle_queue=_one_of(IdleQueue, idle_queue, "idle_queue"),
        hooks=UNSET if hooks is None else _hook_names(hooks),
        max_retries=_at_least(0, max_retries, "max_retries"),
        retry_delay=_at_least(0, retry_delay, "retry_delay"),
        queue_limit=_at_least(1, queue_limit, "queue_limit"),
    )
    return Offer(fact, None, blobs)


def _check_tools(tools: Sequence[Tool]) -> None:
    names = set()
    for tool in tools:
        if not isinstance(tool, Tool):
            raise InvalidArgumentError(f"{tool!r} is no tool: decorate it with @refold.tool")
        if tool.name in names:
            raise InvalidArgumentError(f"two tools have the name {tool.name!r}: rename one")
        names.add(tool.name)


def _one_of(kind: Any, value: Any, name: str) -> Any:
    if value is None:
        return UNSET
    allowed = get_args(kind)
    if value not in allowed:
        raise InvalidArgumentError(
            f"{name} cannot be {value!r}: it is one of {', '.join(map(repr, allowed))}"
        )
    return value


def _at_least(least: int, value: int | None, name: str) -> Any:
    if value is None:
        return UNSET
    number: Any = value
    if not isinstance(number, int) or number < least:
        raise InvalidArgumentError(f"{name} cannot be {value!r}: it is a number from {least}")
    return value


EDGE_HOOKS = ("get_api_key",)
"""Hooks that no run waits for, and whose outcomes are recorded nowhere."""


def _hook_names(hooks: Mapping[str, Any]) -> tuple[HookName, ...]:
    for name in hooks:
        if name not in EDGE_HOOKS:
            _one_of(HookName, name, "a hook")
    return tuple(name for name in get_args(HookName) if name in hooks)
