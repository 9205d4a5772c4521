"""Saying one thing in a session, and showing what comes of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from refold.actors.cli.failures import ABORTED, FailedError
from refold.actors.cli.interrupts import Interrupts
from refold.actors.cli.screen import Screen
from refold.actors.cli.terminal import one_line
from refold.actors.session import Session
from refold.events.agent.lifecycle import AgentEnd, LifecycleEvent
from refold.events.agent.messages import AssistantMessage
from refold.events.agent.state import Phase, SessionState
from refold.events.errors import FencedError, RefoldError


class Conversation:
    """One prompt, and what must be finished before it."""

    def __init__(self, session: Session, screen: Screen, interrupts: Interrupts) -> None:
        self._session = session
        self._screen = screen
        self._interrupts = interrupts

    def hold(self, text: str | None, before: SessionState | None) -> int:
        """Finish what was cut off, then say `text`; without text, go on. The exit code.

        Args:
            before: the session's state before it was opened, None if it is new.
        """
        if before is not None and before.run is not None:
            self._screen.note(f"{one_line(self._session.name)}: its run was cut off, and goes on")
            reply = self._finish(before)
            if text is None or self._interrupts.count:
                return self._end(reply)
            if reply is not None and reply.error_message:
                self._screen.note(reply.error_message, "red")
        run = self._session.continue_() if text is None else self._session.prompt(text)
        self._show(run, prompts=0 if text is None else 1)
        self._screen.run = run.number
        try:
            return self._end(run.result())
        except RefoldError:
            if self._interrupts.count:
                return self._end(None)  # it was aborted before the model said anything
            raise

    def _finish(self, before: SessionState) -> AssistantMessage | None:
        """Show the rest of the run that was cut off; its last answer."""
        events = self._session.watch(before.version)
        last = None
        if before.phase is not Phase.SETTLE:
            last = self._show(_until_its_end(events), prompts=0)
        events.close()
        self._session.wait()
        self._screen.run = before.runs
        said = last.messages if isinstance(last, AgentEnd) else ()
        return next((m for m in reversed(said) if isinstance(m, AssistantMessage)), None)

    def _show(self, events: Iterable[LifecycleEvent], prompts: int) -> LifecycleEvent | None:
        """Show the events of a run, and have Ctrl-C abort it; the last of them."""
        last = None
        self._interrupts.arm(self._session.abort)
        try:
            for last in events:
                self._screen.show(last, prompts)
        except OSError:  # nobody can read the answer
            self._session.abort()
            self._session.wait()
            raise
        except FencedError as error:
            self._screen.end_line()
            raise FailedError(
                f"another process has taken over session {self._session.name!r}, and goes on with "
                "its run: `refold log SESSION --follow` shows how"
            ) from error
        except RefoldError:  # the log could not be written
            self._screen.end_line()
            raise
        self._interrupts.disarm()
        return last

    def _end(self, reply: AssistantMessage | None) -> int:
        self._screen.close(self._session.name)
        if reply is None or (reply.stop_reason == "aborted" and self._interrupts.count):
            return ABORTED
        if reply.stop_reason in ("error", "aborted"):
            raise FailedError(reply.error_message or f"the run ended: {reply.stop_reason}")
        if reply.stop_reason == "length":
            self._screen.note("the answer is cut off: the model ran into its limit")
        return 0


def _until_its_end(events: Iterable[LifecycleEvent]) -> Iterator[LifecycleEvent]:
    """The events of a run up to its end, where a watch goes on."""
    for event in events:
        yield event
        if isinstance(event, AgentEnd):
            return
