"""The agent's machine with nothing around it: no actors, no log, no clock."""

from __future__ import annotations

from collections.abc import Iterator

from refold.events.agent import effects, facts, inputs
from refold.events.agent.agent import AGENT
from refold.events.agent.contents import message_of
from refold.events.agent.context import Request, request_of
from refold.events.agent.facts import LIFECYCLE
from refold.events.agent.heads import MessageHead
from refold.events.agent.messages import Message
from refold.events.agent.settings import ToolHead
from refold.events.agent.state import Phase, SessionState
from refold.events.behaviour import Discard, Effect
from refold.events.codec import type_name
from refold.events.fact import Fact, Offer
from tests.support.inputs import created, prompted, settings


class Machine:
    """What the shell does, in a few lines: decide, evolve, step, and note what is under way.

    Attributes:
        facts: all that happened; bodies: beside it; states: before the first, and after each.
        running: the effects under way, by key.
    """

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self.bodies: list[bytes] = []
        self.states: list[SessionState] = [AGENT.initial()]
        self.running: dict[str, Effect] = {}
        self.signals: list[int] = []

    @classmethod
    def ready(cls, *tools: str | ToolHead, **given: object) -> Machine:
        """A session with a model, tools and settings."""
        machine = cls()
        machine.offer(created())
        machine.offer(settings(model="test/model", tools=tools, **given))
        return machine

    @property
    def state(self) -> SessionState:
        """Where it is."""
        return self.states[-1]

    def accept(self, offer: Offer) -> bool:
        """Decide one input, and take no step; False if it was ignored."""
        decided = AGENT.decide(self.state, offer.fact)
        for number, fact in enumerate(decided):
            self._add(fact, offer.body if number == 0 else None)
        if decided:
            self._over(offer.fact)
        return bool(decided)

    def offer(self, offer: Offer) -> list[str]:
        """Decide one input and step until it waits; the names of what happened."""
        start = len(self.facts)
        self.accept(offer)
        while self.step():
            pass
        return names(self.facts[start:])

    def step(self) -> Fact | None:
        """One thing that happens by itself, if there is one."""
        fact = AGENT.step(self.state)
        if fact is not None:
            self._add(fact, None)
        return fact

    def prompt(self, text: str = "hi") -> int:
        """Start a run up to its first model call; the number of that call."""
        self.offer(prompted(text))
        return self.model_call

    @property
    def model_call(self) -> int:
        """The number of the model call that is under way."""
        return self._one(effects.CallModel).call

    def tool_run(self, index: int = 0) -> int:
        """The number of the tool run of call `index` that is under way."""
        return next(
            effect.call
            for effect in self.running.values()
            if isinstance(effect, effects.RunTool) and effect.index == index
        )

    def hook_call(self, hook: str, index: int = 0) -> int:
        """The number of the hook call that is under way."""
        return next(
            effect.call
            for effect in self.running.values()
            if isinstance(effect, effects.CallHook) and (effect.hook, effect.index) == (hook, index)
        )

    @property
    def lifecycle(self) -> list[str]:
        """The names of all lifecycle events so far."""
        return names(fact for fact in self.facts if isinstance(fact, LIFECYCLE))

    @property
    def audit(self) -> str:
        """What is owed and not under way, or the other way round; empty if nothing."""
        owed = {effect.key for effect in AGENT.outstanding(self.state)}
        return "" if owed == set(self.running) else f"{owed} are owed, {set(self.running)} run"

    @property
    def messages(self) -> list[Message]:
        """The conversation."""
        return [self.contents.message(head) for head in self.state.messages]

    @property
    def requests(self) -> Iterator[Request]:
        """What the model was sent, call by call."""
        for fact, state in zip(self.facts, self.states[1:], strict=True):
            if isinstance(fact, facts.ModelCalled):
                yield request_of(state, self.contents)

    @property
    def contents(self) -> _Contents:
        """How the content of its messages is read."""
        return _Contents(self.facts, self.bodies)

    @property
    def rests(self) -> bool:
        """True if no run is active."""
        return self.state.phase is Phase.IDLE

    def _one(self, kind: type[effects.CallModel]) -> effects.CallModel:
        (found,) = (effect for effect in self.running.values() if isinstance(effect, kind))
        return found

    def _add(self, fact: Fact, body: bytes | None) -> None:
        state = AGENT.evolve(self.state, fact)
        self.facts.append(fact)
        self.bodies.append(body or b"")
        self.states.append(state)
        if isinstance(fact, inputs.Recovered):
            self.running.clear()  # it ran in a process that is gone
        for effect in AGENT.effects(state, fact):
            if isinstance(effect, effects.SignalAbort):
                self.signals.append(effect.run)
            elif effect.AWAITED:
                self.running[effect.key] = effect
            elif isinstance(effect, Discard):
                self.running.clear()

    def _over(self, outcome: Fact) -> None:
        ends = {
            "model_finished": "model",
            "model_failed": "model",
            "tool_returned": "tool",
            "tool_failed": "tool",
            "hook_returned": "hook",
            "hook_raised": "hook",
            "retry_due": "retry",
        }
        (name,) = names([outcome])
        if name in ends:
            self.running.pop(f"{ends[name]}:{outcome.call}", None)  # type: ignore[attr-defined]


class _Contents:
    """The contents of a machine's messages (`refold.events.agent.contents.Contents`)."""

    def __init__(self, facts: list[Fact], bodies: list[bytes]) -> None:
        self._facts = facts
        self._bodies = bodies

    def fact(self, version: int) -> tuple[Fact, bytes]:
        return self._facts[version - 1], self._bodies[version - 1]

    def deltas(self, since: int, until: int) -> Iterator[bytes]:
        for version in range(since + 1, until + 1):
            fact, body = self.fact(version)
            if names([fact]) == ["model_delta"] and body:
                yield body

    def blob(self, digest: bytes) -> bytes:
        raise AssertionError(f"no machine here has blobs: {digest!r}")

    def message(self, head: MessageHead) -> Message:
        return message_of(head, self)


def names(some: object) -> list[str]:
    """The names of facts, as they stand in a log."""
    return [type_name(type(fact)) for fact in some]  # type: ignore[attr-defined]
