"""What the machine knows of a message: its shape and where its content lies, never the content.

A head is a few dozen bytes however long the message is; so a state is small, a long session opens
by its skeletons, and a body can be erased without the fold noticing.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from refold.events.agent.messages import StopReason

Role = Literal["user", "assistant", "tool_result", "custom"]

Outcome = Literal[
    "returned",
    "failed",
    "unknown",
    "invalid",
    "blocked",
    "hook_raised",
    "cut_off",
    "aborted",
    "interrupted",
]
"""How a tool call ended: the tool returned or raised; there is no such tool; its arguments do not
fit; a hook blocked it, or raised; the reply was cut off by length; it was aborted before it ran;
the process died while it ran."""


class CallHead(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A tool call in an assistant message.

    Attributes:
        problem: True if its arguments do not fit the tool's schema.
    """

    id: str
    name: str
    problem: bool = False


class Shape(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What an input says of a message it carries; the machine makes a head of it.

    Attributes:
        size: bytes of the message in stored form.
        stop_reason, calls: of an assistant message.
        call: of a tool result, the call it answers.
    """

    role: Role
    size: int = 0
    stop_reason: StopReason | None = None
    calls: tuple[CallHead, ...] = ()
    call: CallHead | None = None
    is_error: bool = False


class MessageHead(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A message in a state.

    Attributes:
        role: whose it is.
        source: version of the fact whose body holds its content (for a tool call that never ran:
            of the assistant message that holds the call).
        index: which message of that body, or which call.
        since: for an assistant message, the version of the `model_called` whose deltas are its
            content; 0 if the body holds all of it.
        size: bytes, as far as is known.
        stop_reason, calls: of an assistant message.
        call, outcome, is_error: of a tool result; without an outcome it came whole, as a message.
        patch: version of the hook's outcome that overrides parts of it; 0 if none.
    """

    role: Role
    source: int
    index: int = 0
    since: int = 0
    size: int = 0
    stop_reason: StopReason | None = None
    calls: tuple[CallHead, ...] = ()
    call: CallHead | None = None
    outcome: Outcome | None = None
    is_error: bool = False
    patch: int = 0


def heads_of(shapes: tuple[Shape, ...], source: int) -> tuple[MessageHead, ...]:
    """The heads of the messages that the fact at version `source` carries."""
    return tuple(
        MessageHead(
            role=shape.role,
            source=source,
            index=index,
            size=shape.size,
            stop_reason=shape.stop_reason,
            calls=shape.calls,
            call=shape.call,
            is_error=shape.is_error,
        )
        for index, shape in enumerate(shapes)
    )
