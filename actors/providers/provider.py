"""What a provider of models is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

import msgspec

from refold.actors.signal import AbortSignal
from refold.events.agent.bodies import Piece
from refold.events.agent.context import Request
from refold.events.agent.messages import AssistantContent, ErrorKind, StopReason
from refold.events.agent.usage import NO_USAGE, Usage


class Began(msgspec.Struct, frozen=True):
    """The provider answers; the message becomes visible, still empty."""


class Finish(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a reply; nothing comes behind it.

    Attributes:
        content: all of the message's content; None if it is what the pieces say.
        error_message, error_kind: with the stop reasons `error` and `aborted`.
        retry_after: seconds that the provider asks to be left alone for.
        translation: name and version of the rendering of the request, such as `openai-chat/1`;
            empty if none was rendered.
        wire_digest: digest of the rendered request body.
    """

    stop_reason: StopReason
    usage: Usage = NO_USAGE
    content: tuple[AssistantContent, ...] | None = None
    error_message: str | None = None
    error_kind: ErrorKind | None = None
    response_id: str = ""
    retry_after: float | None = None
    translation: str = ""
    wire_digest: bytes = b""


ABORTED = Finish(stop_reason="aborted", error_kind="aborted", error_message="aborted")
"""How a call ends whose signal was set before anything came of it."""

StreamEvent = Began | Piece | Finish


class Provider(Protocol):
    """Calls models. One object serves many calls at once, all on one asyncio event loop."""

    @property
    def name(self) -> str:
        """The word before the slash in a model's name, such as `openai`."""
        ...

    def check(self, model: str) -> None:
        """Raise if `model` (the part behind the slash) certainly cannot be called.

        Raises:
            InvalidArgumentError: there is no such model here, or something it needs is missing.
        """
        ...

    def stream(self, request: Request, signal: AbortSignal) -> AsyncIterator[StreamEvent]:
        """Call a model. Ends with a `Finish`, which also tells of errors and of an abort.

        Where the session has a hook `get_api_key`, what that gave comes as `api_key`: the key to
        use for this call, in place of the provider's own. It must be shown nowhere.

        What it raises instead is recorded as a failure of the run, so it should raise only what
        it did not foresee. A set signal means: end soon, with stop reason `aborted` and the
        content so far; if it is set at the call, nothing goes over the wire.
        """
        ...

    async def close(self) -> None:
        """Give back connections; called once, when the runtime closes."""
        ...
