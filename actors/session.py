"""A session, as users hold it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from refold.actors.door import Prompt
from refold.actors.point import Point
from refold.actors.run import Run
from refold.actors.session_core import SessionCore
from refold.actors.tool import Tool
from refold.actors.watch import Watch
from refold.events.agent import inputs
from refold.events.agent.inputs import QueueName
from refold.events.agent.messages import Image, Message, ThinkingLevel
from refold.events.errors import ClosedError
from refold.events.fact import Offer


class Session(SessionCore):
    """A durable mailbox with an agent behind it. Safe to use from several threads.

    What a method has returned from is in the log, and survives whatever comes.
    """

    def prompt(self, prompt: Prompt, images: Sequence[Image] = ()) -> Run:
        """Start a run with text, a message, or several. Returns once that is durable.

        Raises:
            BusyError: a run is active; `steer` and `follow_up` reach it.
            InvalidArgumentError: it is no prompt.
        """
        return self._run(self._prompted(prompt, images))

    def continue_(self) -> Run:
        """Start a run from what is there: an unanswered message, or queued ones.

        Raises:
            NothingToContinueError: there is nothing to answer.
            BusyError: a run is active.
        """
        return self._run(Offer(inputs.Continued()))

    def steer(self, prompt: Prompt, images: Sequence[Image] = (), *, now: bool = False) -> int:
        """Say something that the model hears before its next call. Returns the item's id.

        A session that rests starts a run with it, unless its `idle_queue` is "hold".

        Args:
            now: do not wait for the end of the turn: an answer that is being streamed stops where
                it is, what there is of it is kept (its stop reason is "interrupted"), and the
                model hears this next.

        Raises:
            QueueFullError: too many messages wait already.
        """
        return self._queue("steering", prompt, images, now).result()

    def follow_up(self, prompt: Prompt, images: Sequence[Image] = ()) -> int:
        """Say something that is answered when the agent would stop. Returns the item's id."""
        return self._queue("follow_up", prompt, images).result()

    def next_turn(self, prompt: Prompt, images: Sequence[Image] = ()) -> int:
        """Say something along with the next prompt, before it. Returns the item's id."""
        return self._queue("next_turn", prompt, images).result()

    def cancel(self, item: int) -> None:
        """Take a queued message back.

        Raises:
            InvalidArgumentError: it does not wait any more.
        """
        self._offer(inputs.Cancelled(item=item)).result()

    def clear(self, *queues: QueueName) -> tuple[int, ...]:
        """Empty queues; all of them if none is named. Returns the ids of what was in them."""
        return self._cleared(self._clear(queues).result())

    def abort(self) -> None:
        """End the active run: the model's stream, hooks and tools see the signal. Returns once that
        is durable, not when the run has ended.

        What is queued is not lost: it waits for the next call, or (steering, where tools were
        running) goes into the conversation now, for the next answer. What is queued behind the
        abort starts a run of its own.
        """
        self._offer(inputs.AbortRequested()).result()

    def set(
        self,
        *,
        model: str | None = None,
        thinking_level: ThinkingLevel | None = None,
        system_prompt: str | None = None,
        tools: Sequence[Tool] | None = None,
        **others: Any,
    ) -> None:
        """Change settings; they count from the next run. See `Runtime.session` for all of them."""
        given = {
            "model": model,
            "thinking_level": thinking_level,
            "system_prompt": system_prompt,
            "tools": tools,
        }
        self._settings({**given, **others}).result()

    def replace_messages(self, messages: Sequence[Message]) -> None:
        """Make the conversation another one from here on; the log keeps the old one."""
        self._replace(messages).result()

    def reset(self) -> None:
        """Empty conversation and queues; settings stay."""
        self._offer(inputs.ResetRequested()).result()

    def watch(self, after: Point = 0) -> Watch:
        """Lifecycle events from a point of the past, and then live; the session is never slowed."""
        contents = self._engine.contents(self.stream)
        version = self.past.resolve(after)
        return Watch(self._engine.hub, self.stream, self.past, contents, version)

    def wait(self) -> None:
        """Wait until the session has settled."""
        settled, end = self._settling()
        try:
            if self.is_busy:
                settled.result()
        finally:
            end()

    def _run(self, offer: Offer) -> Run:
        run = Run(self._engine.hub, self.stream, self._engine.contents(self.stream))
        try:
            version = self._enter(offer).result()
        except BaseException:
            run.forget()
            raise
        if not version:
            raise ClosedError("the session does not take inputs any more")
        run.begin(version)
        return run
