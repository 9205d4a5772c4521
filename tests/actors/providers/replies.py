"""What the tests of the providers share: requests, and what comes of a call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from refold.actors.providers.provider import Began, Finish, Provider, StreamEvent
from refold.actors.signal import AbortSignal
from refold.events.agent.bodies import Piece, assembled
from refold.events.agent.context import Request
from refold.events.agent.messages import (
    AssistantContent,
    Message,
    Text,
    Thinking,
    ThinkingLevel,
    ToolCall,
    ToolSpec,
    UserMessage,
)

T = TypeVar("T")
LIMIT = 30.0
"""Seconds after which a test hangs and fails; none waits that long when it passes."""


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end; one that hangs fails."""

    async def limited() -> T:
        async with asyncio.timeout(LIMIT):
            return await coroutine

    return asyncio.run(limited())


def request(
    *messages: Message,
    model: str = "openai/test-model",
    call: int = 1,
    system_prompt: str = "",
    tools: tuple[ToolSpec, ...] = (),
    thinking_level: ThinkingLevel = "off",
) -> Request:
    """A request; without messages it says hello."""
    return Request(
        call=call,
        model=model,
        thinking_level=thinking_level,
        system_prompt=system_prompt,
        tools=tools,
        messages=messages or (UserMessage(content=(Text("Hello"),)),),
    )


@dataclass(frozen=True)
class Outcome:
    """A call that has ended: what it gave, as it would be recorded."""

    events: tuple[StreamEvent, ...]

    @property
    def finish(self) -> Finish:
        last = self.events[-1]
        assert isinstance(last, Finish)
        return last

    @property
    def began(self) -> bool:
        return any(isinstance(event, Began) for event in self.events)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return tuple(event for event in self.events if isinstance(event, Piece))

    @property
    def content(self) -> tuple[AssistantContent, ...]:
        if self.finish.content is not None:
            return self.finish.content
        return assembled(self.pieces)

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.content if isinstance(block, Text))

    @property
    def thinking(self) -> str:
        return "".join(block.thinking for block in self.content if isinstance(block, Thinking))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(block for block in self.content if isinstance(block, ToolCall))


async def outcome(
    provider: Provider,
    sent: Request | None = None,
    signal: AbortSignal | None = None,
    on: Callable[[StreamEvent], None] = lambda event: None,
) -> Outcome:
    """Call a model; `on` hears of each event as it comes."""
    events: list[StreamEvent] = []
    async for event in provider.stream(sent or request(), signal or AbortSignal()):
        check_order(events, event)
        events.append(event)
        on(event)
    return Outcome(tuple(events))


def check_order(before: Iterable[StreamEvent], event: StreamEvent) -> None:
    """What holds of every stream: Began comes once and before the pieces, Finish last."""
    kinds = [type(earlier) for earlier in before]
    assert Finish not in kinds
    if isinstance(event, Began):
        assert kinds == []
    if isinstance(event, Piece):
        assert kinds[:1] == [Began]
