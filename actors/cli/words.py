"""An event of a log in a few words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from refold.events.agent import effects, facts, inputs
from refold.events.agent.agent import AGENT
from refold.events.agent.batch import find_run
from refold.events.agent.bodies import AssistantEnd, Failure, Piece, Verdict
from refold.events.agent.heads import MessageHead
from refold.events.agent.messages import Message, ToolResult
from refold.events.agent.state import Phase, SessionState
from refold.events.fact import Fact, UnknownEvent


def hook_of(before: SessionState, fact: Fact) -> str:
    """The name of the hook that `fact` is the outcome of; empty if it is none."""
    if not isinstance(fact, inputs.HookReturned | inputs.HookRaised):
        return ""
    for effect in AGENT.outstanding(before):
        if isinstance(effect, effects.CallHook) and effect.call == fact.call:
            return effect.hook
    return ""


def words(fact: Fact, content: Any, before: SessionState, after: SessionState) -> str:
    """What happened, beside the event's type.

    Args:
        content: what its body holds (`refold.actors.cli.content`).
        before, after: the states around it.
    """
    rule = _WORDS.get(type(fact))
    return rule(fact, content, before, after) if rule else ""


def count(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun, such as `1 message`, `2 messages`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def seconds(ms: int) -> str:
    """A time, such as `0.5 s`."""
    return f"{ms / 1000:g} s"


def _settings(fact: inputs.SettingsRequested) -> str:
    said = []
    for name in fact.__struct_fields__:
        value = getattr(fact, name)
        if value is UNSET:
            continue
        if name == "tools":
            said.append(f"tools {', '.join(head.name for head in value.heads) or 'none'}")
        elif name == "hooks":
            said.append(f"hooks {', '.join(value) or 'none'}")
        elif name == "system_prompt":
            said.append("system prompt" if value else "no system prompt")
        else:
            said.append(f"{name.replace('_', ' ')} {value}")
    return ", ".join(said)


def _texts(messages: tuple[Message, ...]) -> str:
    return " / ".join(message.text or f"({_role(message)})" for message in messages)


def _role(message: Message) -> str:
    return str(message.__struct_config__.tag)


def _pieces(pieces: tuple[Piece, ...] | None) -> str:
    said: list[str] = []
    for piece in pieces or ():
        if piece.kind.endswith("_start") and said:
            said.append(" ")
        if piece.kind == "tool_call_start":
            said.append(f"→ {piece.name} ")
        elif piece.kind == "thinking_start":
            said.append("(thinking) ")
        elif piece.kind.endswith("_delta"):
            said.append(piece.text)
    return "".join(said) or ("" if pieces else "it answers")


def _finished(fact: inputs.ModelFinished, end: AssistantEnd | None) -> str:
    said = str(fact.stop_reason)
    if fact.usage and fact.usage.total:
        said += f", {count(fact.usage.total, 'token')}"
    return f"{said}: {end.error_message}" if end and end.error_message else said


def _ran(fact: Any, result: ToolResult | None, before: SessionState) -> str:
    batch = before.run.batch if before.run else None
    index = find_run(batch, fact.call)
    name = batch.calls[index].head.name if batch and index >= 0 else f"run {fact.call}"
    return f"{name}: {result.text if result else ''}"


def _hook(fact: inputs.HookReturned, content: Any, before: SessionState) -> str:
    said = hook_of(before, fact)
    if fact.block or fact.problem:
        reason = content.text if isinstance(content, Verdict) else ""
        said += f": {'blocked' if fact.block else 'refused'}{', ' + reason if reason else ''}"
    elif fact.stop:
        said += ": stop"
    elif fact.shapes:
        said += f": {_texts(content or ())}"
    elif fact.patched or fact.next_turn is not None:
        said += ": changed"
    return said


def _failure(failure: Failure | None) -> str:
    return failure.message if failure else ""


def _shown(head: MessageHead | None) -> str:
    if head is None:
        return ""
    if head.call is not None:
        return f"{head.role} of {head.call.name}"
    failed = head.stop_reason in ("error", "aborted", "interrupted")
    return f"{head.role}, {head.stop_reason}" if failed else head.role


def _call_name(fact: Any, state: SessionState) -> str:
    batch = state.run.batch if state.run else None
    return batch.calls[fact.index].head.name if batch else ""


def _names(fact: facts.ToolsCalled, state: SessionState) -> str:
    batch = state.run.batch if state.run else None
    return ", ".join(batch.calls[index].head.name for index in fact.indexes) if batch else ""


def _items(fact: facts.Drained) -> str:
    return f"{fact.queue}: {'item' if len(fact.items) == 1 else 'items'} " + ", ".join(
        map(str, fact.items)
    )


_WORDS: dict[type[Fact], Callable[[Any, Any, SessionState, SessionState], str]] = {
    inputs.Created: lambda fact, *_: str(fact.name),
    inputs.Renamed: lambda fact, *_: str(fact.name),
    inputs.SettingsRequested: lambda fact, *_: _settings(fact),
    inputs.HistoryReplaced: lambda fact, *_: count(len(fact.shapes), "message"),
    inputs.Prompted: lambda _, content, *__: _texts(content or ()),
    inputs.Queued: lambda fact, content, *_: (
        f"{fact.queue}{', now' if fact.now else ''}: {_texts(content or ())}"
    ),
    inputs.Cancelled: lambda fact, *_: f"item {fact.item}",
    inputs.Cleared: lambda fact, *_: ", ".join(fact.queues),
    inputs.AbortRequested: lambda _, __, before, ___: (
        "" if before.phase is not Phase.IDLE else "nothing was running"
    ),
    inputs.ModelDelta: lambda _, content, *__: _pieces(content),
    inputs.ModelFinished: lambda fact, content, *_: _finished(fact, content),
    inputs.ModelFailed: lambda _, content, *__: _failure(content),
    inputs.ToolProgressed: lambda fact, content, before, _: _ran(fact, content, before),
    inputs.ToolReturned: lambda fact, content, before, _: _ran(fact, content, before),
    inputs.ToolFailed: lambda fact, content, before, _: _ran(fact, content, before),
    inputs.ToolReturnedLate: lambda fact, content, *_: (
        f"run {fact.call}: {content.text if content else ''}"
    ),
    inputs.RetryDue: lambda fact, *_: f"call {fact.call}",
    inputs.HookReturned: lambda fact, content, before, _: _hook(fact, content, before),
    inputs.HookRaised: lambda fact, content, before, _: (
        f"{hook_of(before, fact)}: {_failure(content)}"
    ),
    inputs.ListenerFailed: lambda _, content, *__: _failure(content),
    inputs.Recovered: lambda *_: "another process goes on with the run",
    facts.AgentStart: lambda fact, *_: f"run {fact.run}",
    facts.MessageStart: lambda _, __, ___, after: _shown(after.shown),
    facts.MessageEnd: lambda _, __, ___, after: _shown(after.messages[-1]),
    facts.ToolExecutionStart: lambda fact, _, __, after: _call_name(fact, after),
    facts.ToolExecutionUpdate: lambda fact, _, __, after: _call_name(fact, after),
    facts.ToolExecutionEnd: lambda fact, _, __, after: _call_name(fact, after),
    facts.AgentEnd: lambda _, __, before, ___: f"run {before.runs}",
    facts.Drained: lambda fact, *_: _items(fact),
    facts.ContextBuilt: lambda fact, *_: (
        count(fact.count, "message") + (", changed by transform_context" if fact.transform else "")
    ),
    facts.ModelCalled: lambda fact, *_: f"call {fact.call}, {fact.model}",
    facts.ToolsCalled: lambda fact, _, __, after: _names(fact, after),
    facts.RetryScheduled: lambda fact, *_: (
        f"number {fact.attempt} of call {fact.call}, in {seconds(fact.delay)}"
    ),
    facts.HookCalled: lambda fact, *_: str(fact.hook),
    UnknownEvent: lambda *_: "of a later release, which this one does not know",
}
