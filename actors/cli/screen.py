"""A run on the terminal: the answer on stdout as it streams, all else on stderr."""

from __future__ import annotations

import threading

from refold.actors.cli.terminal import Paper, one_line
from refold.actors.cli.words import count
from refold.events.agent.lifecycle import (
    LifecycleEvent,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
)
from refold.events.agent.messages import (
    AssistantMessage,
    Message,
    Thinking,
    ToolResult,
    UserMessage,
)

_LONGEST = 400
"""Characters of arguments and results that are shown in a pipe, where no width cuts them."""


class Screen:
    """Shows the events of a run.

    Args:
        answer: where the model's text goes, and nothing else.
        notes: where thinking, tool calls and words of our own go.
        quiet: True leaves out all notes.

    Attributes:
        run: number of the run, set by who follows it.
        first, last: versions of the first and the last event that were shown.
    """

    def __init__(self, answer: Paper, notes: Paper, quiet: bool = False) -> None:
        self._answer = answer
        self._notes = notes
        self._quiet = quiet
        self._lock = threading.RLock()  # notes come from other threads, too
        self._open: Paper | None = None  # whose last line has no end yet
        self._streamed = False
        self._prompts = 0
        self._tokens = 0
        self.run = self.first = self.last = 0

    def show(self, event: LifecycleEvent, prompts: int = 0) -> None:
        """Show one event.

        Args:
            prompts: how many messages the run began with; those are known to who typed them.
        """
        with self._lock:
            self._show(event, prompts)

    def _show(self, event: LifecycleEvent, prompts: int) -> None:
        self.first, self.last = self.first or event.version, event.version
        match event:
            case MessageStart():
                self.end_line()  # the one before may have broken off
                self._streamed = False
            case MessageUpdate():
                self._update(event)
            case MessageEnd():
                self._message(event.message, prompts)
            case ToolExecutionStart():
                self._tool("→ ", f"{event.tool_name} {event.arguments.text}", "cyan")
            case ToolExecutionUpdate():
                self._tool("… ", _told(event.tool_name, event.partial_result), "dim")
            case ToolExecutionEnd():
                told = _told(event.tool_name, event.result)
                self._tool(*(("✗ ", told, "red") if event.is_error else ("✓ ", told, "dim")))

    def note(self, text: str, style: str = "dim") -> None:
        """Say something about the run."""
        if not self._quiet:
            with self._lock:
                self.end_line()
                self._notes.write(one_line(text) + "\n", style)

    def close(self, session: str) -> None:
        """Say where to look for what was seen."""
        self.end_line()
        if self.first:
            tokens = f", {count(self._tokens, 'token')}" if self._tokens else ""
            self.note(
                f"{one_line(session)}: run {self.run}, events {self.first} to {self.last}{tokens}"
            )

    def end_line(self) -> None:
        """What comes next begins a line, on the terminal and in the pipe."""
        if self._open is not None:
            self._open.write("\n")
            self._open = None

    def _update(self, event: MessageUpdate) -> None:
        self._streamed = self._streamed or bool(event.pieces)
        for piece in event.pieces:
            if piece.kind == "text_delta":
                self._stream(self._answer, piece.text)
            elif piece.kind == "thinking_delta" and not self._quiet:
                self._stream(self._notes, piece.text, "dim")
            elif piece.kind in ("text_end", "thinking_end"):
                self.end_line()

    def _message(self, message: Message, prompts: int) -> None:
        match message:
            case UserMessage():
                self._prompts += 1
                if self._prompts > prompts:
                    self._tool("you: ", message.text, "bold")
            case AssistantMessage():
                self._tokens += message.usage.total
                if not self._streamed:
                    self._whole(message)
                self.end_line()

    def _whole(self, message: AssistantMessage) -> None:
        """A message that came in one."""
        for block in message.content:
            if isinstance(block, Thinking) and not self._quiet:
                self._stream(self._notes, block.thinking, "dim")
        if message.text:
            self._stream(self._answer, message.text)

    def _stream(self, paper: Paper, text: str, style: str = "") -> None:
        if not text:
            return
        if self._open is not paper:
            self.end_line()
        paper.write(text, style)
        self._open = None if text.endswith("\n") else paper

    def _tool(self, mark: str, text: str, style: str) -> None:
        if self._quiet:
            return
        self.end_line()
        text = one_line(text)
        if not self._notes.is_terminal and len(text) > _LONGEST:
            text = text[:_LONGEST] + "…"
        self._notes.line((mark + text, style))
        self._notes.flush()


def _told(name: str, result: ToolResult) -> str:
    return f"{name}: {result.text or '(no text)'}"
