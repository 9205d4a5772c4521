"""Writing to terminals and pipes: colour where somebody looks, and no text that acts.

On a terminal a line is cut to its width; in a pipe it is whole, and there are no control codes.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style
from rich.text import Text

Part = str | tuple[str, str]
"""Text, or text with a style of rich's, such as `dim` or `bold cyan`."""

_NARROW = 50
_ACTIVE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """`text` with what a terminal would obey, not show, made visible; lines and tabs stay."""
    return _ACTIVE.sub(lambda found: _picture(found[0]), text)


def one_line(text: str) -> str:
    """`text` on one line."""
    return visible(text).replace("\n", "⏎").replace("\t", " ")


def _picture(char: str) -> str:
    if char < " ":
        return chr(0x2400 + ord(char))  # the control pictures of Unicode, in the same order
    return "\u2421" if char == "\x7f" else "\ufffd"


class Paper:
    """A stream to write on."""

    def __init__(self, file: TextIO) -> None:
        # Colours and nothing else are meant by NO_COLOR, but who sets it wants plain text.
        plain = bool(os.environ.get("NO_COLOR"))
        self._console = Console(
            file=file,
            color_system=None if plain else "auto",
            highlight=False,
            markup=False,
            emoji=False,
        )
        self._file = file
        self.is_terminal = self._console.is_terminal

    @property
    def width(self) -> int | None:
        """Columns of the terminal, None in a pipe."""
        return max(self._console.width, 20) if self.is_terminal else None

    @property
    def has_styles(self) -> bool:
        """True if it can show bold and colours, and somebody wants that."""
        return self._console.color_system is not None

    @property
    def is_narrow(self) -> bool:
        """True if columns side by side would leave no room for text."""
        return self.width is not None and self.width < _NARROW

    def line(self, *parts: Part) -> None:
        """Write a line, cut where the terminal ends."""
        if self.is_terminal:
            text = Text.assemble(*parts)
            self._console.print(text, no_wrap=True, overflow="ellipsis", crop=True)
        else:
            self._file.write("".join(map(_text, parts)) + "\n")

    def title(self, name: str, *parts: str) -> None:
        """Write what the page is about, and when or how much, on one line if that fits."""
        if self.is_narrow:
            for part in (name, *parts):
                self.line((part, "bold" if part is name else "dim"))
        else:
            self.line((name, "bold"), *((f"   {part}", "dim") for part in parts))

    def write(self, text: str, style: str = "") -> None:
        """Write text as it comes, and show it at once; the terminal breaks lines."""
        if self.is_terminal:
            text = visible(text)
        if style and self.has_styles:
            text = Style.parse(style).render(text, color_system=ColorSystem.STANDARD)
        self._file.write(text)
        self._file.flush()

    def block(self, label: str, text: str, style: str = "", most: int = 0) -> None:
        """Write text beside a label, broken between words on a terminal.

        Args:
            label: already padded; later lines stand below the text.
            most: lines to show before the rest is only counted; 0 shows all.
        """
        indent = " " * cell_len(label)
        if self.is_narrow:
            if label.strip():
                self.line((label.rstrip(), "bold"))
            label = indent = "  "
        lines = self._wrapped(visible(text), len(indent))
        rest = len(lines) - most if most and len(lines) > most + 1 else 0
        for number, line in enumerate(lines[: len(lines) - rest]):
            self.line((indent if number else label, "bold"), (line, style))
        if rest:
            self.line(indent, (f"({rest} more lines: --all shows them)", "dim"))

    def flush(self) -> None:
        """Hand everything to the system.

        Raises:
            OSError: it cannot be written.
        """
        self._file.flush()

    @contextmanager
    def working(self, doing: str) -> Iterator[None]:
        """Show that something goes on, for as long as it does, if somebody looks."""
        if not self.is_terminal or self._console.is_dumb_terminal:
            yield
            return
        with self._console.status(doing):
            yield

    def _wrapped(self, text: str, indent: int) -> list[str]:
        lines = text.expandtabs(4).rstrip("\n").split("\n")
        if self.width is None:
            return lines
        room = max(self.width - indent, 10)
        return [
            piece.plain.rstrip()
            for line in lines
            for piece in (Text(line).wrap(self._console, room) if line else [Text("")])
        ]


def _text(part: Part) -> str:
    return part if isinstance(part, str) else part[0]


def out() -> Paper:
    """What was asked for."""
    return Paper(sys.stdout)


def err() -> Paper:
    """Notes about it."""
    return Paper(sys.stderr)


def padded(text: str, width: int) -> str:
    """`text` on one line, filled up to so many columns."""
    return text + " " * max(width - cell_len(text), 0)
