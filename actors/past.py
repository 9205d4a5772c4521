"""A session's past: read from the log, and never written to."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from refold.actors.contents import Memory, StreamContents
from refold.actors.point import Point, version_at
from refold.events.agent import inputs
from refold.events.agent.agent import AGENT, CODEC
from refold.events.agent.bodies import messages_of
from refold.events.agent.context import Request, request_of
from refold.events.agent.lifecycle import LifecycleEvent
from refold.events.agent.messages import Message
from refold.events.agent.projection import AgentState, agent_state, project
from refold.events.agent.state import SessionState
from refold.events.errors import InvalidPointError
from refold.events.fact import Fact
from refold.events.fold import Divergence, reexecute
from refold.events.record import Recorded
from refold.store.log import Log


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """An event of a session's log, decoded.

    Attributes:
        time: ms since 1970 (UTC), when it was appended.
        record: number of the append that it came in.
        fact: what happened; content stands beside it, in `body`.
    """

    version: int
    time: int
    record: int
    type: str
    fact: Fact
    body: bytes | None


class Past:
    """What can be asked of a session without driving it."""

    def __init__(self, log: Log, stream: bytes, memory: Memory | None = None) -> None:
        self._log = log
        self._stream = stream
        self._contents = StreamContents(log, stream, memory or Memory())

    @property
    def version(self) -> int:
        """How many events the session has."""
        head = self._log.head(self._stream)
        return head.version if head else 0

    def entries(self, after: int = 0, until: int | None = None) -> Iterator[Entry]:
        """The session's events with versions in (`after`, `until`], with their bodies."""
        for recorded in self._log.read(self._stream, after, until):
            yield Entry(
                version=recorded.version,
                time=recorded.time,
                record=recorded.record,
                type=recorded.event.type,
                fact=CODEC.decode(recorded.event),
                body=recorded.event.body,
            )

    def at(self, point: Point = "end") -> AgentState:
        """The state of the agent at a point (`refold.actors.point`).

        Raises:
            InvalidPointError: there is no such point.
        """
        return agent_state(self.machine_at(self.resolve(point)), self._contents)

    def resolve(self, point: Point) -> int:
        """The version that a point names."""
        return version_at(point, self.version, self._skeletons)

    def machine_at(self, version: int) -> SessionState:
        """The machine's state after `version` events."""
        state = AGENT.initial()
        for fact in self._facts(version):
            state = AGENT.evolve(state, fact)
        return state

    def context(self, call: int = -1) -> Request:
        """Exactly what the model was sent at its `call`-th call; -1 is the last one.

        Raises:
            InvalidPointError: there was no such call.
        """
        versions = [
            recorded.version
            for recorded in self._skeletons()
            if recorded.event.type == "model_called"
        ]
        number = call if call > 0 else len(versions) + 1 + call
        if not 1 <= number <= len(versions):
            raise InvalidPointError(
                f"there is no model call {call}: the session has 1 to {len(versions)}"
                if versions
                else "the session has called no model yet"
            )
        return request_of(self.machine_at(versions[number - 1]), self._contents)

    def lifecycle(self, after: int = 0) -> Iterator[LifecycleEvent]:
        """The lifecycle events behind version `after`, as a subscriber would have seen them."""
        for before, fact, state in self.steps():
            if state.version > after:
                event = project(before, fact, state, self._contents)
                if event is not None:
                    yield event

    def follow(self, after: int = 0, timeout: float | None = None) -> Iterator[LifecycleEvent]:
        """As `lifecycle`, and then what is appended from now on, by any process.

        Ends when nothing was appended to the log for `timeout` seconds (None: never).
        """
        cursor, state = self._log.end(), AGENT.initial()
        for before, fact, state in self.steps():
            if state.version > after and (event := project(before, fact, state, self._contents)):
                yield event
        for _, records in self._log.follow(cursor, timeout=timeout):
            for recorded in records:
                if recorded.stream != self._stream or recorded.version <= state.version:
                    continue
                before, fact = state, CODEC.decode(recorded.event)
                state = AGENT.evolve(before, fact)
                event = project(before, fact, state, self._contents)
                if event is not None and state.version > after:
                    yield event

    def steps(self, until: int | None = None) -> Iterator[tuple[SessionState, Fact, SessionState]]:
        """Each fact up to version `until`, with the machine's states before and after it."""
        before = AGENT.initial()
        for fact in self._facts(until):
            state = AGENT.evolve(before, fact)
            yield before, fact, state
            before = state

    def queued_messages(self, item: int) -> tuple[Message, ...]:
        """The messages that were queued as this item.

        Raises:
            InvalidPointError: nothing was.
        """
        fact, body = self._contents.fact(item)
        if not isinstance(fact, inputs.Queued):
            raise InvalidPointError(f"event {item} queued no message")
        return messages_of(body)

    def reexecute(self) -> Divergence | None:
        """Decide all of it again from its recorded inputs; the first difference, or None."""
        return reexecute(AGENT, self._facts(None))

    def _facts(self, until: int | None) -> Iterator[Fact]:
        for recorded in self._log.read(self._stream, 0, until, bodies=False):
            yield CODEC.decode(recorded.event)

    def _skeletons(self) -> Iterator[Recorded]:
        return self._log.read(self._stream, bodies=False)
