"""Actors without threads: their messages are handled when the test says so."""

from __future__ import annotations

from typing import Any, TypeVar

from pykka._envelope import Envelope

from refold.actors.messages import Message

T = TypeVar("T")


class Box:
    """In the place of an actor's address: keeps what is sent to it."""

    def __init__(self, name: str = "box") -> None:
        self.name = name
        self.messages: list[Any] = []

    def tell(self, message: Message) -> None:
        """Keep it."""
        self.messages.append(message)

    def take(self, kind: type[T]) -> list[T]:
        """The messages of a kind since the last look, and forget all."""
        taken = [message for message in self.messages if isinstance(message, kind)]
        self.messages.clear()
        return taken


def send(actor: Any, *messages: Message) -> None:
    """Put messages into an actor's inbox, and have all that waits there handled."""
    for message in messages:
        actor.actor_inbox.put(Envelope(message))
    while not actor.actor_inbox.empty():
        actor.handle(actor.actor_inbox.get().message)
