"""Content blocks of a reply while they are streamed: from a server's parts to pieces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from refold.actors.providers.arguments import sound_arguments
from refold.events.agent.bodies import Piece
from refold.events.canonical import canonical_text

TextKind = Literal["text", "thinking"]


class _Flow:
    """Text in parts, each in canonical form.

    A server that cuts its text in UTF-16 sends the halves of an emoji in two parts: the first half
    is held back until the other has come.
    """

    def __init__(self) -> None:
        self._held = ""

    def take(self, text: str) -> str:
        text = self._held + text
        self._held = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
        return canonical_text(text[: len(text) - len(self._held)])

    def rest(self) -> str:
        held, self._held = self._held, ""
        return canonical_text(held)


class TextBlock:
    """A block of text or thinking. `signature` goes out with its end."""

    def __init__(self, kind: TextKind, index: int, signature: str = "") -> None:
        self.kind: TextKind = kind
        self._index = index
        self._signature = signature
        self._flow = _Flow()

    def start(self) -> Piece:
        """The piece that opens the block."""
        return Piece("text_start" if self.kind == "text" else "thinking_start", self._index)

    def take(self, text: str) -> Iterator[Piece]:
        """Take a part of the text."""
        yield from self._delta(self._flow.take(text))

    def end(self) -> Iterator[Piece]:
        """The text is complete."""
        yield from self._delta(self._flow.rest())
        yield Piece(
            "text_end" if self.kind == "text" else "thinking_end", self._index, id=self._signature
        )

    def _delta(self, text: str) -> Iterator[Piece]:
        if text:
            yield Piece(
                "text_delta" if self.kind == "text" else "thinking_delta", self._index, text
            )


class CallBlock:
    """A tool call. It is shown once its id and name are known; arguments that came before wait."""

    def __init__(self, index: int) -> None:
        self._index = index
        self._flow = _Flow()
        self._texts: list[str] = []
        self._shown = False
        self.id = ""
        self.name = ""

    @property
    def has_arguments(self) -> bool:
        """True once a part of them has come."""
        return bool(self._texts)

    def take(self, text: str) -> Iterator[Piece]:
        """Take a part of the arguments, which may be empty, or follow a new id or name."""
        text = self._flow.take(text)
        if text:
            self._texts.append(text)
        if self._shown:
            if text:
                yield Piece("tool_call_delta", self._index, text)
        elif self.id and self.name:
            yield from self._show()

    def end(self) -> Iterator[Piece]:
        """The arguments are complete; `id` and `name` are what they will ever be."""
        yield from self.take(self._flow.rest())
        if not self._shown:
            yield from self._show()
        text = sound_arguments("".join(self._texts))
        yield Piece("tool_call_end", self._index, text)

    def _show(self) -> Iterator[Piece]:
        self._shown = True
        yield Piece("tool_call_start", self._index, id=self.id, name=self.name)
        text = "".join(self._texts)
        if text:
            yield Piece("tool_call_delta", self._index, text)
