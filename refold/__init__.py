"""A runtime for LLM agents whose only truth is an append-only event log.

Every state of an agent, every context that a model was sent, and every branch of a session is
rebuilt by replaying the log.

    import refold

    with refold.open("runs.refold") as runtime:
        session = runtime.session("hello", model="local")
        print(session.prompt("Say hello.").result().text)
"""

from typing import TYPE_CHECKING, Any

from refold.actors.aio import AsyncRuntime, AsyncSession, open_async
from refold.actors.builtin.shell import shell
from refold.actors.engine import Options
from refold.actors.fate import Fate
from refold.actors.hook_types import (
    AfterToolCall,
    AfterTurn,
    BeforeToolCall,
    Block,
    Next,
    Override,
)
from refold.actors.past import Entry, Past
from refold.actors.providers.provider import Began, Finish, Provider
from refold.actors.providers.scripted import Reply, Scripted
from refold.actors.run import AsyncRun, Run
from refold.actors.runtime import Archive, Runtime, SessionInfo, open, read
from refold.actors.session import Session
from refold.actors.signal import AbortSignal
from refold.actors.tool import Tool, ToolContext, tool
from refold.actors.watch import AsyncWatch, Watch
from refold.events.agent.bodies import Piece
from refold.events.agent.context import Request
from refold.events.agent.lifecycle import (
    AgentEnd,
    AgentStart,
    LifecycleEvent,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
    TurnStart,
)
from refold.events.agent.messages import (
    AssistantMessage,
    CustomMessage,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolResultMessage,
    ToolSpec,
    UserMessage,
)
from refold.events.agent.projection import AgentState
from refold.events.agent.usage import Cost, Usage
from refold.events.canonical import Json
from refold.events.errors import (
    BugError,
    BusyError,
    CallerError,
    ClosedError,
    ConflictError,
    CorruptError,
    FencedError,
    InvalidArgumentError,
    InvalidPointError,
    LaggedError,
    LogAccessError,
    LogError,
    ModelError,
    NewerFormatError,
    NotALogError,
    NothingToContinueError,
    OutsideError,
    QueueFullError,
    RefoldError,
    ToolArgumentsError,
    ToolError,
    UnknownEventError,
    UnknownSessionError,
)

if TYPE_CHECKING:
    from refold.actors.providers.openai_chat import OpenAIChat

__version__ = "0.1.0"

__all__ = [
    "AbortSignal",
    "AfterToolCall",
    "AfterTurn",
    "AgentEnd",
    "AgentStart",
    "AgentState",
    "Archive",
    "AssistantMessage",
    "AsyncRun",
    "AsyncRuntime",
    "AsyncSession",
    "AsyncWatch",
    "BeforeToolCall",
    "Began",
    "Block",
    "BugError",
    "BusyError",
    "CallerError",
    "ClosedError",
    "ConflictError",
    "CorruptError",
    "Cost",
    "CustomMessage",
    "Entry",
    "Fate",
    "FencedError",
    "Finish",
    "Image",
    "InvalidArgumentError",
    "InvalidPointError",
    "Json",
    "LaggedError",
    "LifecycleEvent",
    "LogAccessError",
    "LogError",
    "Message",
    "MessageEnd",
    "MessageStart",
    "MessageUpdate",
    "ModelError",
    "NewerFormatError",
    "Next",
    "NotALogError",
    "NothingToContinueError",
    "OpenAIChat",
    "Options",
    "OutsideError",
    "Override",
    "Past",
    "Piece",
    "Provider",
    "QueueFullError",
    "RefoldError",
    "Reply",
    "Request",
    "Run",
    "Runtime",
    "Scripted",
    "Session",
    "SessionInfo",
    "Text",
    "Thinking",
    "Tool",
    "ToolArgumentsError",
    "ToolCall",
    "ToolContext",
    "ToolError",
    "ToolExecutionEnd",
    "ToolExecutionStart",
    "ToolExecutionUpdate",
    "ToolResult",
    "ToolResultMessage",
    "ToolSpec",
    "TurnEnd",
    "TurnStart",
    "UnknownEventError",
    "UnknownSessionError",
    "Usage",
    "UserMessage",
    "Watch",
    "__version__",
    "open",
    "open_async",
    "read",
    "shell",
    "tool",
]


def __getattr__(name: str) -> Any:
    """What takes long to import is imported when it is asked for: httpx, with its 90 ms."""
    if name == "OpenAIChat":
        from refold.actors.providers.openai_chat import OpenAIChat

        return OpenAIChat
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
