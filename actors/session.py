"""Sessions and runtimes, as users hold them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from refold.actors import door
from refold.actors.door import Prompt
from refold.actors.engine import Engine
from refold.actors.fate import Fate, fate_of
from refold.actors.kit import Listener
from refold.actors.past import Past
from refold.actors.point import Point
from refold.actors.run import Run
from refold.actors.tool import Tool
from refold.actors.watch import Watch
from refold.events.agent import inputs
from refold.events.agent.context import Request
from refold.events.agent.inputs import QueueName
from refold.events.agent.messages import Image, Message, ThinkingLevel
from refold.events.agent.projection import AgentState, agent_state
from refold.events.agent.state import Phase, SessionState
from refold.events.errors import ClosedError
from refold.events.fact import Fact, Offer


class SessionCore:
    """What sync and async sessions share: everything but waiting."""

    def __init__(self, engine: Engine, stream: bytes, name: str) -> None:
        self._engine = engine
        self.stream = stream
        self.name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    @property
    def past(self) -> Past:
        """The session's log, to look at."""
        return Past(self._engine.log, self.stream, self._engine.memory)

    @property
    def machine(self) -> SessionState:
        """The committed state, as the session's machine sees it."""
        known = self._engine.hub.latest(self.stream)
        if known is None:
            past = self.past
            known = past.machine_at(past.version)
        return known  # type: ignore[no-any-return]

    @property
    def state(self) -> AgentState:
        """The agent as it is now."""
        return agent_state(self.machine, self._engine.contents(self.stream))

    @property
    def is_busy(self) -> bool:
        """True from the acceptance of a prompt until the session has settled."""
        return self.machine.phase is not Phase.IDLE

    @property
    def queued(self) -> dict[QueueName, tuple[int, ...]]:
        """The ids of the messages that wait, oldest first, by queue."""
        state = self.machine
        return {
            "steering": tuple(item.id for item in state.steering),
            "follow_up": tuple(item.id for item in state.follow_up),
            "next_turn": tuple(item.id for item in state.next_turn),
        }

    def queued_messages(self, item: int) -> tuple[Message, ...]:
        """The messages of a queued item, whatever became of it.

        Raises:
            InvalidPointError: there is no such item.
        """
        return self.past.queued_messages(item)

    def fate(self, item: int) -> Fate:
        """What became of a queued message: whether it still waits, in which turn it was delivered,
        or that it was cancelled or cleared.

        Raises:
            InvalidArgumentError: no message was ever queued with this id.
        """
        return fate_of(self.past, item)

    def at(self, point: Point = "end") -> AgentState:
        """The agent at a point of its past: a version, `-3`, `turn:7`, a time (see
        `refold.actors.point`). Folded from the log; nothing is written.

        Raises:
            InvalidPointError: there is no such point.
        """
        return self.past.at(point)

    def context(self, call: int = -1) -> Request:
        """Exactly what the model was sent at its `call`-th call, from 1; -1 is the last one.

        Raises:
            InvalidPointError: there was no such call.
        """
        return self.past.context(call)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Have `listener` called with each lifecycle event from now on; returns how to end that.

        A run waits for its listeners, one after the other; what one of them asks of the session
        counts before the next event. One that raises ends the run. To only watch, iterate over
        the run instead: that never slows it.
        """
        kits = self._engine.kits
        listeners = kits.of(self.stream).listeners
        self._engine.equip(self.stream, listeners=(*listeners, listener))

        def end() -> None:
            left = tuple(each for each in kits.of(self.stream).listeners if each is not listener)
            self._engine.equip(self.stream, listeners=left)

        return end

    def _offer(self, fact: Fact) -> Future[int]:
        return self._engine.enter(self.stream, Offer(fact))

    def _enter(self, offer: Offer) -> Future[int]:
        return self._engine.enter(self.stream, offer)

    def _messages(self, prompt: Prompt, images: Sequence[Image]) -> tuple[Message, ...]:
        return door.as_messages(prompt, images, self._engine.options.clock())

    def _prompted(self, prompt: Prompt, images: Sequence[Image]) -> Offer:
        messages = self._messages(prompt, images)
        return door.carrying(inputs.Prompted, self._engine.log.key, messages)

    def _queue(
        self, queue: QueueName, prompt: Prompt, images: Sequence[Image], now: bool = False
    ) -> Future[int]:
        messages = self._messages(prompt, images)
        return self._enter(door.queued(self._engine.log.key, queue, messages, now))

    def _clear(self, queues: tuple[QueueName, ...]) -> Future[int]:
        wanted = queues or ("steering", "follow_up", "next_turn")
        return self._offer(inputs.Cleared(queues=wanted))

    def _cleared(self, version: int) -> tuple[int, ...]:
        fact, _ = self._engine.contents(self.stream).fact(version)
        assert isinstance(fact, inputs.Cleared)
        return fact.items

    def _replace(self, messages: Sequence[Message]) -> Future[int]:
        canonical = self._messages(messages, ()) if messages else ()
        return self._enter(door.carrying(inputs.HistoryReplaced, self._engine.log.key, canonical))

    def _settings(self, options: Mapping[str, Any]) -> Future[int]:
        given = dict(options)
        if given.get("model") is not None:
            given["model"] = self._engine.catalog.full_name(given["model"])
        offer = door.settings(self._engine.log.key, **given)
        parts: dict[str, Any] = {}
        if given.get("tools") is not None:
            kit = self._engine.kits.of(self.stream)
            parts["tools"] = {**kit.tools, **{tool.name: tool for tool in given["tools"]}}
        if given.get("hooks") is not None:
            parts["hooks"] = dict(given["hooks"])
        if parts:
            self._engine.equip(self.stream, **parts)
        return self._enter(offer)


class Session(SessionCore):
    """A durable mailbox with an agent behind it. Safe to use from several threads.

    What a method has returned from is in the log, and survives whatever comes.
    """

    def prompt(self, prompt: Prompt, images: Sequence[Image] = ()) -> Run:
        """Start a run with text, a message, or several. Returns once that is durable.

        Raises:
            BusyError: a run is active; `steer` and `follow_up` reach it.
            InvalidArgumentError: it is no prompt.
        """
        return self._run(self._prompted(prompt, images))

    def continue_(self) -> Run:
        """Start a run from what is there: an unanswered message, or queued ones.

        Raises:
            NothingToContinueError: there is nothing to answer.
            BusyError: a run is active.
        """
        return self._run(Offer(inputs.Continued()))

    def steer(self, prompt: Prompt, images: Sequence[Image] = (), *, now: bool = False) -> int:
        """Say something that the model hears before its next call. Returns the item's id.

        A session that rests starts a run with it, unless its `idle_queue` is "hold".

        Args:
            now: do not wait for the end of the turn: an answer that is being streamed stops where
                it is, what there is of it is kept (its stop reason is "interrupted"), and the
                model hears this next.

        Raises:
            QueueFullError: too many messages wait already.
        """
        return self._queue("steering", prompt, images, now).result()

    def follow_up(self, prompt: Prompt, images: Sequence[Image] = ()) -> int:
        """Say something that is answered when the agent would stop. Returns the item's id."""
        return self._queue("follow_up", prompt, images).result()

    def next_turn(self, prompt: Prompt, images: Sequence[Image] = ()) -> int:
        """Say something along with the next prompt, before it. Returns the item's id."""
        return self._queue("next_turn", prompt, images).result()

    def cancel(self, item: int) -> None:
        """Take a queued message back.

        Raises:
            InvalidArgumentError: it does not wait any more.
        """
        self._offer(inputs.Cancelled(item=item)).result()

    def clear(self, *queues: QueueName) -> tuple[int, ...]:
        """Empty queues; all of them if none is named. Returns the ids of what was in them."""
        return self._cleared(self._clear(queues).result())

    def abort(self) -> None:
        """End the active run: the model's stream, hooks and tools see the signal. What is queued
        stays queued. Returns once that is durable, not when the run has ended.
        """
        self._offer(inputs.AbortRequested()).result()

    def set(
        self,
        *,
        model: str | None = None,
        thinking_level: ThinkingLevel | None = None,
        system_prompt: str | None = None,
        tools: Sequence[Tool] | None = None,
        **others: Any,
    ) -> None:
        """Change settings; they count from the next run. See `Runtime.session` for all of them."""
        given = {
            "model": model,
            "thinking_level": thinking_level,
            "system_prompt": system_prompt,
            "tools": tools,
        }
        self._settings({**given, **others}).result()

    def replace_messages(self, messages: Sequence[Message]) -> None:
        """Make the conversation another one from here on; the log keeps the old one."""
        self._replace(messages).result()

    def reset(self) -> None:
        """Empty conversation and queues; settings stay."""
        self._offer(inputs.ResetRequested()).result()

    def watch(self, after: Point = 0) -> Watch:
        """Lifecycle events from a point of the past on, and then live; it never slows the session."""
        contents = self._engine.contents(self.stream)
        version = self.past.resolve(after)
        return Watch(self._engine.hub, self.stream, self.past, contents, version)

    def wait(self) -> None:
        """Wait until the session has settled."""
        settled: Future[None] = Future()
        end = self._engine.hub.watch(self.stream, lambda item: _settle(settled, item))
        try:
            if self.is_busy:
                settled.result()
        finally:
            end()

    def running(self) -> Run | None:
        """The run that is active, to be followed from its next event on; None at rest.

        So a run that was cut off, and goes on since the session was opened, can be watched.
        """
        run = Run(self._engine.hub, self.stream, self._engine.contents(self.stream))
        state = self.machine  # read once the watch stands, so that nothing falls between
        if state.phase is Phase.IDLE:
            return None
        run.begin(state.version + 1)
        return run

    def _run(self, offer: Offer) -> Run:
        run = Run(self._engine.hub, self.stream, self._engine.contents(self.stream))
        version = self._enter(offer).result()
        if not version:
            raise ClosedError("the session does not take inputs any more")
        run.begin(version)
        return run


def _settle(settled: Future[None], item: Any) -> None:
    if settled.done():
        return
    if isinstance(item, Exception):
        settled.set_exception(item)
    elif item.states[-1].phase is Phase.IDLE:
        settled.set_result(None)
