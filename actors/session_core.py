"""What sync and async sessions share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from refold.actors import door
from refold.actors.door import Prompt
from refold.actors.engine import Engine
from refold.actors.fate import Fate, fate_of
from refold.actors.hub import Published
from refold.actors.kit import Listener
from refold.actors.past import Past
from refold.actors.point import Point
from refold.events.agent import inputs
from refold.events.agent.context import Request
from refold.events.agent.inputs import QueueName
from refold.events.agent.messages import Image, Message
from refold.events.agent.projection import AgentState, agent_state
from refold.events.agent.state import Phase, SessionState
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

    def _settling(self) -> tuple[Future[None], Callable[[], None]]:
        """What is there once the session has settled, and how to watch for that no longer."""
        settled: Future[None] = Future()

        def look(item: Published | Exception) -> None:
            if isinstance(item, Published) and item.states[-1].phase is not Phase.IDLE:
                return
            if settled.done() or not settled.set_running_or_notify_cancel():
                return
            if isinstance(item, Published):
                settled.set_result(None)
            else:
                settled.set_exception(item)

        return settled, self._engine.hub.watch(self.stream, look)

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
        return self._enter(self._wanted(options))

    def _wanted(self, options: Mapping[str, Any]) -> Offer:
        """Settings as an input; what cannot be is refused here, before anything is written."""
        given = dict(options)
        if given.get("model") is not None:
            # With a hook for keys, what the provider itself has of them does not matter.
            hooks = given.get("hooks") or self._engine.kits.of(self.stream).hooks
            given["model"] = self._engine.catalog.full_name(
                given["model"], check="get_api_key" not in hooks
            )
        offer = door.settings(self._engine.log.key, **given)
        parts: dict[str, Any] = {}
        if given.get("tools") is not None:
            kit = self._engine.kits.of(self.stream)
            parts["tools"] = {**kit.tools, **{tool.name: tool for tool in given["tools"]}}
        if given.get("hooks") is not None:
            parts["hooks"] = dict(given["hooks"])
        if parts:
            self._engine.equip(self.stream, **parts)
        return offer
