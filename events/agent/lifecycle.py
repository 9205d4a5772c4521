"""What subscribers see: the lifecycle of a run, with its content.

Each is the projection of a mark in the log and the state around it (`projection.Projector`).
`version` is the mark's place in the session's log, so `session.at(event.version)` is the state
right after it.
"""

from __future__ import annotations

import msgspec

from refold.events.agent.bodies import Piece
from refold.events.agent.contents import Contents, Conversation
from refold.events.agent.heads import MessageHead
from refold.events.agent.messages import (
    AssistantMessage,
    Message,
    ToolResult,
    ToolResultMessage,
)
from refold.events.canonical import Json


class Lifecycle(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The base of all lifecycle events."""

    version: int


class AgentStart(Lifecycle, frozen=True, kw_only=True):
    """A run begins. `run` counts the runs of the session."""

    run: int


class TurnStart(Lifecycle, frozen=True, kw_only=True):
    """A turn begins."""


class MessageStart(Lifecycle, frozen=True, kw_only=True):
    """A message becomes visible; one that streams is still empty."""

    message: Message


class MessageUpdate(Lifecycle, frozen=True, kw_only=True):
    """More of a streamed message. `pieces` are what is new."""

    pieces: tuple[Piece, ...]
    head: MessageHead
    contents: Contents

    @property
    def delta(self) -> str:
        """The new text of the answer itself, joined; its thinking is left out."""
        return "".join(piece.text for piece in self.pieces if piece.kind == "text_delta")

    @property
    def message(self) -> AssistantMessage:
        """The message so far; read from the log when asked for."""
        message = self.contents.message(self.head)
        assert isinstance(message, AssistantMessage)
        return message


class MessageEnd(Lifecycle, frozen=True, kw_only=True):
    """A message is part of the conversation."""

    message: Message


class ToolExecutionStart(Lifecycle, frozen=True, kw_only=True):
    """A tool call is taken up. `arguments` are as the model gave them."""

    tool_call_id: str
    tool_name: str
    arguments: Json


class ToolExecutionUpdate(Lifecycle, frozen=True, kw_only=True):
    """A running tool reports."""

    tool_call_id: str
    tool_name: str
    arguments: Json
    partial_result: ToolResult


class ToolExecutionEnd(Lifecycle, frozen=True, kw_only=True):
    """The outcome of a tool call stands."""

    tool_call_id: str
    tool_name: str
    result: ToolResult
    is_error: bool


class TurnEnd(Lifecycle, frozen=True, kw_only=True):
    """A turn is over: the model's message, and the results of its tools."""

    message: AssistantMessage
    tool_results: tuple[ToolResultMessage, ...]


class AgentEnd(Lifecycle, frozen=True, kw_only=True):
    """A run is over. `messages` are those that came in it."""

    messages: Conversation


LifecycleEvent = (
    AgentStart
    | TurnStart
    | MessageStart
    | MessageUpdate
    | MessageEnd
    | ToolExecutionStart
    | ToolExecutionUpdate
    | ToolExecutionEnd
    | TurnEnd
    | AgentEnd
)
