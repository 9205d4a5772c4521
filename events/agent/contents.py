"""Messages out of heads: the one place where the machine's heads and the bodies meet.

What is read comes through `Contents`, so this is as pure as the fold: the same heads over the same
log give the same messages for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, overload

from msgspec.structs import replace

from refold.events.agent import bodies, facts, inputs
from refold.events.agent.heads import MessageHead
from refold.events.agent.messages import (
    AssistantContent,
    AssistantMessage,
    Content,
    Image,
    Message,
    Text,
    ToolCall,
    ToolResult,
    ToolResultMessage,
    ToolSpec,
    UserMessage,
)
from refold.events.agent.usage import NO_USAGE
from refold.events.agent.wording import OUTCOME_TEXTS
from refold.events.canonical import EMPTY_OBJECT, Json
from refold.events.errors import BugError
from refold.events.fact import Fact
from refold.events.vector import Vector


class Contents(Protocol):
    """How the content of one session is read. Safe to use from any thread."""

    def fact(self, version: int) -> tuple[Fact, bytes]:
        """The fact at `version` and its body (empty if it has none)."""
        ...

    def deltas(self, since: int, until: int) -> Iterable[bytes]:
        """The bodies of the `model_delta` facts with versions in (`since`, `until`]."""
        ...

    def blob(self, digest: bytes) -> bytes:
        """A blob of the session's log."""
        ...

    def message(self, head: MessageHead) -> Message:
        """`message_of` this head, perhaps remembered."""
        ...


class Conversation(Sequence[Message]):
    """Messages that are read when they are asked for. Immutable; equal to another by its messages.

    Raises (on access):
        ClosedError: the log behind it has been closed.
    """

    __slots__ = ("_contents", "_count", "_heads")

    def __init__(
        self, heads: Vector[MessageHead], contents: Contents, count: int | None = None
    ) -> None:
        self._heads = heads
        self._contents = contents
        self._count = len(heads) if count is None else count

    @property
    def heads(self) -> Iterator[MessageHead]:
        """The heads of the messages, oldest first."""
        return self._heads.between(0, self._count)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(self._count)))
        if index < 0:
            index += self._count
        if not 0 <= index < self._count:
            raise IndexError(f"message {index} of {self._count}")
        return self._contents.message(self._heads[index])

    def __iter__(self) -> Iterator[Message]:
        return (self._contents.message(head) for head in self.heads)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Conversation | tuple | list):
            return len(self) == len(other) and all(
                mine == theirs for mine, theirs in zip(self, other, strict=True)
            )
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<Conversation of {self._count} messages>"


def message_of(head: MessageHead, contents: Contents) -> Message:
    """The message of a head."""
    if head.role == "assistant":
        return _assistant(head, contents)
    if head.outcome is not None:
        return _tool_result(head, contents)
    _, body = contents.fact(head.source)
    return with_images(bodies.messages_of(body)[head.index], contents)


def _assistant(head: MessageHead, contents: Contents) -> AssistantMessage:
    if head.stop_reason is None:
        called, _ = contents.fact(head.since)
        assert isinstance(called, facts.ModelCalled)
        provider, _, model = called.model.partition("/")
        content = _streamed(head.since, head.source, contents)
        return AssistantMessage(content=content, provider=provider, model=model)
    fact, body = contents.fact(head.source)
    if isinstance(fact, inputs.ModelFinished):
        end = bodies.end_of(body)
        return AssistantMessage(
            content=(
                _streamed(head.since, head.source, contents) if end.content is None else end.content
            ),
            provider=end.provider,
            model=end.model,
            stop_reason=fact.stop_reason,
            usage=fact.usage or NO_USAGE,
            error_message=end.error_message,
            error_kind=fact.kind,
            response_id=end.response_id,
            timestamp=end.timestamp,
        )
    if isinstance(fact, inputs.ModelFailed | inputs.HookRaised | inputs.ListenerFailed):
        failure = bodies.failure_of(body)
        return AssistantMessage(
            content=(Text(""),),
            provider=failure.provider,
            model=failure.model,
            stop_reason=head.stop_reason,
            error_message=failure.message,
            error_kind=fact.kind if isinstance(fact, inputs.ModelFailed) else None,
            timestamp=failure.timestamp,
        )
    message = bodies.messages_of(body)[head.index]
    assert isinstance(message, AssistantMessage)
    return message


def _streamed(since: int, until: int, contents: Contents) -> tuple[AssistantContent, ...]:
    return bodies.assembled(
        piece for body in contents.deltas(since, until) for piece in bodies.pieces_of(body)
    )


def _tool_result(head: MessageHead, contents: Contents) -> ToolResultMessage:
    assert head.call is not None
    result = tool_result_of(head, contents)
    return ToolResultMessage(
        tool_call_id=head.call.id,
        tool_name=head.call.name,
        content=result.content,
        details=result.details,
        usage=result.usage,
        added_tool_names=result.added_tool_names or (),
        is_error=head.is_error,
        whole=result.whole,
        timestamp=result.timestamp,
    )


def tool_result_of(head: MessageHead, contents: Contents) -> ToolResult:
    """The result behind a tool result's head: the tool's own, as hooks changed it, or the words
    for a call that did not run.
    """
    assert head.call is not None
    fact, body = contents.fact(head.source)
    match head.outcome:
        case "returned" | "failed":
            result = bodies.result_of(body)
        case "hook_raised":
            result = error_result(bodies.failure_of(body).message)
        case "blocked":
            text = bodies.verdict_of(body).text
            result = error_result(text or OUTCOME_TEXTS["blocked"].format(name=head.call.name))
        case "invalid":
            result = error_result(_problem(head, fact, body))
        case None:
            raise BugError("a tool result that came whole has no result of its own")
        case outcome:
            result = error_result(OUTCOME_TEXTS[outcome].format(name=head.call.name))
    if not head.patch:
        return replace(result, content=_images_in(result.content, contents))
    patch = bodies.patch_of(contents.fact(head.patch)[1])
    content = result.content if patch.content is None else patch.content
    return replace(
        result,
        content=_images_in(content, contents),
        details=patch.details or result.details,
        usage=patch.usage or result.usage,
        terminate=result.terminate if patch.terminate is None else patch.terminate,
    )


def with_images(message: Message, contents: Contents) -> Message:
    """A stored message with the bytes of its images."""
    if isinstance(message, UserMessage | ToolResultMessage):
        return replace(message, content=_images_in(message.content, contents))
    return message


def _images_in(content: tuple[Content, ...], contents: Contents) -> tuple[Content, ...]:
    return tuple(
        replace(block, data=contents.blob(block.blob), blob=b"")
        if isinstance(block, Image) and block.blob
        else block
        for block in content
    )


def _problem(head: MessageHead, fact: Fact, body: bytes) -> str:
    assert head.call is not None
    if isinstance(fact, inputs.ModelFinished):
        return dict(bodies.end_of(body).problems)[head.call.id]
    return bodies.verdict_of(body).text


def error_result(text: str) -> ToolResult:
    """A result that says what went wrong."""
    return ToolResult(content=(Text(text),), details=EMPTY_OBJECT)


def arguments_of(head: MessageHead, index: int, contents: Contents) -> Json:
    """The arguments of one call in a reply, as the model gave them."""
    return call_of(head, index, contents).arguments


def call_of(head: MessageHead, index: int, contents: Contents) -> ToolCall:
    """One call in a reply, by its place among the calls."""
    message = contents.message(head)
    assert isinstance(message, AssistantMessage)
    return message.tool_calls[index]


def text_blob(digest: bytes, contents: Contents) -> str:
    """A system prompt by its digest; empty for none."""
    return contents.blob(digest).decode() if digest else ""


def tools_blob(digest: bytes, contents: Contents) -> tuple[ToolSpec, ...]:
    """Tool specs by their digest; none for none."""
    return bodies.specs_of(contents.blob(digest)) if digest else ()
