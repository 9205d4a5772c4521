"""What comes from outside: commands of callers, and the outcomes of effects.

Accepted, they are facts; content stands in their bodies and nowhere else. The comment behind each
says what its body holds (`refold.events.agent.bodies`).
"""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec
from msgspec import UNSET, UnsetType

from refold.events.agent.heads import CallHead, Shape
from refold.events.agent.messages import ErrorKind, StopReason, ThinkingLevel
from refold.events.agent.settings import (
    HookName,
    IdleQueue,
    QueueMode,
    ToolExecution,
    Toolset,
)
from refold.events.agent.usage import Usage
from refold.events.fact import Fact

QueueName = Literal["steering", "follow_up", "next_turn"]
"""Heard before the next model call; answered when the agent would stop; said with the next prompt
of a caller.
"""


class Created(Fact):
    """The first fact of a session."""

    uid: bytes
    name: str


class Renamed(Fact):
    """The session's name is a label, and may change."""

    CRITICAL: ClassVar[bool] = False
    name: str


class SettingsRequested(Fact):
    """New values for some settings; they count from the next run."""

    model: str | UnsetType = UNSET
    thinking_level: ThinkingLevel | UnsetType = UNSET
    system_prompt: bytes | UnsetType = UNSET
    tools: Toolset | UnsetType = UNSET
    steering_mode: QueueMode | UnsetType = UNSET
    follow_up_mode: QueueMode | UnsetType = UNSET
    tool_execution: ToolExecution | UnsetType = UNSET
    idle_queue: IdleQueue | UnsetType = UNSET
    hooks: tuple[HookName, ...] | UnsetType = UNSET
    max_retries: int | UnsetType = UNSET
    retry_delay: int | UnsetType = UNSET
    queue_limit: int | UnsetType = UNSET


class HistoryReplaced(Fact):
    """The conversation is another one from here on. Body: its messages."""

    shapes: tuple[Shape, ...]


class ResetRequested(Fact):
    """Conversation, queues and error are emptied; settings stay."""


class Prompted(Fact):
    """A caller starts a run. Body: the messages."""

    shapes: tuple[Shape, ...]


class Continued(Fact):
    """A caller starts a run from what is there: an unanswered message, or a queued one."""


class Queued(Fact):
    """A message waits in a queue; its version is the item's id. Body: the messages.

    Attributes:
        now: it goes before all that waits, and stops the answer that is being streamed.
    """

    queue: QueueName
    shapes: tuple[Shape, ...]
    now: bool = False


class Cancelled(Fact):
    """A queued item is taken back. `item` is the version of its `queued`."""

    item: int


class Cleared(Fact):
    """Queues are emptied. `items` are the versions of what was in them, filled in by `decide`."""

    queues: tuple[QueueName, ...]
    items: tuple[int, ...] = ()


class AbortRequested(Fact):
    """The active run is to end."""


class ModelDelta(Fact):
    """A piece of a streamed reply. Body: the pieces. The first one may be empty: it began."""

    call: int
    pieces: int = 0


class ModelFinished(Fact):
    """A model call ended as it should, or with an error that the provider told.

    Body: an `AssistantEnd`, with the content only where that is not what the deltas say.

    Attributes:
        whole: the body holds all of the content.
        retry_after: ms that the provider asks to be left alone for.
        translation, wire_digest: how the request was rendered, and the digest of the result.
    """

    call: int
    stop_reason: StopReason
    calls: tuple[CallHead, ...] = ()
    usage: Usage | None = None
    kind: ErrorKind | None = None
    whole: bool = False
    size: int = 0
    retry_after: int | None = None
    translation: str = ""
    wire_digest: bytes = b""


class ModelFailed(Fact):
    """A model call raised. Body: a `Failure`."""

    call: int
    kind: ErrorKind = "unknown"


class RetryDue(Fact):
    """The time before a model call is made again is over. `call` is the one that failed."""

    call: int


class ToolProgressed(Fact):
    """A running tool reports. Body: a `ToolResult`."""

    call: int


class ToolReturned(Fact):
    """A tool returned. Body: a `ToolResult`."""

    call: int
    terminate: bool = False
    size: int = 0


class ToolFailed(Fact):
    """A tool raised, or could not be run. Body: a `ToolResult` that says so."""

    call: int
    size: int = 0


class ToolReturnedLate(Fact):
    """A run that had been given up has ended after all; noted, and no part of the conversation.
    Body: a `ToolResult`.
    """

    CRITICAL: ClassVar[bool] = False
    call: int
    failed: bool = False


class NextTurn(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What `prepare_next_turn` changes for the rest of the run; None leaves a part as it is.

    Attributes:
        context: the run's context from here on: (start, stop) takes messages of the present one,
            a `Shape` puts in the next message of the body.
    """

    model: str | None = None
    thinking_level: ThinkingLevel | None = None
    system_prompt: bytes | None = None
    tools: Toolset | None = None
    context: tuple[tuple[int, int] | Shape, ...] | None = None


class HookReturned(Fact):
    """What a hook wants.

    Attributes:
        call: number of the hook call.
        block: before_tool_call: do not run it. Body: a `Verdict`.
        problem: preparing arguments: they cannot be used. Body: a `Verdict`.
        stop: should_stop_after_turn.
        is_error, terminate: after_tool_call. Body: a `ResultPatch`.
        patched: True if the body changes arguments, result or context.
        next_turn: prepare_next_turn. Body: the messages put in.
        shapes: get_steering_messages and get_follow_up_messages. Body: the messages.
    """

    call: int
    block: bool = False
    problem: bool = False
    stop: bool = False
    is_error: bool | None = None
    terminate: bool | None = None
    patched: bool = False
    next_turn: NextTurn | None = None
    shapes: tuple[Shape, ...] = ()


class HookRaised(Fact):
    """A hook raised. Body: a `Failure`."""

    call: int


class ListenerFailed(Fact):
    """An awaited listener raised, or took too long. Body: a `Failure`."""


class Recovered(Fact):
    """A new process drives the session; what was running in the old one is gone."""


INPUTS: tuple[type[Fact], ...] = (
    Created,
    Renamed,
    SettingsRequested,
    HistoryReplaced,
    ResetRequested,
    Prompted,
    Continued,
    Queued,
    Cancelled,
    Cleared,
    AbortRequested,
    ModelDelta,
    ModelFinished,
    ModelFailed,
    RetryDue,
    ToolProgressed,
    ToolReturned,
    ToolFailed,
    ToolReturnedLate,
    HookReturned,
    HookRaised,
    ListenerFailed,
    Recovered,
)
