"""What may follow what in a session's log.

Written without the machine's tables, from what a subscriber may rely on: runs hold turns, turns
hold messages and tools, and all of them end in the reverse order of their beginnings. A failure
of the run drops what was open in it, and is told by a message of its own; a model call that is
made again drops the message it had begun.
"""

from __future__ import annotations

from collections.abc import Iterable

from refold.events.agent import facts, inputs
from refold.events.agent.state import Phase, SessionState
from refold.events.fact import Fact

Step = tuple[SessionState, Fact, SessionState]


def misfits(steps: Iterable[Step]) -> list[str]:
    """The events that stand where they must not."""
    nesting = _Nesting()
    for before, fact, after in steps:
        nesting.take(before, fact, after)
    return nesting.misfits


class _Nesting:
    def __init__(self) -> None:
        self.misfits: list[str] = []
        self._run = self._turn = self._message = False
        self._tools: dict[int, bool] = {}  # by place; True once it has ended
        self._version = 0

    def take(self, before: SessionState, fact: Fact, after: SessionState) -> None:
        self._version = after.version
        match fact:
            case facts.AgentStart():
                self._need(not self._run, fact, "a run is open")
                self._run = True
            case facts.TurnStart():
                self._need(self._run and not self._turn, fact, "no run, or a turn is open")
                self._turn, self._tools = True, {}
            case facts.MessageStart():
                self._need(self._turn and not self._message, fact, "no turn, or a message is open")
                self._message = True
            case facts.MessageUpdate() | facts.MessageEnd():
                self._need(self._message, fact, "no message is open")
                self._message = isinstance(fact, facts.MessageUpdate)
            case facts.ToolExecutionStart():
                self._need(self._turn and fact.index not in self._tools, fact, "begun before")
                self._tools[fact.index] = False
            case facts.ToolExecutionUpdate():
                self._need(self._tools.get(fact.index) is False, fact, "the tool is not at work")
            case facts.ToolExecutionEnd():
                self._need(self._tools.get(fact.index) is False, fact, "the tool is not at work")
                self._tools[fact.index] = True
            case facts.TurnEnd():
                self._need(self._turn and not self._message, fact, "no turn, or a message is open")
                self._need(all(self._tools.values()), fact, "a tool has not ended")
                self._turn = False
            case facts.AgentEnd():
                self._need(self._run and not self._turn, fact, "no run, or a turn is open")
                self._run = False
            case facts.Settled():
                self._need(not self._run, fact, "a run is open")
            case facts.RetryScheduled():
                self._message = False
            case inputs.Recovered() if after.phase is Phase.CALL:
                self._message = False
        if after.phase is Phase.FAILING and before.phase is not Phase.FAILING:
            # The message of the failure, and a turn's end, stand for all that was open.
            self._run = self._turn = True
            self._message, self._tools = False, {}

    def _need(self, right: bool, fact: Fact, why: str) -> None:
        if not right:
            self.misfits.append(f"{type(fact).__name__} at {self._version}: {why}")
