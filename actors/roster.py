"""The sessions that a Loop drives, and those that are being folded for it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import count

from refold.actors.actor import Address
from refold.actors.hosted import Hosted
from refold.actors.hub import Hub
from refold.actors.messages import CatchUp, Host, Message, Offered, Revive

_asked = count(1)
"""Numbers of what was asked of readers, by all Loops of the process."""


class Roster:
    """Knows which sessions are hosted; has others revived when a message comes for them.

    Args:
        most: how many are kept; beyond that, those that have rested longest are let go.
        gated: whether a session has awaited listeners.
    """

    def __init__(
        self, *, reader: Address, hub: Hub, most: int, gated: Callable[[bytes], bool]
    ) -> None:
        self._reader = reader
        self._hub = hub
        self._most = most
        self._gated = gated
        self._hosted: OrderedDict[bytes, Hosted] = OrderedDict()
        self._reviving: dict[bytes, tuple[int, list[Message]]] = {}

    def __iter__(self) -> Iterator[Hosted]:
        return iter(list(self._hosted.values()))

    def find(self, stream: bytes) -> Hosted | None:
        """The session, if it is hosted."""
        return self._hosted.get(stream)

    def find_or_revive(self, message: Message) -> Hosted | None:
        """The session that a message is for; if it is not hosted, the message waits until it is."""
        hosted = self._hosted.get(message.stream)
        if hosted is None:
            self.revive(message.stream).append(message)
        return hosted

    def revive_known(self) -> None:
        """Host again what the Loop before this one has hosted."""
        for stream in self._hub.known():
            if stream not in self._hosted:
                self.revive(stream)

    def revive(self, stream: bytes) -> list[Message]:
        """Have a session hosted; the messages that wait for it, to which more may be added."""
        if stream not in self._reviving:
            asked = next(_asked)
            self._reviving[stream] = (asked, [])
            self._reader.tell(Revive(stream=stream, asked=asked))
        return self._reviving[stream][1]

    def host(self, host: Host) -> tuple[Hosted | None, list[Message]]:
        """Host a session; what has waited for it comes with it. None if it is an answer to a Loop
        that died: the one to this Loop is on its way, and fences it.
        """
        asked, waiting = self._reviving.get(host.stream, (0, []))
        if host.asked != asked:
            return None, []
        del self._reviving[host.stream]
        hosted = Hosted(host.stream, host.behaviour, host.state, host.version, host.epoch)
        hosted.gated = self._gated(host.stream)
        self._hosted[host.stream] = hosted
        self._hub.know(host.stream, host.state)
        if host.first:
            hosted.waiting.append(Offered(stream=host.stream, offers=host.first))
        return hosted, waiting

    def not_revived(self, stream: bytes) -> list[Message]:
        """A session cannot be hosted, or not any more; what has waited for it."""
        hosted = self._hosted.get(stream)
        self.drop(stream)
        _, waiting = self._reviving.pop(stream, (0, []))
        return [*(hosted.waiting if hosted else ()), *waiting]

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
