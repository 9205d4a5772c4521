"""What the machine does by itself, one observable event at a time: marks without content.

The first ten are the lifecycle; what a subscriber sees of them is a projection of mark and state
(`refold.events.agent.lifecycle`).
"""

from __future__ import annotations

from refold.events.agent.inputs import QueueName
from refold.events.agent.settings import HookName
from refold.events.fact import Fact


class AgentStart(Fact):
    """A run begins."""

    run: int


class TurnStart(Fact):
    """A turn begins: at most one model call, and the tools it asks for."""


class MessageStart(Fact):
    """A message becomes visible."""


class MessageUpdate(Fact):
    """More of the streamed message is visible."""


class MessageEnd(Fact):
    """The message is part of the conversation."""


class ToolExecutionStart(Fact):
    """A tool call is taken up. `index` is its place in the assistant message."""

    index: int


class ToolExecutionUpdate(Fact):
    """The tool's report is visible."""

    index: int


class ToolExecutionEnd(Fact):
    """The outcome of a tool call is settled."""

    index: int


class TurnEnd(Fact):
    """The turn is over."""


class AgentEnd(Fact):
    """The run is over; nothing more will be said in it."""


class Settled(Fact):
    """The session rests, and takes the next prompt."""


class Drained(Fact):
    """Queued items go into the conversation, in this order."""

    queue: QueueName
    items: tuple[int, ...]


class ContextBuilt(Fact):
    """What the next model call will see, as an expression over the state.

    Attributes:
        count: the first so many messages of the run's context.
        transform: version of the hook's outcome that edits them; 0 if none.
    """

    count: int
    transform: int = 0


class ModelCalled(Fact):
    """A model is about to be called, with the context built just before."""

    call: int
    model: str


class RetryScheduled(Fact):
    """A model call failed for a passing reason, and will be made again.

    Attributes:
        call: the one that failed; attempt: the how manieth retry this is, from 1.
        delay: ms until then.
    """

    call: int
    attempt: int
    delay: int


class ToolsCalled(Fact):
    """Tools are about to run. `indexes` are places in the assistant message.

    Attributes:
        first: number, within the session, of the first of these runs; the others follow.
    """

    indexes: tuple[int, ...]
    first: int


class HookCalled(Fact):
    """A hook is about to be called. `index` is the tool call it is about."""

    call: int
    hook: HookName | str
    index: int = 0


MARKS: tuple[type[Fact], ...] = (
    AgentStart,
    TurnStart,
    MessageStart,
    MessageUpdate,
    MessageEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    ToolExecutionEnd,
    TurnEnd,
    AgentEnd,
    Settled,
    Drained,
    ContextBuilt,
    ModelCalled,
    RetryScheduled,
    ToolsCalled,
    HookCalled,
)

LIFECYCLE: tuple[type[Fact], ...] = MARKS[:10]
