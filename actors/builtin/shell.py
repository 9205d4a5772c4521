"""A tool that runs shell commands."""

from __future__ import annotations

import asyncio
import os
import signal as signals
from asyncio.subprocess import DEVNULL, Process
from codecs import getincrementaldecoder
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any

from msgspec import Meta

from refold.actors.tool import Tool, ToolContext
from refold.events.errors import ToolError

MOST_OUTPUT = 16 * 2**20
"""Bytes; a command that prints more is ended."""

REPORT_INTERVAL = 0.1
"""Seconds for which output is gathered into one report of progress."""

REPORT_SIZE = 4096
"""Characters of a report: the last ones, where more came at once."""

LAST_WORDS = 0.25
"""Seconds that output may still come behind the command's end, from what it left running."""


def shell(
    *,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    grace: float = 0.5,
) -> Tool:
    """Make the tool `shell`, which runs commands as the user of this program, with all their
    rights: give it to a model only where that is wanted.

        session = runtime.session("s", model="local", tools=[refold.shell(cwd="project")])

    The model gives a `command`, as for `sh -c`, and may give a `timeout`. It is told what the
    command printed, output and errors as they came; of a text over `Options.output_limit` the
    beginning and the end. Another exit code than 0 makes it an error. What is printed meanwhile is
    reported as progress.

    A command has a process group of its own. If the run is aborted, or the time is over, the whole
    group is asked to end (SIGTERM), and killed where it does not. What a command that ended by
    itself has left running in the background goes on, unheard.

    Args:
        cwd: the folder to run commands in; None: that of the program.
        env: environment variables, in place of the program's.
        timeout: seconds that a command may take if the model does not say; None: any time.
        grace: seconds between asking to end and killing. It should be less than `Options.grace`,
            for what is printed until then is part of the result.
    """

    async def run(
        context: ToolContext,
        command: Annotated[str, Meta(description="The command, as for `sh -c`.")],
        timeout: Annotated[float, Meta(description="Seconds that it may take.", gt=0)]
        | None = timeout,
    ) -> str:
        """Run a shell command, and get what it printed. It is given no input."""
        source, sink = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                "/bin/sh",
                "-c",
                command,
                stdin=DEVNULL,
                stdout=sink,
                stderr=sink,
                cwd=cwd,
                env=env,
                start_new_session=True,
            )
        except BaseException:
            os.close(source)
            raise
        finally:
            os.close(sink)
        return await _Command(process, source, context, grace).result(timeout)

    return Tool(run, name="shell")


class _Command:
    """A command that runs.

    Its output comes by a pipe that asyncio knows nothing of: asyncio would wait for all processes
    that hold it, not only for the command.
    """

    def __init__(self, process: Process, source: int, context: ToolContext, grace: float) -> None:
        self._process = process
        self._source = source
        self._context = context
        self._grace = grace
        self._loop = asyncio.get_running_loop()
        self._output = bytearray()
        self._unreported = ""
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._came = asyncio.Event()
        self._closed = asyncio.Event()
        self._stop: asyncio.Future[str] = self._loop.create_future()

    async def result(self, timeout: float | None) -> str:
        """What it printed, once it has ended.

        Raises:
            ToolError: it failed, or was ended; with what it printed.
        """
        forget = self._context.signal.on_abort(
            lambda: self._loop.call_soon_threadsafe(self._end, "the run was aborted")
        )
        timer: asyncio.TimerHandle | None = None
        if timeout is not None:
            timer = self._loop.call_later(timeout, self._end, f"it took over {timeout:g} s")
        self._loop.add_reader(self._source, self._read)
        reporting = self._loop.create_task(self._report())
        try:
            failure = await self._ended()
        except BaseException:  # nobody waits for the result any more
            self._send(signals.SIGKILL)
            await self._process.wait()
            raise
        finally:
            forget()
            if timer:
                timer.cancel()
            reporting.cancel()
            self._loop.remove_reader(self._source)
            os.close(self._source)
        output = self._output.decode("utf-8", "replace")
        if failure:
            raise ToolError(f"{output.rstrip()}\n\n[{failure}]".lstrip())
        return output or "(no output)"

    async def _ended(self) -> str:
        """Wait for the end, or bring it about; why it is a failure, empty if it is none."""
        exited = self._loop.create_task(self._process.wait())
        try:
            either: set[asyncio.Future[Any]] = {exited, self._stop}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not exited.done():
                await self._end_group()
                return f"ended: {self._stop.result()}"
        finally:
            exited.cancel()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closed.wait(), LAST_WORDS)
        code = exited.result()
        if code < 0:
            return f"killed by {signals.Signals(-code).name}"
        return f"exit code {code}" if code else ""

    def _end(self, why: str) -> None:
        if not self._stop.done():
            self._stop.set_result(why)

    async def _end_group(self) -> None:
        self._send(signals.SIGTERM)
        try:
            async with asyncio.timeout(self._grace):
                while self._send(0):
                    await asyncio.sleep(0.01)
        except TimeoutError:
            self._send(signals.SIGKILL)
        await self._process.wait()

    def _send(self, signal: int) -> bool:
        """Send a signal to all of the group; False if there is nobody any more."""
        try:
            os.killpg(self._process.pid, signal)
        except (ProcessLookupError, PermissionError):  # macOS: the dead permit nothing
            return False
        return True

    def _read(self) -> None:
        data = os.read(self._source, 2**16)
        if not data:
            self._loop.remove_reader(self._source)
            self._closed.set()
            return
        self._output += data
        self._unreported = (self._unreported + self._decode(data))[-REPORT_SIZE:]
        self._came.set()
        if len(self._output) > MOST_OUTPUT:
            self._loop.remove_reader(self._source)
            self._end(f"it printed over {MOST_OUTPUT // 2**20} MiB: have it write to a file")

    async def _report(self) -> None:
        while True:
            await self._came.wait()
            self._came.clear()
            news, self._unreported = self._unreported, ""
            if news:
                await self._context.update(news)
            await asyncio.sleep(REPORT_INTERVAL)
