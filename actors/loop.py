"""The Loop: hosts the machines of many sessions.

It never blocks, never does I/O, and never parses anything large: it decides, folds, and sends
messages. A session has one append in flight; inputs that come meanwhile wait, and after the
acknowledgement all of them are decided and go in together. Effects start only after the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from refold.actors.actor import Address, ThreadActor
from refold.actors.hosted import Answer, Drafted, Hosted, draft
from refold.actors.hub import Hub, Published
from refold.actors.messages import (
    Accepted,
    CaughtUp,
    Host,
    Listen,
    Message,
    Notified,
    Notify,
    NotRevived,
    NotWritten,
    Offered,
    Perform,
    Refused,
    Restarted,
    Retry,
    Sender,
    Write,
    Written,
)
from refold.actors.roster import Roster
from refold.events.behaviour import Effect
from refold.events.errors import ConflictError, FencedError
from refold.events.fact import Offer

Performers = Callable[[Effect], tuple[Address, ...]]
Audit = Callable[[str], None]
Remember = Callable[[bytes, int, Offer], None]


class Loop(ThreadActor):
    """Drives hosted sessions.

    Args:
        performers: who performs an effect.
        tools: who calls awaited listeners.
        senders: where those are told who offered something.
        gated: whether a session has awaited listeners.
        remember: keeps the content of inputs that were appended, for those who read it next.
        most: how many sessions are kept hosted; beyond that, resting ones are let go, and folded
            again at their next message.
        audit: called with a text when a session's outstanding effects are not those under way;
            None leaves that unchecked.
    """

    def __init__(
        self,
        *,
        journal: Address,
        reader: Address,
        tools: Address,
        supervisor: Address,
        senders: Mapping[Sender, Address],
        performers: Performers,
        hub: Hub,
        gated: Callable[[bytes], bool],
        remember: Remember,
        most: int = 10_000,
        audit: Audit | None = None,
    ) -> None:
        super().__init__()
        self._journal = journal
        self._tools = tools
        self._supervisor = supervisor
        self._senders = dict(senders)
        self._performers = performers
        self._hub = hub
        self._remember = remember
        self._roster = Roster(reader=reader, hub=hub, most=most, gated=gated)
        self._audit = audit

    def handle(self, message: Message) -> None:
        """Act on one message."""
        _HANDLERS[type(message)](self, message)

    def _offered(self, offered: Offered) -> None:
        hosted = self._roster.find_or_revive(offered)
        if hosted is not None:
            hosted.waiting.append(offered)
            self._drive(hosted)

    def _host(self, host: Host) -> None:
        hosted, waiting = self._roster.host(host)
        if hosted is None:
            return
        for message in waiting:
            self.handle(message)
        self._drive(hosted)
        self._roster.let_go()

    def _not_revived(self, message: NotRevived) -> None:
        at_work = self._roster.find(message.stream) is not None
        for waiting in self._roster.not_revived(message.stream):
            if isinstance(waiting, Offered):
                self._refuse(waiting, message.error)
                at_work = at_work or bool(waiting.done)
        if at_work:  # a run is active, and nobody may come to ask for it
            self._supervisor.tell(NotWritten(stream=message.stream, error=message.error))

    def _listen(self, message: Listen) -> None:
        hosted = self._roster.find_or_revive(message)
        if hosted is not None:
            hosted.gated = message.listening
            self._drive(hosted)

    def _drive(self, hosted: Hosted) -> None:
        """Decide what waits, step, and send all of it as one append."""
        if hosted.in_flight is not None or hosted.catching_up:
            return
        drafted = draft(hosted)
        hosted.lost.clear()  # what recovers them is decided now
        for key in drafted.done:
            hosted.running.discard(key)
        if not drafted.facts:
            self._give(hosted, drafted.answers)
            if hosted.rests_open:
                self._give(hosted, tuple(hosted.shown_later))
                hosted.shown_later.clear()
            return
        hosted.in_flight = drafted
        self._journal.tell(
            Write(
                stream=hosted.stream,
                expected=hosted.version,
                events=drafted.events,
                epoch=hosted.epoch,
                cause=drafted.cause,
                blobs=drafted.blobs,
                facts=drafted.facts,
                states=drafted.states,
            )
        )

    def _written(self, written: Written) -> None:
        hosted = self._roster.find(written.stream)
        drafted = hosted.in_flight if hosted else None
        if hosted is None or drafted is None:
            return  # of a Loop that died before; the session was folded again behind it
        hosted.in_flight = None
        hosted.state, hosted.version = drafted.states[-1], written.version
        for version, offer in drafted.inputs:
            self._remember(hosted.stream, version, offer)
        self._start(hosted, drafted.effects)
        if hosted.gated:
            self._notify(hosted, drafted)
            hosted.shown_later.extend(a for a in drafted.answers if a.sender != "queues")
            self._give(hosted, tuple(a for a in drafted.answers if a.sender == "queues"))
        else:
            self._give(hosted, (*hosted.shown_later, *drafted.answers))
            hosted.shown_later.clear()
        self._check(hosted)
        self._roster.touch(hosted)
        if hosted.waiting or hosted.gated:
            self._drive(hosted)

    def _start(self, hosted: Hosted, effects: tuple[tuple[Effect, Any], ...]) -> None:
        for effect, state in effects:
            if effect.AWAITED:
                hosted.running.add(effect.key)
            elif effect.key == "discard":
                hosted.running.clear()
            for performer in self._performers(effect):
                performer.tell(Perform(stream=hosted.stream, effect=effect, state=state))

    def _notify(self, hosted: Hosted, drafted: Drafted) -> None:
        if all(hosted.behaviour.is_input(fact) for fact in drafted.facts):
            return
        hosted.listening = True
        self._tools.tell(Notify(stream=hosted.stream, facts=drafted.facts, states=drafted.states))

    def _notified(self, message: Notified) -> None:
        hosted = self._roster.find(message.stream)
        if hosted is None:
            return
        hosted.listening = False
        if message.failure is not None:
            hosted.waiting.appendleft(Offered(stream=message.stream, offers=(message.failure,)))
        self._drive(hosted)

    def _not_written(self, message: NotWritten) -> None:
        hosted = self._roster.find(message.stream)
        drafted = hosted.in_flight if hosted else None
        if hosted is None or drafted is None:
            return
        hosted.in_flight = None
        error = message.error
        if isinstance(error, ConflictError):
            # Nothing is lost: no effect has started, and the same inputs are decided again.
            hosted.waiting.extendleft(reversed(drafted.taken))
            hosted.running.update(drafted.done)
            self._roster.catch_up(hosted)
            return
        self._hub.publish(hosted.stream, error)
        kept = []
        for offered in drafted.taken:
            if offered.sender == "queues":
                self._refuse(offered, error)
            else:
                kept.append(offered)
        if isinstance(error, FencedError):
            self._fenced(hosted, error)
            return
        hosted.waiting.extendleft(reversed(kept))
        hosted.running.update(drafted.done)
        hosted.stalled = True
        self._supervisor.tell(NotWritten(stream=hosted.stream, error=error))

    def _fenced(self, hosted: Hosted, error: FencedError) -> None:
        for offered in hosted.waiting:
            self._refuse(offered, error)
        self._roster.drop(hosted.stream)

    def _caught_up(self, message: CaughtUp) -> None:
        hosted = self._roster.find(message.stream)
        if hosted is None:
            return
        hosted.catching_up = False
        behaviour, states = hosted.behaviour, [hosted.state]
        for fact in message.facts:
            state = behaviour.evolve(states[-1], fact)
            states.append(state)
            self._start(hosted, tuple((e, state) for e in behaviour.effects(state, fact)))
        published = Published(
            hosted.stream, hosted.version + 1, message.time, message.facts, tuple(states)
        )
        hosted.state, hosted.version = states[-1], message.version
        self._hub.know(hosted.stream, hosted.state)
        if message.facts:
            self._hub.publish(hosted.stream, published)
        self._drive(hosted)

    def _retry(self, message: Retry) -> None:
        hosted = self._roster.find(message.stream)
        if hosted is None:
            self._roster.revive(message.stream)
        elif hosted.stalled:
            hosted.stalled = False
            self._drive(hosted)

    def _restarted(self, message: Restarted) -> None:
        """What the actor that died was doing is lost; its sessions go on as after a crash."""
        if message.actor == "Loop":
            self._roster.revive_known()
        for hosted in self._roster:
            if message.actor == "Tools":
                hosted.listening = False
            self._recover(hosted, message.actor.lower())
            self._drive(hosted)

    def _recover(self, hosted: Hosted, died: str) -> None:
        state = hosted.in_flight.states[-1] if hosted.in_flight else hosted.state
        lost = {
            effect.key
            for effect in hosted.behaviour.outstanding(state)
            if any(address.name == died for address in self._performers(effect))
        }
        lost &= hosted.running  # what is in flight has not been started yet
        recovery = hosted.behaviour.recovery(state)
        if lost and recovery is not None:
            hosted.running -= lost
            hosted.lost |= lost
            offers = (Offer(recovery),)
            hosted.waiting.appendleft(Offered(stream=hosted.stream, offers=offers))

    def _give(self, hosted: Hosted, answers: tuple[Answer, ...]) -> None:
        for answer in answers:
            told: Accepted | Refused
            if answer.error is None:
                told = Accepted(stream=hosted.stream, token=answer.token, version=answer.version)
            else:
                told = Refused(stream=hosted.stream, token=answer.token, error=answer.error)
            self._senders[answer.sender].tell(told)

    def _refuse(self, offered: Offered, error: Exception) -> None:
        if offered.token:
            refused = Refused(stream=offered.stream, token=offered.token, error=error)
            self._senders[offered.sender].tell(refused)

    def _check(self, hosted: Hosted) -> None:
        if self._audit is None:
            return
        owed = {effect.key for effect in hosted.behaviour.outstanding(hosted.state)}
        if owed != hosted.running | hosted.lost:
            self._audit(
                f"at version {hosted.version} the state owes {sorted(owed)}, and "
                f"{sorted(hosted.running)} are under way"
            )


_HANDLERS: dict[type[Message], Callable[[Loop, Any], None]] = {
    Offered: Loop._offered,
    Written: Loop._written,
    NotWritten: Loop._not_written,
    Host: Loop._host,
    NotRevived: Loop._not_revived,
    Listen: Loop._listen,
    Notified: Loop._notified,
    CaughtUp: Loop._caught_up,
    Retry: Loop._retry,
    Restarted: Loop._restarted,
}
