"""One run of a tool, from its arguments to its outcome."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any

from refold.actors.contents import StreamContents
from refold.actors.signal import AbortSignal
from refold.actors.tool import Tool, failure_from, result_from
from refold.actors.user_code import is_being_cancelled, tamed
from refold.events.agent import bodies, effects, inputs
from refold.events.agent.contents import call_of
from refold.events.agent.heads import MessageHead
from refold.events.agent.messages import ToolResult
from refold.events.agent.state import SessionState
from refold.events.errors import ToolError

Outcome = inputs.ToolReturned | inputs.ToolFailed
Deliver = Callable[[Outcome, ToolResult], None]
Note = Callable[[inputs.ToolReturnedLate, ToolResult], None]
Report = Callable[[ToolResult], "Future[Any]"]


class ToolRun:
    """Runs one call of a tool, and delivers its outcome once: what comes first, counts.

    Args:
        signal: of the session's run. The tool gets one of its own, which is also set when nobody
            waits for the tool any more.
        deliver: takes the outcome, on whatever thread it comes to be.
        note: takes what a run that was given up has come to after all.
        report: puts progress into the log; the future is there once it is shown.
    """

    def __init__(
        self,
        *,
        tool: Tool,
        effect: effects.RunTool,
        state: SessionState,
        signal: AbortSignal,
        contents: StreamContents,
        clock: Callable[[], int],
        deliver: Deliver,
        note: Note,
        report: Report,
    ) -> None:
        self.tool = tool
        self.effect = effect
        self.signal, self._unlink = signal.linked()
        self._state = state
        self._contents = contents
        self._clock = clock
        self._deliver = deliver
        self._note = note
        self._report = report
        self._lock = threading.Lock()
        self._over = False
        self._dropped = False

    def on_thread(self) -> None:
        """Run a sync tool, on this thread."""
        if self._over:
            return  # given up before a thread was free
        try:
            arguments, context = self._prepared()
            value = self.tool.call(arguments, context)
        except BaseException as error:
            self._fail(tamed(error))
        else:
            self._return(value)

    async def on_loop(self) -> None:
        """Run an async tool, on the event loop."""
        try:
            arguments, context = self._prepared()
            value = await self.tool.call(arguments, context)
        except asyncio.CancelledError:
            self._fail(ToolError(f"{self.tool.name} was cancelled"))
            if is_being_cancelled():
                raise
        except BaseException as error:
            self._fail(tamed(error))
        else:
            self._return(value)

    def give_up(self, why: str) -> None:
        """Wait for it no longer; what it still does is not part of the conversation."""
        if not self._over:
            why = f"{self.tool.name} did not end {why}; what it still does is ignored"
            self._fail(ToolError(why))
            self.signal.set()

    def drop(self) -> None:
        """Its outcome matters to nobody any more."""
        with self._lock:
            self._over = self._dropped = True
        self.signal.set()

    def update(self, partial: Any) -> Awaitable[None]:
        """Report progress: blocks on a thread of its own, is awaited on the event loop."""
        if self._over:
            return _DONE
        shown = self._report(result_from(partial, self._clock()))
        if self.tool.is_async:
            return asyncio.wrap_future(shown)  # on its way, awaited or not
        shown.result()
        return _DONE

    def _prepared(self) -> tuple[Any, _Context]:
        effect, contents = self.effect, self._contents
        reply = MessageHead(
            role="assistant", source=effect.reply, since=effect.since, stop_reason="tool_use"
        )
        call = call_of(reply, effect.index, contents)
        if effect.checked:
            verdict = bodies.verdict_of(contents.fact(effect.checked)[1])
            assert verdict.arguments is not None
            arguments = verdict.arguments.value
        else:
            arguments = contents.arguments(reply, effect.index, self.tool.parameters).value
        key = f"{self._state.uid.hex()}-{effect.call}"
        return arguments, _Context(self, self._state.name, call.id, key)

    def _return(self, value: Any) -> None:
        try:
            result = result_from(value, self._clock())
        except Exception as error:  # what it returned is not JSON
            self._fail(error)
            return
        fact = inputs.ToolReturned(
            call=self.effect.call, terminate=bool(result.terminate), size=len(result.text)
        )
        self._settle(fact, result)

    def _fail(self, error: Exception) -> None:
        result = failure_from(error, self._clock())
        fact = inputs.ToolFailed(call=self.effect.call, size=len(result.text))
        self._settle(fact, result)

    def _settle(self, fact: Outcome, result: ToolResult) -> None:
        with self._lock:
            late, self._over = self._over, True
        self._unlink()
        if not late:
            self._deliver(fact, result)
        elif not self._dropped:
            failed = isinstance(fact, inputs.ToolFailed)
            self._note(inputs.ToolReturnedLate(call=fact.call, failed=failed), result)


class _Context:
    """The `ToolContext` of a run."""

    def __init__(self, run: ToolRun, session: str, tool_call_id: str, idempotency_key: str) -> None:
        self.session = session
        self.tool_call_id = tool_call_id
        self.idempotency_key = idempotency_key
        self.signal = run.signal
        self.again = run.effect.again
        self._run = run

    def update(self, partial: Any) -> Awaitable[None]:
        return self._run.update(partial)


class _Done:
    """An awaitable that is done already."""

    def __await__(self) -> Any:
        return iter(())


_DONE = _Done()
