"""Tools: Python functions that a model may have run."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol, get_type_hints, overload

import msgspec

from refold.actors.arguments import check_schema
from refold.actors.signal import AbortSignal
from refold.actors.user_code import words_of
from refold.events.agent.contents import error_result
from refold.events.agent.messages import Content, Image, Text, ToolResult, ToolSpec
from refold.events.agent.settings import ToolHead
from refold.events.canonical import Json, canonical_text
from refold.events.errors import InvalidArgumentError

Replay = Literal["never", "safe"]


class ToolContext(Protocol):
    """What a tool run is told of its surroundings, in a parameter annotated with this type.

    Attributes:
        session: name of the session.
        tool_call_id: the model's id of the call.
        idempotency_key: the same for every attempt at this run, and for no other run.
        signal: set when the run is aborted; a sync tool has to look at it.
        again: True if a process may have died while it ran this before.
    """

    session: str
    tool_call_id: str
    idempotency_key: str
    signal: AbortSignal
    again: bool

    def update(self, partial: Any) -> Awaitable[None]:
        """Report progress, in any form that the tool could return.

        A sync tool waits here until the report is in the log; an async tool awaits what this
        returns. Reports that come after the tool has ended are ignored.
        """
        ...


class Tool:
    """A function, and how a model is told of it.

    Args:
        function: sync (run on a thread) or async (run on the event loop).
        name, description: default: the function's name and the head of its docstring.
        parameters: a JSON schema of type object. Default: made from the signature, and the
            function gets keyword arguments; if given, it gets one dict.
        sequential: True makes every batch of calls that has one of this tool sequential.
        replay: "safe" lets a run that was cut off by a crash be made again.
        timeout: seconds after which a run fails; None: never.
        prepare_arguments: rewrites the model's arguments (a dict) before they are checked.

    Raises:
        InvalidArgumentError: the schema is none, or the signature cannot be made into one.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        parameters: Any = None,
        sequential: bool = False,
        replay: Replay = "never",
        timeout: float | None = None,
        prepare_arguments: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self.function = function
        self.name = name or function.__name__
        if not self.name or len(self.name) > 128 or canonical_text(self.name) != self.name:
            raise InvalidArgumentError(f"{self.name!r} cannot be the name of a tool")
        doc = inspect.getdoc(function) or ""
        self.description = doc.split("\n\n")[0] if description is None else description
        self.sequential = sequential
        self.replay: Replay = replay
        self.timeout = timeout
        self.prepare_arguments = prepare_arguments
        self.is_async = inspect.iscoroutinefunction(function)
        self._hints = _hints(function)
        self._context = next(
            (key for key, hint in self._hints.items() if hint is ToolContext), None
        )
        self._by_keyword = parameters is None
        schema = self._schema() if parameters is None else parameters
        check_schema(self.name, schema)
        self.parameters = Json.of(schema, f"the parameters of tool {self.name!r}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, as if it were no tool."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Tool {self.name}>"

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model is told of it."""
        return ToolSpec(name=self.name, description=self.description, parameters=self.parameters)

    @property
    def head(self) -> ToolHead:
        """The tool as a session's machine knows it."""
        return ToolHead(
            name=self.name,
            sequential=self.sequential,
            prepares=self.prepare_arguments is not None,
            replay=self.replay,
        )

    def call(self, arguments: Any, context: ToolContext) -> Any:
        """Run the function with checked arguments; a coroutine if it is async."""
        extra = {self._context: context} if self._context else {}
        if self._by_keyword:
            typed = {
                key: msgspec.convert(value, self._hints[key]) if key in self._hints else value
                for key, value in arguments.items()
            }
            return self.function(**typed, **extra)
        return self.function(arguments, **extra)

    def _schema(self) -> dict[str, Any]:
        fields: list[Any] = []
        for key, parameter in inspect.signature(self.function).parameters.items():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise InvalidArgumentError(
                    f"tool {self.name!r} takes *{key}: name its parameters, or give "
                    "`parameters`, a JSON schema"
                )
            if key == self._context:
                continue
            hint = self._hints.get(key, Any)
            if parameter.default is parameter.empty:
                fields.append((key, hint))
            else:
                fields.append((key, hint, msgspec.field(default_factory=lambda: None)))
        try:
            made = msgspec.defstruct("Parameters", fields, kw_only=True)
            schema = msgspec.json.schema(made)
        except TypeError as error:
            raise InvalidArgumentError(
                f"the signature of tool {self.name!r} cannot be made into a JSON schema: {error}. "
                "Annotate it with types that have one, or give `parameters`"
            ) from error
        return _top(schema)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise InvalidArgumentError(
            f"the annotations of {function!r} cannot be read: {error}"
        ) from error
    hints.pop("return", None)
    return hints


def _top(schema: dict[str, Any]) -> dict[str, Any]:
    """The struct's own schema, with what it refers to beside it."""
    definitions = dict(schema.get("$defs", {}))
    top: dict[str, Any] = definitions.pop("Parameters")
    top.pop("title", None)
    if definitions:
        top["$defs"] = definitions
    return top


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Any = None,
    sequential: bool = False,
    replay: Replay = "never",
    timeout: float | None = None,
    prepare_arguments: Callable[[dict[str, Any]], Any] | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a function a tool: `@tool`, or `@tool(name=..., replay="safe")`. See `Tool`."""
    if function is not None:
        return Tool(function)
    return lambda decorated: Tool(decorated, **options)


def result_from(value: Any, timestamp: int) -> ToolResult:
    """The result that a tool means by what it returned.

    Text is what the model is told, as are `Text` and `Image` blocks; a `ToolResult` is taken as
    it is; any other value is told as its JSON, and kept as the result's details.

    Raises:
        InvalidArgumentError: it is not JSON.
    """
    if isinstance(value, ToolResult):
        details: Any = value.details
        return msgspec.structs.replace(
            value,
            content=content_from(value.content),
            details=details if details is None else Json.of(details, "the result's details"),
            timestamp=timestamp,
        )
    if isinstance(value, str):
        return ToolResult(content=(Text(canonical_text(value)),), timestamp=timestamp)
    if isinstance(value, Text | Image):
        return ToolResult(content=content_from([value]), timestamp=timestamp)
    if value is None:
        return ToolResult(content=(Text("done"),), timestamp=timestamp)
    frozen = Json.of(value, "the tool's result")
    return ToolResult(content=(Text(frozen.text),), details=frozen, timestamp=timestamp)


def content_from(given: Any) -> tuple[Content, ...]:
    """Text, or a list of `Text` and `Image` blocks, as canonical content.

    Raises:
        InvalidArgumentError: it is something else.
    """
    content: list[Content] = []
    for block in (Text(given),) if isinstance(given, str) else given:
        if isinstance(block, Text):
            content.append(msgspec.structs.replace(block, text=canonical_text(block.text)))
        elif isinstance(block, Image):
            content.append(block)
        else:
            raise InvalidArgumentError(f"{block!r} is no content of a result: give Text or Image")
    return tuple(content)


def failure_from(error: Exception, timestamp: int) -> ToolResult:
    """The result of a tool that raised."""
    return msgspec.structs.replace(error_result(words_of(error)), timestamp=timestamp)
