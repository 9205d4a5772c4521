"""One run of a tool, from its arguments to its outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from refold.actors.arguments import fitted
from refold.actors.contents import StreamContents
from refold.actors.signal import AbortSignal
from refold.actors.tool import Tool, failure_from, result_from
from refold.events.agent import bodies, effects, inputs
from refold.events.agent.contents import call_of
from refold.events.agent.heads import MessageHead
from refold.events.agent.messages import ToolResult
from refold.events.agent.state import SessionState
from refold.events.errors import ToolError

Outcome = tuple[inputs.ToolReturned | inputs.ToolFailed, ToolResult]
Report = Callable[[ToolResult], Coroutine[Any, Any, None]]


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


async def _nothing() -> None:
    return None


class _Done:
    """What `update` gives a sync tool: done already; awaiting it does nothing."""

    def __await__(self) -> Any:
        return _nothing().__await__()


class ToolRun:
    """Runs one call of a tool.

    Args:
        report: puts progress into the log, and returns once it is shown.
        grace: seconds to end after an abort, before the run is given up.
    """

    def __init__(
        self,
        *,
        tool: Tool,
        effect: effects.RunTool,
        state: SessionState,
        signal: AbortSignal,
        loop: asyncio.AbstractEventLoop,
        pool: ThreadPoolExecutor,
        clock: Callable[[], int],
        grace: float,
        report: Report,
    ) -> None:
        self.tool = tool
        self.effect = effect
        self.signal = signal
        self._state = state
        self._loop = loop
        self._pool = pool
        self._clock = clock
        self._grace = grace
        self._report = report
        self._over = False

    async def outcome(self, contents: StreamContents) -> Outcome:
        """Run it; whatever it raises is an outcome too."""
        try:
            value = await self._limited(self._call(contents))
            result = result_from(value, self._clock())
        except asyncio.CancelledError:
            if (
                not self._over
            ):  # a tool may cancel itself; the task of a run that is dropped may not
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    raise
            return self._failed(ToolError("the tool was cancelled"))
        except BaseException as error:  # SystemExit of a tool is the tool's failure, no more
            return self._failed(error)
        finally:
            self._over = True
        fact = inputs.ToolReturned(
            call=self.effect.call,
            terminate=bool(result.terminate),
            size=len(result.text),
        )
        return fact, result

    def update(self, partial: Any) -> Awaitable[None]:
        """Report progress: blocks on a thread of its own, is awaited on the event loop."""
        if self._over:
            return _Done()
        reported = self._report(result_from(partial, self._clock()))
        if self.tool.is_async:
            return reported
        asyncio.run_coroutine_threadsafe(reported, self._loop).result()
        return _Done()

    @staticmethod
    def missing(effect: effects.RunTool, timestamp: int) -> Outcome:
        """The outcome of a run that nobody here can make."""
        error = ToolError(f"The tool {effect.name} is not there, and the run was aborted.")
        fact = inputs.ToolFailed(call=effect.call)
        return fact, failure_from(error, timestamp)

    async def _call(self, contents: StreamContents) -> Any:
        effect = self.effect
        reply = MessageHead(
            role="assistant", source=effect.reply, since=effect.since, stop_reason="tool_use"
        )
        call = call_of(reply, effect.index, contents)
        if effect.checked:
            verdict = bodies.verdict_of(contents.fact(effect.checked)[1])
            assert verdict.arguments is not None
            arguments = verdict.arguments.value
        else:
            arguments = fitted(call.name, self.tool.parameters, call.arguments)
        uid = self._state.uid.hex()
        context = _Context(self, self._state.name, call.id, f"{uid}-{effect.call}")
        if self.tool.is_async:
            return await self.tool.call(arguments, context)
        return await self._loop.run_in_executor(self._pool, self._on_thread, arguments, context)

    def _on_thread(self, arguments: Any, context: _Context) -> Any:
        try:
            return self.tool.call(arguments, context)
        except StopIteration as error:  # no future can hold one
            raise RuntimeError(f"the tool raised {error!r}") from error

    async def _limited(self, call: Coroutine[Any, Any, Any]) -> Any:
        """Wait for the call, for its time limit, and for the grace after an abort."""
        running = self._loop.create_task(call)
        aborted = self._loop.create_task(self.signal.wait_async())
        try:
            await asyncio.wait(
                (running, aborted),
                timeout=self.tool.timeout,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if not running.done() and self.signal.aborted:
                await asyncio.wait((running,), timeout=self._grace)
            if running.done():
                return running.result()
            self._over = True
            if self.signal.aborted:
                raise ToolError(
                    f"{self.tool.name} did not end within {self._grace:g} s of the abort; what it "
                    "still does is not part of the conversation"
                )
            raise ToolError(f"{self.tool.name} did not end within {self.tool.timeout:g} s")
        finally:
            aborted.cancel()
            running.cancel()

    def _failed(self, error: BaseException) -> Outcome:
        result = failure_from(error, self._clock())
        return inputs.ToolFailed(call=self.effect.call, size=len(result.text)), result
