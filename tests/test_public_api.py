"""What `import refold` gives is a promise: adding to it or taking away is a decision made here."""

import inspect

import refold

PUBLIC = {
    # opening and running
    "open",
    "open_async",
    "read",
    "Runtime",
    "AsyncRuntime",
    "Archive",
    "Options",
    "Session",
    "AsyncSession",
    "SessionInfo",
    "Run",
    "AsyncRun",
    "Watch",
    "AsyncWatch",
    "Fate",
    "Past",
    "Entry",
    "AgentState",
    "Request",
    # tools, hooks and models
    "tool",
    "Tool",
    "ToolContext",
    "shell",
    "AbortSignal",
    "BeforeToolCall",
    "Block",
    "AfterToolCall",
    "Override",
    "AfterTurn",
    "Next",
    "Provider",
    "Began",
    "Piece",
    "Finish",
    "OpenAIChat",
    "Scripted",
    "Reply",
    # lifecycle
    "LifecycleEvent",
    "AgentStart",
    "TurnStart",
    "MessageStart",
    "MessageUpdate",
    "MessageEnd",
    "ToolExecutionStart",
    "ToolExecutionUpdate",
    "ToolExecutionEnd",
    "TurnEnd",
    "AgentEnd",
    # messages
    "Message",
    "UserMessage",
    "AssistantMessage",
    "ToolResultMessage",
    "CustomMessage",
    "Text",
    "Thinking",
    "Image",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
    "Json",
    "Usage",
    "Cost",
    # errors
    "RefoldError",
    "CallerError",
    "InvalidArgumentError",
    "BusyError",
    "NothingToContinueError",
    "QueueFullError",
    "LaggedError",
    "UnknownSessionError",
    "InvalidPointError",
    "ClosedError",
    "LogError",
    "ConflictError",
    "FencedError",
    "CorruptError",
    "NotALogError",
    "NewerFormatError",
    "LogAccessError",
    "UnknownEventError",
    "OutsideError",
    "ModelError",
    "ToolError",
    "ToolArgumentsError",
    "BugError",
    "__version__",
}


def test_public_names_are_those_promised():
    assert set(refold.__all__) == PUBLIC


def test_every_public_name_is_there():
    assert [name for name in refold.__all__ if not hasattr(refold, name)] == []


def test_every_public_class_and_function_says_what_it_is():
    silent = [
        name
        for name in refold.__all__
        if (inspect.isclass(getattr(refold, name)) or inspect.isfunction(getattr(refold, name)))
        and not inspect.getdoc(getattr(refold, name))
    ]
    assert silent == []


def test_every_public_method_says_what_it_does():
    silent = [
        f"{name}.{member}"
        for name in refold.__all__
        if inspect.isclass(kind := getattr(refold, name))
        for member, value in vars(kind).items()
        if not member.startswith("_")
        and (inspect.isfunction(value) or isinstance(value, property))
        and not inspect.getdoc(value)
    ]
    assert silent == []


def test_every_error_has_the_one_base():
    errors = [
        getattr(refold, name)
        for name in refold.__all__
        if inspect.isclass(getattr(refold, name))
        and issubclass(getattr(refold, name), BaseException)
    ]
    assert errors
    assert all(issubclass(error, refold.RefoldError) for error in errors)
    assert all(error.__name__.endswith("Error") for error in errors)
