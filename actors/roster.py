"""The sessions that a Loop drives, and those that are being folded for it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from refold.actors.actor import Address
from refold.actors.hosted import Hosted
from refold.actors.hub import Hub
from refold.actors.messages import CatchUp, Host, Message, Offered, Revive


class Roster:
    """Knows which sessions are hosted; has others revived when a message comes for them.

    Args:
        most: how many are kept; beyond that, those that have rested longest are let go.
    """

    def __init__(self, *, reader: Address, hub: Hub, most: int) -> None:
        self._reader = reader
        self._hub = hub
        self._most = most
        self._hosted: OrderedDict[bytes, Hosted] = OrderedDict()
        self._reviving: dict[bytes, list[Message]] = {}

    def __iter__(self) -> Iterator[Hosted]:
        return iter(list(self._hosted.values()))

    def find(self, stream: bytes) -> Hosted | None:
        """The session, if it is hosted."""
        return self._hosted.get(stream)

    def find_or_revive(self, message: Message) -> Hosted | None:
        """The session that a message is for; if it is not hosted, the message waits until it is."""
        hosted = self._hosted.get(message.stream)
        if hosted is None:
            waiting = self._reviving.setdefault(message.stream, [])
            waiting.append(message)
            if len(waiting) == 1:
                self._reader.tell(Revive(stream=message.stream))
        return hosted

    def host(self, host: Host) -> tuple[Hosted, list[Message]]:
        """Host a session; what has waited for it comes with it."""
        hosted = Hosted(host.stream, host.behaviour, host.state, host.version, host.epoch)
        self._hosted[host.stream] = hosted
        self._hub.know(host.stream, host.state)
        if host.first:
            hosted.waiting.append(Offered(stream=host.stream, offers=host.first))
        return hosted, self._reviving.pop(host.stream, [])

    def not_revived(self, stream: bytes) -> list[Message]:
        """A session cannot be hosted; what has waited for it."""
        return self._reviving.pop(stream, [])

    def touch(self, hosted: Hosted) -> None:
        """It has just been used."""
        self._hosted.move_to_end(hosted.stream)

    def drop(self, stream: bytes) -> None:
        """Host it no longer."""
        self._hosted.pop(stream, None)
        self._hub.unknow(stream)

    def let_go(self) -> None:
        """Passivate resting sessions beyond the limit, those that have rested longest first."""
        if len(self._hosted) <= self._most:
            return
        for hosted in self:
            if hosted.rests:
                self.drop(hosted.stream)
                if len(self._hosted) <= self._most:
                    return

    def catch_up(self, hosted: Hosted) -> None:
        """Have read what others appended to it; it decides nothing until then."""
        hosted.catching_up = True
        self._reader.tell(
            CatchUp(stream=hosted.stream, behaviour=hosted.behaviour, version=hosted.version)
        )

    def reader_restarted(self) -> None:
        """The reader knows nothing of what it was asked before."""
        for stream in self._reviving:
            self._reader.tell(Revive(stream=stream))
        for hosted in self:
            if hosted.catching_up:
                self.catch_up(hosted)
