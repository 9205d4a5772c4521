"""The tools and hooks of a script."""

from __future__ import annotations

import asyncio
import builtins
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import refold
from refold import (
    AfterToolCall,
    BeforeToolCall,
    Block,
    Json,
    Text,
    Tool,
    ToolContext,
    ToolResult,
)
from tests.bugs.gates import Gates

Given = dict[str, Any]


class PlayedTools:
    """Makes the tools and hooks of a script, and keeps what their steps note.

    Tools are functions on threads, which block and may ignore the signal as they like; one with a
    subprocess runs it by refold's own shell tool, and is async as that is.

    Attributes:
        counters: how often each `count` was reached.
        recorded: the arguments of calls whose tools `record` them, by call id.
        escaped: what was raised in threads that outlived their call.
    """

    def __init__(self, script: Given, gates: Gates, folder: Path) -> None:
        self._script = script
        self._gates = gates
        self._folder = folder
        self._threads: list[threading.Thread] = []
        self.counters: Counter[str] = Counter(dict.fromkeys(_counted(script), 0))
        self.recorded: dict[str, list[Any]] = defaultdict(list)
        self.escaped: list[str] = []
        self.tools = [self._tool(name, given) for name, given in script["tools"].items()]

    def hooks(self) -> dict[str, Any]:
        """The hooks."""
        given = self._script.get("hooks", {})
        made = {}
        if "before" in given:
            made["before_tool_call"] = partial(_before, given["before"])
        if "after" in given:
            made["after_tool_call"] = partial(_after, given["after"])
        return made

    def join(self) -> None:
        """Wait for the threads that have outlived their calls."""
        for thread in self._threads:
            thread.join(10)

    def _tool(self, name: str, given: Given) -> Tool:
        steps = given["do"]
        if any("subprocess" in step for step in steps):

            async def run(arguments: Given, context: ToolContext) -> Any:
                return await self._with_shell(steps, arguments, context)

            return Tool(run, name=name, parameters=given["parameters"])

        def perform(arguments: Given, context: ToolContext) -> Any:
            return self._all(steps, arguments, context)

        return Tool(perform, name=name, parameters=given["parameters"])

    async def _with_shell(self, steps: list[Given], arguments: Given, context: ToolContext) -> Any:
        result = None
        for step in steps:
            if "subprocess" in step:
                shell = refold.shell(cwd=self._folder)
                result = await shell.call({"command": step["subprocess"]}, context)
            elif "update" in step:
                await context.update(step["update"])
            else:
                done = await asyncio.to_thread(self._all, [step], arguments, context)
                result = result if done is None else done
        return result

    def _all(self, steps: list[Given], arguments: Given, context: ToolContext) -> Any:
        for step in steps:
            result = self._do(step, arguments, context)
            if result is not None:
                return result
        return None

    def _do(self, step: Given, arguments: Given, context: ToolContext) -> Any:
        match step:
            case {"sleep_ms": time_given}:
                context.signal.wait(time_given / 1000)
            case {"sleep_ms_ignoring_signal": time_given}:
                time.sleep(time_given / 1000)
            case {"update": partial_result}:
                context.update(partial_result)
            case {"return_args": name}:
                return str(arguments[name])
            case {"return": text}:
                return text
            case {"return_py": text, **more}:
                return _result(_value(text), more)
            case {"details_py": _}:
                return _result("", step)
            case {"raise": name, **more}:
                raise _error(name, more.get("message", ""))
            case {"count": name}:
                self.counters[name] += 1
            case {"record": _}:
                self.recorded[context.tool_call_id].append(deepcopy(arguments))
            case {"wait_gate": name}:
                self._gates.wait(name, context.signal)
            case {"wait_signal": _}:
                context.signal.wait()
            case {"spawn_thread": steps}:
                self._spawn(steps, arguments, context)
            case _:
                raise NotImplementedError(f"the tool step {step} is not there yet")
        return None

    def _spawn(self, steps: list[Given], arguments: Given, context: ToolContext) -> None:
        def run() -> None:
            try:
                self._all(steps, arguments, context)
            except BaseException as error:
                self.escaped.append(f"{type(error).__name__}: {error}")

        self._threads.append(threading.Thread(target=run, daemon=True))
        self._threads[-1].start()


def _counted(script: Given) -> Iterator[str]:
    for given in script["tools"].values():
        yield from (step["count"] for step in given["do"] if "count" in step)


def _value(text: str) -> Any:
    """The value of a Python expression; it comes from the corpus, not from a stranger."""
    return eval(text)


def _result(text: Any, more: Given) -> Any:
    if "details_py" not in more:
        return text
    details = Json.of(_value(more["details_py"]))
    return ToolResult(content=(Text(str(text)),), details=details)


def _error(name: str, message: str) -> BaseException:
    module, _, name = name.rpartition(".")
    kind = getattr({"": builtins, "asyncio": asyncio}[module], name)
    error: BaseException = kind(message) if message else kind()
    return error


def _before(rules: Given, call: BeforeToolCall) -> Block | None:
    rule = rules.get(call.tool_name, {})
    if "raise" in rule:
        raise _error(rule["raise"], rule.get("message", ""))
    return Block(rule["block"]) if "block" in rule else None


def _after(rules: Given, call: AfterToolCall) -> None:
    rule = rules.get(call.tool_name, {})
    if "raise" in rule:
        raise _error(rule["raise"], rule.get("message", ""))
