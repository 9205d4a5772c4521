"""What a session is set to. Names and digests only: the texts lie in blobs."""

from __future__ import annotations

from typing import Literal

import msgspec

from refold.events.agent.messages import ThinkingLevel

QueueMode = Literal["one_at_a_time", "all"]
"""How many queued messages are delivered at once."""

ToolExecution = Literal["parallel", "sequential"]
IdleQueue = Literal["run", "hold"]
"""What a message does that is queued while the session rests: start a run, or wait for one."""

HookName = Literal[
    "transform_context",
    "convert_to_llm",
    "before_tool_call",
    "after_tool_call",
    "prepare_next_turn",
    "should_stop_after_turn",
    "get_steering_messages",
    "get_follow_up_messages",
]


class ToolHead(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What the machine decides by of a tool.

    Attributes:
        sequential: True makes every batch with a call of this tool sequential.
        prepares: True if user code rewrites its arguments before they are checked.
        replay: "safe" if it may run again after a crash in mid-run.
    """

    name: str
    sequential: bool = False
    prepares: bool = False
    replay: Literal["never", "safe"] = "never"


class Toolset(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The tools of a session: their heads, and the digest of the blob with their specs."""

    heads: tuple[ToolHead, ...] = ()
    digest: bytes = b""

    def find(self, name: str) -> ToolHead | None:
        """The tool of this name, or None."""
        for head in self.heads:
            if head.name == name:
                return head
        return None


NO_TOOLS = Toolset()


class Settings(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """All settings of a session.

    Attributes:
        model: provider and model, as `provider/id`.
        system_prompt: digest of its blob; empty if none was given.
        hooks: the hooks that the session has, so that a run knows what to wait for.
        max_retries: how often a model call that failed for a passing reason is made again.
        retry_delay: ms before the first of them, doubled for each further one.
        queue_limit: how many messages may wait in the session's queues.
    """

    model: str = ""
    thinking_level: ThinkingLevel = "off"
    system_prompt: bytes = b""
    tools: Toolset = NO_TOOLS
    steering_mode: QueueMode = "one_at_a_time"
    follow_up_mode: QueueMode = "one_at_a_time"
    tool_execution: ToolExecution = "parallel"
    idle_queue: IdleQueue = "run"
    hooks: tuple[HookName, ...] = ()
    max_retries: int = 4
    retry_delay: int = 500
    queue_limit: int = 1000
