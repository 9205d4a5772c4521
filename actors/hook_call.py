"""One call of a hook: what it is about, and what the hook may see."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from refold.actors.contents import StreamContents
from refold.actors.kit import Kits
from refold.actors.signal import AbortSignal
from refold.actors.user_code import called
from refold.events.agent import effects
from refold.events.agent.contents import Conversation
from refold.events.agent.state import Phase, Run, SessionState
from refold.events.errors import InvalidArgumentError


class HookCall:
    """Everything that the making of one call needs.

    Args:
        contents: of the session; state: right after the `hook_called` that wants it.
    """

    def __init__(
        self,
        *,
        stream: bytes,
        effect: effects.CallHook,
        state: SessionState,
        signal: AbortSignal,
        contents: StreamContents,
        kits: Kits,
        pool: ThreadPoolExecutor,
        clock: Callable[[], int],
    ) -> None:
        self.stream = stream
        self.effect = effect
        self.state = state
        self.signal = signal
        self.contents = contents
        self.kits = kits
        self.clock = clock
        self._pool = pool

    @property
    def number(self) -> int:
        """The number of the hook call, which its outcome names."""
        return self.effect.call

    @property
    def run(self) -> Run:
        """The run that waits."""
        return self.state.active

    @property
    def hooks(self) -> Any:
        """The session's hooks, by name."""
        return self.kits.of(self.stream).hooks

    async def ask(self, *given: Any) -> Any:
        """What the hook itself returns."""
        return await self.ask_function(self.hooks[self.effect.hook], *given)

    async def ask_function(self, function: Callable[..., Any], *given: Any) -> Any:
        """What some function of the session returns, sync or async."""
        return await called(function, self._pool, *given)

    def context(self) -> Conversation:
        """The run's context; the results of a batch join it together, when the batch is over."""
        told = len(self.run.results) if self.state.phase is Phase.BATCH else 0
        return Conversation(self.run.context, self.contents, len(self.run.context) - told)

    def expect(self, right: bool, value: Any, wanted: str) -> None:
        """Refuse what the hook returned.

        Raises:
            InvalidArgumentError: it is not `right`.
        """
        if not right:
            raise InvalidArgumentError(
                f"{self.effect.hook} returned a {type(value).__name__}: it may return {wanted}"
            )
