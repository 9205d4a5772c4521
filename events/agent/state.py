"""The state of a session, as its machine sees it: heads, versions and phases, no content.

It is a fold of the session's facts (`refold.events.agent.evolve`). What users hold is a projection
of it (`refold.events.agent.projection.AgentState`).
"""

from __future__ import annotations

from enum import IntEnum, StrEnum

import msgspec

from refold.events.agent.heads import CallHead, MessageHead, Outcome
from refold.events.agent.inputs import QueueName
from refold.events.agent.messages import ThinkingLevel
from refold.events.agent.settings import Settings, Toolset
from refold.events.vector import Vector


class Phase(StrEnum):
    """Where the machine is. What each phase may receive is one table: `agent.phases`."""

    IDLE = "idle"
    START = "start"
    TURN = "turn"
    INJECT = "inject"
    TRANSFORM = "transform"
    CONTEXT = "context"
    CALL = "call"
    STREAM = "stream"
    RETRY = "retry"
    BATCH = "batch"
    TURN_END = "turn_end"
    PREPARE_NEXT = "prepare_next"
    SHOULD_STOP = "should_stop"
    POLL = "poll"
    FAILING = "failing"
    AGENT_END = "agent_end"
    SETTLE = "settle"


class Life(IntEnum):
    """The life of a tool call, in order; what fails at once goes from `STARTED` to `SETTLED`."""

    NEW = 0
    STARTED = 1
    PREPARING = 2
    PREPARED = 3
    HOOKING = 4
    READY = 5
    RUNNING = 6
    RETURNED = 7
    AFTERING = 8
    SETTLED = 9
    ENDED = 10
    TOLD = 11


class Item(msgspec.Struct, frozen=True, gc=False):
    """A queued item; `id` is the version of its `queued` fact."""

    id: int
    heads: tuple[MessageHead, ...]


class Stream(msgspec.Struct, frozen=True, gc=False):
    """A model call under way.

    Attributes:
        call: its number in the session; since: version of its `model_called`.
        began: something came of it.
        open: its message has been shown; shown: version of the last delta that was.
        arrived: version of a delta that came and is not shown yet, 0 if none.
        finished: the head of the final message, once it came.
    """

    call: int
    since: int
    began: bool = False
    open: bool = False
    shown: int = 0
    arrived: int = 0
    finished: MessageHead | None = None


class Retry(msgspec.Struct, frozen=True, gc=False):
    """A model call that is to be made again.

    Attributes:
        call: the one that failed; attempt: the how manieth retry, from 1; delay: ms.
        scheduled: it has been noted, and the time runs.
    """

    call: int
    attempt: int
    delay: int
    scheduled: bool = False


class Call(msgspec.Struct, frozen=True, gc=False):
    """A tool call of the present batch.

    Attributes:
        run: number of its run in the session, 0 before it ran.
        hook: number of the hook call it waits for, 0 if none; asked: version of its `hook_called`.
        checked: version of the hook outcome that holds its arguments, 0: the model's own.
        outcome, source, patch: how it ended, and the versions of what says so.
        terminate: it asks to end the run; again: a process died while it ran.
    """

    head: CallHead
    life: Life = Life.NEW
    run: int = 0
    hook: int = 0
    asked: int = 0
    checked: int = 0
    outcome: Outcome | None = None
    source: int = 0
    patch: int = 0
    is_error: bool = False
    terminate: bool = False
    again: bool = False


class Batch(msgspec.Struct, frozen=True, gc=False):
    """The tool calls of one assistant message.

    Attributes:
        open: index of the call whose result message is being shown, -1 if none.
        cut_off: the reply ran into its limit, so its calls may be cut, and none of them runs.
        updates: (call index, version) of reports that are not shown yet.
        showing: version of the report that was shown last.
    """

    calls: tuple[Call, ...]
    sequential: bool = False
    cut_off: bool = False
    open: int = -1
    updates: tuple[tuple[int, int], ...] = ()
    showing: int = 0

    @property
    def ends_run(self) -> bool:
        """True if the model need not hear of the results: there are some, and all ask to end."""
        told = [call for call in self.calls if call.life is Life.TOLD]
        return bool(told) and all(call.terminate for call in told)


class Run(msgspec.Struct, frozen=True, gc=False):
    """An active run. It has its own copies of settings and context, so that changes made while it
    is active count from the next one.

    Attributes:
        context: what its model calls see; new: the messages that came in it.
        inject: messages on their way into the conversation; injected: how many of them are in;
            open: the next of them is being shown.
        drained: queued items among those messages: the queue each came from, and its place.
        take: queue to take the first messages from, for a run that starts from one.
        prompted: a prompt began it, so what waits for the next turn is said with it.
        polled: steering has been looked at before the first model call.
        aborted: its signal is set; failed: it ends around a message that says why.
        transform: version of the hook outcome that edits the next call's context.
        counted: how many messages of the context the present model call sees.
        hook: number of the hook call that it waits for, 0 if none; asked: version of its
            `hook_called`.
        asks: hooks that have been asked for messages since the last turn.
        attempts: how often the present model call has been made again; retry: the next time.
        rest: version of what ended it so that messages queued before then wait for the next call;
            0 if nothing did.
        reply: the assistant message of the present turn; results: the tool results told so far.
    """

    number: int
    model: str
    thinking_level: ThinkingLevel
    system_prompt: bytes
    tools: Toolset
    context: Vector[MessageHead]
    new: Vector[MessageHead] = Vector()
    inject: tuple[MessageHead, ...] = ()
    injected: int = 0
    open: bool = False
    drained: tuple[tuple[QueueName, Item, int], ...] = ()
    take: QueueName | None = None
    prompted: bool = False
    polled: bool = False
    aborted: bool = False
    failed: bool = False
    transform: int = 0
    counted: int = 0
    hook: int = 0
    asked: int = 0
    asks: tuple[str, ...] = ()
    attempts: int = 0
    retry: Retry | None = None
    rest: int = 0
    reply: MessageHead | None = None
    results: tuple[MessageHead, ...] = ()
    stream: Stream | None = None
    batch: Batch | None = None


class SessionState(msgspec.Struct, frozen=True, gc=False):
    """A session at one version.

    Attributes:
        version: how many events it is the fold of.
        messages: the conversation.
        shown: the message that is visible and not yet part of it.
        error: the message that says why the last run failed, None if it did not.
        customs: it has held custom messages, which models are not sent.
        runs, model_calls, tool_runs, hook_calls: how many there have been.
        unreadable: type of a critical event that this release does not know, "" if none.
    """

    version: int = 0
    uid: bytes = b""
    name: str = ""
    settings: Settings = Settings()
    messages: Vector[MessageHead] = Vector()
    customs: bool = False
    steering: tuple[Item, ...] = ()
    follow_up: tuple[Item, ...] = ()
    next_turn: tuple[Item, ...] = ()
    phase: Phase = Phase.IDLE
    run: Run | None = None
    shown: MessageHead | None = None
    error: MessageHead | None = None
    runs: int = 0
    model_calls: int = 0
    tool_runs: int = 0
    hook_calls: int = 0
    unreadable: str = ""

    def queue(self, name: QueueName) -> tuple[Item, ...]:
        """The items that wait in a queue, in the order of their delivery."""
        queues = {
            "steering": self.steering,
            "follow_up": self.follow_up,
            "next_turn": self.next_turn,
        }
        return queues[name]

    @property
    def waiting(self) -> tuple[Item, ...]:
        """The items of all queues."""
        return (*self.steering, *self.follow_up, *self.next_turn)

    @property
    def active(self) -> Run:
        """The active run; only asked for in phases that have one."""
        assert self.run is not None
        return self.run


def next_items(state: SessionState, queue: QueueName) -> tuple[int, ...]:
    """The ids of the items that the next look into `queue` takes."""
    modes = {
        "steering": state.settings.steering_mode,
        "follow_up": state.settings.follow_up_mode,
        "next_turn": "all",
    }
    items = state.queue(queue)
    return tuple(item.id for item in (items if modes[queue] == "all" else items[:1]))
