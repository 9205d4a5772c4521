"""A session while the Loop drives it, and how its next append is drafted."""

from __future__ import annotations

from collections import deque
from typing import Any

import msgspec
from msgspec.structs import replace

from refold.actors.messages import Offered, Sender
from refold.events.behaviour import Behaviour, Effect
from refold.events.errors import RefoldError
from refold.events.fact import Fact, Offer
from refold.events.record import EventData


class Answer(msgspec.Struct, frozen=True):
    """What the sender of an offer will be told."""

    sender: Sender
    token: int
    version: int = 0
    error: Exception | None = None


class Drafted(msgspec.Struct, frozen=True):
    """An append before it is written.

    Attributes:
        taken: the offers that it decides; inputs: those accepted, with their versions.
        states: `states[i]` is the state before `facts[i]`; one more than there are facts.
        effects: with the state right after the event that wants each.
        done: keys of effects that are over with it.
    """

    taken: tuple[Offered, ...]
    inputs: tuple[tuple[int, Offer], ...]
    facts: tuple[Fact, ...]
    states: tuple[Any, ...]
    events: tuple[EventData, ...]
    effects: tuple[tuple[Effect, Any], ...]
    answers: tuple[Answer, ...]
    blobs: tuple[tuple[bytes, bytes], ...]
    done: tuple[str, ...]
    cause: str


class Hosted:
    """What the Loop keeps of a session.

    Attributes:
        state, version: as committed.
        waiting: offers that are not decided yet.
        in_flight: the append that is on its way, if any.
        running: keys of the effects under way; lost: of those whose actor has died, until the
            machine hears of it.
        gated: it has awaited listeners; listening: they are at work.
        shown_later: answers that are due once all is shown.
        catching_up: it reads what others appended; stalled: the log could not be written.
    """

    __slots__ = (
        "behaviour",
        "catching_up",
        "epoch",
        "gated",
        "in_flight",
        "listening",
        "lost",
        "running",
        "shown_later",
        "stalled",
        "state",
        "stream",
        "version",
        "waiting",
    )

    def __init__(
        self, stream: bytes, behaviour: Behaviour[Any], state: Any, version: int, epoch: int
    ) -> None:
        self.stream = stream
        self.behaviour = behaviour
        self.state = state
        self.version = version
        self.epoch = epoch
        self.waiting: deque[Offered] = deque()
        self.in_flight: Drafted | None = None
        self.running: set[str] = set()
        self.lost: set[str] = set()
        self.gated = False
        self.listening = False
        self.shown_later: list[Answer] = []
        self.catching_up = False
        self.stalled = False

    @property
    def rests_open(self) -> bool:
        """True if nothing is on its way to anybody."""
        return not (self.in_flight or self.listening or self.waiting)

    @property
    def rests(self) -> bool:
        """True if it can be let go: nothing is on its way, and nothing is owed."""
        return (
            self.rests_open
            and not (self.running or self.gated or self.catching_up)
            and self.behaviour.step(self.state) is None
        )


def draft(hosted: Hosted) -> Drafted:
    """Decide what waits, and step.

    With awaited listeners an append holds either inputs or one step, and while they are at work
    only inputs: so they can be told of each event before the next one happens.
    """
    draft = _Draft(hosted)
    while hosted.waiting:
        draft.take(hosted.waiting.popleft())
    if hosted.gated:
        if not draft.facts and not hosted.listening:
            draft.step()
    elif not draft.facts:
        while draft.step():
            pass
    return draft.finished()


class _Draft:
    def __init__(self, hosted: Hosted) -> None:
        self.hosted = hosted
        self.behaviour = hosted.behaviour
        self.states: list[Any] = [hosted.state]
        self.facts: list[Fact] = []
        self.events: list[EventData] = []
        self.effects: list[tuple[Effect, Any]] = []
        self.answers: list[Answer] = []
        self.blobs: list[tuple[bytes, bytes]] = []
        self.taken: list[Offered] = []
        self.inputs: list[tuple[int, Offer]] = []
        self.cause = "loop"

    def take(self, offered: Offered) -> None:
        self.taken.append(offered)
        first, error = 0, None
        for offer in offered.offers:
            try:
                decided = self.behaviour.decide(self.states[-1], offer.fact)
            except RefoldError as refusal:
                error = refusal
                break
            if not decided:
                continue
            if not self.facts:
                self.cause = offered.sender
            first = first or self.hosted.version + len(self.facts) + 1
            self.add(decided[0], offer.body)
            accepted = offer if decided[0] is offer.fact else replace(offer, fact=decided[0])
            self.inputs.append((self.hosted.version + len(self.facts), accepted))
            self.blobs.extend(offer.blobs)
            for fact in decided[1:]:
                self.add(fact)
            if not self.hosted.gated:
                while self.step():
                    pass
        if offered.token:
            self.answers.append(Answer(offered.sender, offered.token, first, error))

    def step(self) -> bool:
        fact = self.behaviour.step(self.states[-1])
        if fact is None:
            return False
        self.add(fact)
        return True

    def add(self, fact: Fact, body: bytes | None = None) -> None:
        state = self.behaviour.evolve(self.states[-1], fact)
        self.facts.append(fact)
        self.states.append(state)
        self.events.append(self.behaviour.codec.encode(fact, body))
        for effect in self.behaviour.effects(state, fact):
            self.effects.append((effect, state))

    def finished(self) -> Drafted:
        done = tuple(key for offered in self.taken for key in offered.done)
        return Drafted(
            taken=tuple(self.taken),
            inputs=tuple(self.inputs),
            facts=tuple(self.facts),
            states=tuple(self.states),
            events=tuple(self.events),
            # An outcome that a dead Loop did not get to may come with the recovery that wants it.
            effects=tuple(wanted for wanted in self.effects if wanted[0].key not in done),
            answers=tuple(self.answers),
            blobs=tuple(self.blobs),
            done=done,
            cause=self.cause,
        )
