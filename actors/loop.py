"""The Loop: hosts the machines of many sessions.

It never blocks, never does I/O, and never parses anything large: it decides, folds, and sends
messages. A session has one append in flight; inputs that come meanwhile wait, and after the
acknowledgement all of them are decided and go in together. Effects start only after the commit.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from refold.actors.actor import Address, ThreadActor
from refold.actors.hosted import Answer, Drafted, Hosted, draft
from refold.actors.hub import Hub
from refold.actors.messages import (
    Accepted,
    CatchUp,
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
    Retry,
    Revive,
    Sender,
    Unhost,
    Write,
    Written,
)
from refold.events.behaviour import Effect
from refold.events.errors import ConflictError, FencedError

Performers = Callable[[Effect], tuple[Address, ...]]
Audit = Callable[[str], None]


class Loop(ThreadActor):
    """Drives hosted sessions.

    Args:
        performers: who performs an effect.
        tools: who calls awaited listeners.
        senders: where those are told who offered something.
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
        most: int = 10_000,
        audit: Audit | None = None,
    ) -> None:
        super().__init__()
        self._journal = journal
        self._reader = reader
        self._tools = tools
        self._supervisor = supervisor
        self._senders = dict(senders)
        self._performers = performers
        self._hub = hub
        self._most = most
        self._audit = audit
        self._hosted: OrderedDict[bytes, Hosted] = OrderedDict()
        self._reviving: dict[bytes, list[Message]] = {}

    def handle(self, message: Message) -> None:
        """Act on one message."""
        _HANDLERS[type(message)](self, message)

    def _offered(self, offered: Offered) -> None:
        hosted = self._hosted.get(offered.stream)
        if hosted is None:
            self._revive(offered)
            return
        hosted.waiting.append(offered)
        self._drive(hosted)

    def _revive(self, message: Message) -> None:
        waiting = self._reviving.setdefault(message.stream, [])
        waiting.append(message)
        if len(waiting) == 1:
            self._reader.tell(Revive(stream=message.stream))

    def _host(self, host: Host) -> None:
        hosted = Hosted(host.stream, host.behaviour, host.state, host.version, host.epoch)
        self._hosted[host.stream] = hosted
        self._hub.know(host.stream, host.state)
        if host.first:
            hosted.waiting.append(Offered(stream=host.stream, offers=host.first))
        for message in self._reviving.pop(host.stream, ()):
            self.handle(message)
        self._drive(hosted)
        if len(self._hosted) > self._most:
            self._let_go()

    def _not_revived(self, message: NotRevived) -> None:
        for waiting in self._reviving.pop(message.stream, ()):
            if isinstance(waiting, Offered):
                self._refuse(waiting, message.error)

    def _let_go(self) -> None:
        """Passivate the sessions that have rested longest."""
        for stream, hosted in list(self._hosted.items()):
            if len(self._hosted) <= self._most:
                return
            if hosted.rests:
                del self._hosted[stream]
                self._hub.unknow(stream)

    def _unhost(self, message: Unhost) -> None:
        hosted = self._hosted.get(message.stream)
        if hosted is not None and hosted.in_flight is not None:
            hosted.leaving.append(message.token)
            return
        self._leave(message.stream, message.token)

    def _leave(self, stream: bytes, token: int) -> None:
        self._hosted.pop(stream, None)
        self._senders["queues"].tell(Accepted(stream=stream, token=token, version=0))

    def _listen(self, message: Listen) -> None:
        hosted = self._hosted.get(message.stream)
        if hosted is None:
            self._revive(message)
            return
        hosted.gated = message.listening
        self._drive(hosted)

    def _drive(self, hosted: Hosted) -> None:
        """Decide what waits, step, and send all of it as one append."""
        if hosted.in_flight is not None or hosted.catching_up:
            return
        drafted = draft(hosted)
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
        hosted = self._hosted.get(written.stream)
        drafted = hosted.in_flight if hosted else None
        if hosted is None or drafted is None:
            return  # of a Loop that died before; the session was folded again behind it
        hosted.in_flight = None
        hosted.state, hosted.version = drafted.states[-1], written.version
        self._start(hosted, drafted.effects)
        if hosted.gated:
            self._notify(hosted, drafted)
            hosted.shown_later.extend(a for a in drafted.answers if a.sender != "queues")
            self._give(hosted, tuple(a for a in drafted.answers if a.sender == "queues"))
        else:
            self._give(hosted, (*hosted.shown_later, *drafted.answers))
            hosted.shown_later.clear()
        self._check(hosted)
        if hosted.leaving:
            for token in hosted.leaving:
                self._leave(hosted.stream, token)
            return
        self._hosted.move_to_end(hosted.stream)
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
        shown = [
            (drafted.states[i], fact, drafted.states[i + 1])
            for i, fact in enumerate(drafted.facts)
            if not hosted.behaviour.is_input(fact)
        ]
        if not shown:
            return
        hosted.listening = True
        self._tools.tell(
            Notify(
                stream=hosted.stream,
                facts=tuple(fact for _, fact, _ in shown),
                states=(shown[0][0], *(after for _, _, after in shown)),
            )
        )

    def _notified(self, message: Notified) -> None:
        hosted = self._hosted.get(message.stream)
        if hosted is None:
            return
        hosted.listening = False
        if message.failure is not None:
            hosted.waiting.appendleft(Offered(stream=message.stream, offers=(message.failure,)))
        self._drive(hosted)

    def _not_written(self, message: NotWritten) -> None:
        hosted = self._hosted.get(message.stream)
        drafted = hosted.in_flight if hosted else None
        if hosted is None or drafted is None:
            return
        hosted.in_flight = None
        error = message.error
        if isinstance(error, ConflictError):
            # Nothing is lost: no effect has started, and the same inputs are decided again.
            hosted.waiting.extendleft(reversed(drafted.taken))
            hosted.running.update(drafted.done)
            hosted.catching_up = True
            self._reader.tell(
                CatchUp(stream=hosted.stream, behaviour=hosted.behaviour, version=hosted.version)
            )
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
        self._hosted.pop(hosted.stream, None)

    def _caught_up(self, message: CaughtUp) -> None:
        hosted = self._hosted.get(message.stream)
        if hosted is None:
            return
        hosted.catching_up = False
        behaviour = hosted.behaviour
        for fact in message.facts:
            hosted.state = behaviour.evolve(hosted.state, fact)
            self._start(
                hosted,
                tuple((e, hosted.state) for e in behaviour.effects(hosted.state, fact)),
            )
        hosted.version = message.version
        self._drive(hosted)

    def _retry(self, message: Retry) -> None:
        hosted = self._hosted.get(message.stream)
        if hosted is not None and hosted.stalled:
            hosted.stalled = False
            self._drive(hosted)

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
        if owed != hosted.running:
            self._audit(
                f"at version {hosted.version} the state owes {sorted(owed)}, and "
                f"{sorted(hosted.running)} are under way"
            )


_HANDLERS: dict[type[Message], Callable[[Loop, Any], None]] = {
    Offered: Loop._offered,
    Written: Loop._written,
    NotWritten: Loop._not_written,
    Host: Loop._host,
    Unhost: Loop._unhost,
    NotRevived: Loop._not_revived,
    Listen: Loop._listen,
    Notified: Loop._notified,
    CaughtUp: Loop._caught_up,
    Retry: Loop._retry,
}
