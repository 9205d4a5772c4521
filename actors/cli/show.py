"""Messages, tools and settings as people read them."""

from __future__ import annotations

from collections.abc import Sequence

from refold.actors.cli.terminal import Paper, one_line, padded
from refold.actors.cli.words import count
from refold.events.agent.messages import (
    AssistantMessage,
    CustomMessage,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    ToolSpec,
    UserMessage,
)

LABELS = 12
"""Columns of the labels on the left."""

FEW_MESSAGES, FEW_LINES = 20, 12
"""What is shown of a long conversation and of a long text, unless all is wanted."""


def label(text: str) -> str:
    """A label, padded to its column."""
    return padded(text, LABELS)


def field(paper: Paper, name: str, value: str, style: str = "") -> None:
    """A named value."""
    paper.block(label(name), value, style)


def tools(paper: Paper, specs: Sequence[ToolSpec], described: bool) -> None:
    """The tools that a model is told of."""
    if not described:
        field(paper, "tools", ", ".join(spec.name for spec in specs) or "none")
        return
    if not specs:
        field(paper, "tools", "none")
    for number, spec in enumerate(specs):
        name = "" if number else "tools"
        said = f"{spec.name}: {spec.description}" if spec.description else spec.name
        field(paper, name, f"{said}\n{spec.parameters.text}")


def conversation(paper: Paper, messages: Sequence[Message], whole: bool) -> None:
    """A conversation, its last part unless `whole`."""
    left = 0 if whole else max(len(messages) - FEW_MESSAGES, 0)
    if left:
        paper.line((f"({count(left, 'earlier message')}: --all shows them)", "dim"))
    for index in range(left, len(messages)):
        message(paper, messages[index], whole)


def message(paper: Paper, said: Message, whole: bool, note: str = "") -> None:
    """A message.

    Args:
        note: a word more about it, such as `streaming`.
    """
    most = 0 if whole else FEW_LINES
    match said:
        case UserMessage():
            _blocks(paper, "user", said.content, most)
        case AssistantMessage():
            _assistant(paper, said, most, note)
        case ToolResultMessage():
            name = f"{said.tool_name}{', failed' if said.is_error else ''}: "
            content = (Text(name + said.text), *(b for b in said.content if isinstance(b, Image)))
            _blocks(paper, "result", content, most, "red" if said.is_error else "")
        case CustomMessage():
            paper.block(label("custom"), f"{said.kind}: {said.data.text}", most=most)


def _assistant(paper: Paper, said: AssistantMessage, most: int, note: str) -> None:
    name = "assistant"
    if note:
        paper.line((name, "bold"), f" ({note})")
        name = ""
    content = [b for b in said.content if not (isinstance(b, Text) and not b.text)]
    _blocks(paper, name, content, most)
    if said.stop_reason in ("error", "aborted", "interrupted", "length"):
        why = f": {said.error_message}" if said.error_message else ""
        paper.block(label("" if content else name), f"({said.stop_reason}{why})", "red")
    elif not content:
        paper.block(label(name), "(nothing yet)" if note else "(nothing)", "dim")


def _blocks(paper: Paper, name: str, blocks: Sequence[object], most: int, style: str = "") -> None:
    for number, block in enumerate(blocks):
        left = label("" if number else name)
        match block:
            case Text():
                paper.block(left, block.text, style, most)
            case Thinking():
                paper.block(left, f"(thinking) {block.thinking}", "dim", most)
            case ToolCall():
                call = f"{block.name} {one_line(block.arguments.text)}"
                paper.block(left, f"→ {call}", "cyan", most)
            case Image():
                paper.block(left, f"({block.media_type}, {len(block.data):,} bytes)", "dim")
