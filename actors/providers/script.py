"""Replies given as data: what the scripted model says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any, Protocol, get_args

import msgspec

from refold.actors.providers.provider import Began, Finish, StreamEvent
from refold.actors.providers.script_block import BlockData, ScriptBlock
from refold.events.agent.messages import ErrorKind, StopReason
from refold.events.agent.usage import NO_USAGE, Usage
from refold.events.errors import InvalidArgumentError


class Gate(Protocol):
    """Something to wait for: a `threading.Event`, or an object whose `wait` is a coroutine."""

    def wait(self, *args: Any, **kwargs: Any) -> Any:
        """Block until the gate is open, at most `args[0]` seconds, and say if it is; or be a
        coroutine function, which is called without arguments.
        """
        ...


@dataclass(frozen=True)
class Reply:
    """What the scripted model answers to one call.

    Attributes:
        content: text, or content blocks (`BlockData`).
        stop_reason: None: `error` if an error is given, else `tool_use` if there is a tool call,
            else `stop`.
        usage: a `Usage`, or its numbers by name.
        retry_after: seconds that a failed call asks to be left alone for.
        chunks: how the content is cut for streaming: a number of characters, or (of a reply with
            one block) the parts themselves. None: each block in one part.
        delay: seconds before each part; None: as the provider says.
        gates: what to wait for before an event is sent, by the event's place: `open` (before all),
            `b0.start`, `b0.d0`, `b0.d1`, `b0.end` (block 0, its parts, its end), `close` (before
            the last). A `threading.Event` is left when the run is aborted; a coroutine is waited
            for to its end.
        streamed: False: only the finished message comes, in one.
        ignores_abort: True: the reply goes on whatever the signal says.
        raises: an exception, or the text of one: the call raises it, as one with a bug would.

    Raises:
        InvalidArgumentError: a field cannot be used; the message says which, and why.
    """

    content: str | Sequence[BlockData] = ""
    _: KW_ONLY
    stop_reason: StopReason | None = None
    usage: Usage | Mapping[str, Any] = NO_USAGE
    error_message: str | None = None
    error_kind: ErrorKind | None = None
    retry_after: float | None = None
    response_id: str = ""
    chunks: int | Sequence[str] | None = None
    delay: float | None = None
    gates: Mapping[str, Gate] = field(default_factory=dict)
    streamed: bool = True
    ignores_abort: bool = False
    raises: str | Exception | None = None

    def __post_init__(self) -> None:
        for name, type in (("stop_reason", StopReason), ("error_kind", ErrorKind)):
            value = getattr(self, name)
            if value is not None and value not in get_args(type):
                raise InvalidArgumentError(
                    f"{name} is {value!r}: give one of {', '.join(get_args(type))}"
                )
        self._counted()
        self._blocks()

    @classmethod
    def of(cls, value: Any, where: str = "reply") -> Reply:
        """A reply from what scripts hold: a `Reply`, a text, or a mapping of its fields.

        Raises:
            InvalidArgumentError: it is none of them; the message begins with `where`.
        """
        if isinstance(value, Reply):
            return value
        if isinstance(value, str):
            return cls(value)
        if not isinstance(value, Mapping):
            raise InvalidArgumentError(
                f"{where} is of type {type(value).__name__}: give a text, or an object with content"
            )
        names = [item.name for item in fields(cls)]
        unknown = sorted(set(value).difference(names))
        if unknown:
            raise InvalidArgumentError(
                f"{where} has the unknown field {unknown[0]!r}: the fields are {', '.join(names)}"
            )
        try:
            return cls(**value)
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"{where}: {error}") from None

    def events(self, call: int) -> Iterator[tuple[str, StreamEvent]]:
        """The events of the reply, each with its place (see `gates`).

        Args:
            call: number of the model call; ids of tool calls that have none are made from it.
        """
        blocks = [
            (block, block.id or f"call_{call}_{index}")
            for index, block in enumerate(self._blocks())
        ]
        if self.streamed:
            yield "open", Began()
            for index, (block, id) in enumerate(blocks):
                yield from block.pieces(index, id if block.kind == "tool_call" else "")
        has_calls = any(block.kind == "tool_call" for block, _ in blocks)
        failed = self.error_message is not None or self.error_kind is not None
        implied: StopReason = "error" if failed else "tool_use" if has_calls else "stop"
        end = Finish(
            stop_reason=self.stop_reason or implied,
            usage=self._counted(),
            content=None if self.streamed else tuple(block.content(id) for block, id in blocks),
            error_message=self.error_message,
            error_kind=self.error_kind,
            response_id=self.response_id,
            retry_after=self.retry_after,
        )
        yield "close", end

    def _counted(self) -> Usage:
        if isinstance(self.usage, Usage):
            return self.usage
        try:
            usage = msgspec.convert(dict(self.usage), Usage)
        except (msgspec.ValidationError, TypeError, ValueError) as error:
            raise InvalidArgumentError(f"usage is {self.usage!r}: {error}") from None
        if "total" in self.usage:
            return usage
        return Usage.of(
            usage.input, usage.output, usage.cache_read, usage.cache_write, cost=usage.cost
        )

    def _blocks(self) -> list[ScriptBlock]:
        data = [self.content] if isinstance(self.content, str) else self.content
        if not isinstance(data, Sequence):
            raise InvalidArgumentError(
                f"content is of type {type(data).__name__}: give text or a list of content blocks"
            )
        chunks = self.chunks
        if len(data) != 1 and chunks is not None and not isinstance(chunks, int):
            raise InvalidArgumentError(
                f"chunks are parts of one block, but there are {len(data)}: give each block its own"
            )
        return [
            ScriptBlock.of(block, chunks, f"content[{index}]") for index, block in enumerate(data)
        ]
