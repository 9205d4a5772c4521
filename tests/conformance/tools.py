"""Tools whose runs are steps of a scenario."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

import msgspec

from refold import Tool, ToolContext, ToolResult
from tests.conformance.changes import Changes
from tests.conformance.observation import Item, Observation
from tests.conformance.steps import Place, Steps, Thrown
from tests.conformance.values import ABSENT, tool_result

Given = dict[str, Any]


class _Run(msgspec.Struct):
    """A run that has started. It has ended once its end has been heard."""

    tool_call_id: str
    update: Callable[[Any], Any]
    ended: bool = False


class Tools:
    """Makes the tools of a scenario, and keeps their order.

    Args:
        given: the tools as the scenario has them.
        pending: the ids of the calls that have been taken up and have not ended.
        free_ends: runs end when they do; else in the order of their starts.
    """

    def __init__(
        self,
        given: list[Given],
        *,
        pending: Callable[[], Iterable[str]],
        free_ends: bool,
        steps: Steps,
        observation: Observation,
    ) -> None:
        self._pending = pending
        self._free_ends = free_ends
        self._steps = steps
        self._observation = observation
        self._runs: list[_Run] = []
        self._changes = Changes()
        self._tools = {each["name"]: self._tool(each) for each in given}

    def named(self, names: list[str]) -> list[Tool]:
        """The tools of these names."""
        return [self._tools[name] for name in names]

    def heard_end(self, tool_call_id: str) -> None:
        """The end of a call has been delivered."""
        for run in self._runs:
            if run.tool_call_id == tool_call_id and not run.ended:
                run.ended = True
                self._changes.happened()
                return

    def heard_end_of_all(self) -> None:
        """The run that they belong to is over: the end of some may never come, if it failed."""
        for run in self._runs:
            run.ended = True
        self._changes.happened()

    async def late_update(self, tool_call_id: str, partial: Any) -> None:
        """Report progress of the last run of a call, whatever has become of it."""
        run = next(run for run in reversed(self._runs) if run.tool_call_id == tool_call_id)
        await run.update(tool_result(partial))

    def _tool(self, given: Given) -> Tool:
        async def run(arguments: dict[str, Any], context: ToolContext) -> ToolResult:
            return await self._run(given, arguments, context)

        prepares = given.get("prepareArguments")
        return Tool(
            run,
            name=given["name"],
            description=given.get("description", ""),
            parameters=given["parameters"],
            sequential=given.get("executionMode") == "sequential",
            prepare_arguments=_prepares(prepares) if prepares else None,
        )

    async def _run(self, given: Given, arguments: Any, context: ToolContext) -> ToolResult:
        noted = self._note(given, arguments, context)
        before = [run for run in self._runs if not run.ended]
        self._runs.append(_Run(context.tool_call_id, context.update))
        self._changes.happened()
        await self._changes.until(self._batch_is_noted)
        place = Place(
            f"tool:{context.tool_call_id}", arguments, context.update, signal=context.signal
        )
        steps = given.get("runs", {}).get(context.tool_call_id, given.get("run", []))
        try:
            value = await self._steps.do(steps, place)
        except Thrown:
            await self._settle(before, noted, context)
            raise
        await self._settle(before, noted, context)
        return tool_result(f"{given['name']} done" if value is ABSENT else value)

    def _batch_is_noted(self) -> bool:
        """All runs of a batch are noted before the first of them goes on."""
        noted = Counter(run.tool_call_id for run in self._runs if not run.ended)
        return Counter(self._pending()) <= noted

    def _note(self, given: Given, arguments: Any, context: ToolContext) -> Item:
        item = {
            "tool": given["name"],
            "toolCallId": context.tool_call_id,
            "args": deepcopy(arguments),
        }
        if context.signal.aborted:
            item["aborted"] = True
        return self._observation.tool_run(item)

    async def _settle(self, before: list[_Run], noted: Item, context: ToolContext) -> None:
        if not self._free_ends:
            await self._changes.until(lambda: all(run.ended for run in before))
        if context.signal.aborted:
            noted["abortedAtEnd"] = True


def _prepares(rule: Given) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def prepared(arguments: dict[str, Any]) -> dict[str, Any]:
        if "throw" in rule:
            raise Thrown(rule["throw"])
        changed = dict(arguments)
        for old, new in rule.get("rename", {}).items():
            if old in changed:
                changed[new] = changed.pop(old)
        for key, value in rule.get("default", {}).items():
            changed.setdefault(key, value)
        return changed

    return prepared
