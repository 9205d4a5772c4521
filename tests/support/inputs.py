"""Inputs of the agent with their bodies, as the actors would make them."""

from __future__ import annotations

from typing import Any

from refold.events.agent import bodies, inputs
from refold.events.agent.bodies import AssistantEnd, Failure, Piece
from refold.events.agent.heads import CallHead, Shape
from refold.events.agent.messages import (
    ErrorKind,
    Message,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from refold.events.agent.settings import ToolHead, Toolset
from refold.events.fact import Offer

UID = bytes(range(16))
SHAPE = Shape(role="user", size=2)


def user(text: str) -> UserMessage:
    """A user's message."""
    return UserMessage(content=(Text(text),))


def created(name: str = "session") -> Offer:
    """The first fact."""
    return Offer(inputs.Created(uid=UID, name=name))


def settings(**given: Any) -> Offer:
    """New settings; `tools` are heads, or names of tools that have nothing special."""
    if "tools" in given:
        heads = tuple(
            tool if isinstance(tool, ToolHead) else ToolHead(name=tool) for tool in given["tools"]
        )
        given["tools"] = Toolset(heads=heads)
    return Offer(inputs.SettingsRequested(**given))


def prompted(*texts: str) -> Offer:
    """A prompt."""
    return Offer(inputs.Prompted(shapes=(SHAPE,) * len(texts)), _body(*texts))


def queued(queue: inputs.QueueName, *texts: str, now: bool = False) -> Offer:
    """A message for a queue."""
    fact = inputs.Queued(queue=queue, shapes=(SHAPE,) * len(texts), now=now)
    return Offer(fact, _body(*texts))


def replaced(*shapes: Shape, messages: tuple[Message, ...] = ()) -> Offer:
    """Another conversation."""
    return Offer(inputs.HistoryReplaced(shapes=shapes), bodies.encode(messages))


def _body(*texts: str) -> bytes:
    return bodies.encode(tuple(user(text) for text in texts))


def delta(call: int, *texts: str, index: int = 0, start: bool = False) -> Offer:
    """More text of a streamed reply."""
    pieces = [Piece("text_start", index)] if start else []
    pieces += [Piece("text_delta", index, text) for text in texts]
    return Offer(inputs.ModelDelta(call=call, pieces=len(pieces)), bodies.encode(tuple(pieces)))


def began(call: int) -> Offer:
    """The model answers, and has said nothing yet."""
    return Offer(inputs.ModelDelta(call=call))


def finished(
    call: int,
    text: str = "",
    *calls: CallHead,
    stop_reason: Any = None,
    error: str | None = None,
    kind: ErrorKind | None = None,
) -> Offer:
    """The end of a reply that says all of it."""
    content: list[Any] = [Text(text)] if text else []
    content += [ToolCall(head.id, head.name) for head in calls]
    end = AssistantEnd(
        provider="test",
        model="model",
        timestamp=1,
        content=tuple(content),
        error_message=error,
        problems=tuple((head.id, "it does not fit") for head in calls if head.problem),
    )
    fact = inputs.ModelFinished(
        call=call,
        stop_reason=stop_reason or ("tool_use" if calls else "stop"),
        calls=calls,
        kind=kind,
        whole=True,
        size=len(text),
    )
    return Offer(fact, bodies.encode(end))


def model_failed(call: int, kind: ErrorKind = "unknown") -> Offer:
    """A provider raised."""
    return Offer(inputs.ModelFailed(call=call, kind=kind), _failure())


def retry_due(call: int) -> Offer:
    """The time before a call is made again is over."""
    return Offer(inputs.RetryDue(call=call))


def returned_late(run: int) -> Offer:
    """A tool that had been given up has returned."""
    return Offer(inputs.ToolReturnedLate(call=run), bodies.encode(_result("late")))


def progressed(run: int, text: str = "half way") -> Offer:
    """A tool reported."""
    return Offer(inputs.ToolProgressed(call=run), bodies.encode(_result(text)))


def returned(run: int, text: str = "done", terminate: bool = False) -> Offer:
    """A tool returned."""
    fact = inputs.ToolReturned(call=run, terminate=terminate, size=len(text))
    return Offer(fact, bodies.encode(_result(text)))


def tool_failed(run: int, text: str = "broken") -> Offer:
    """A tool raised."""
    return Offer(inputs.ToolFailed(call=run, size=len(text)), bodies.encode(_result(text)))


def hook_returned(call: int, body: object = None, **fields: Any) -> Offer:
    """A hook returned; `body` is what its kind of answer holds."""
    fact = inputs.HookReturned(call=call, **fields)
    return Offer(fact, None if body is None else bodies.encode(body))


def hook_raised(call: int) -> Offer:
    """A hook raised."""
    return Offer(inputs.HookRaised(call=call), _failure())


def listener_failed() -> Offer:
    """An awaited listener raised."""
    return Offer(inputs.ListenerFailed(), _failure())


def _failure() -> bytes:
    return bodies.encode(Failure(message="it broke", provider="test", model="model"))


def _result(text: str) -> ToolResult:
    return ToolResult(content=(Text(text),), timestamp=1)
