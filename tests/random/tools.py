"""Tools and hooks that do what chance wants."""

from __future__ import annotations

import asyncio
import time
from random import Random
from typing import Any

import refold
from refold import AfterToolCall, BeforeToolCall, Block, Override, Tool, ToolContext

NAMES = ("quick", "slow", "deaf", "alone", "safe", "broken", "prepared", "leaping")


def tools(chance: Random) -> list[Tool]:
    """One tool of each kind there is."""

    def quick(context: ToolContext, x: int = 0) -> str:
        if chance.random() < 0.2:
            context.update("under way")
        return "done"

    def slow(context: ToolContext, x: int = 0) -> str:
        context.update("begun")
        context.signal.wait(chance.random() * 0.01)
        context.update("nearly there")
        return "done"

    def deaf(x: int = 0) -> str:
        time.sleep(0.03 if chance.random() < 0.3 else 0)  # it does not look at its signal
        return "done"

    async def alone(context: ToolContext, x: int = 0) -> str:
        await asyncio.sleep(chance.random() * 0.005)
        return "done"

    async def safe(context: ToolContext, x: int = 0) -> str:
        await context.update("begun")
        await asyncio.sleep(chance.random() * 0.01)
        return "again" if context.again else "done"

    def broken(x: int = 0) -> str:
        raise chance.choice([ValueError("broken"), SystemExit(1), KeyboardInterrupt()])

    def prepared(x: int = 0) -> str:
        return "done"

    async def leaping(x: int = 0) -> str:
        await asyncio.sleep(60 if chance.random() < 0.1 else 0)
        return "done"

    def preparing(arguments: dict[str, Any]) -> dict[str, Any]:
        if chance.random() < 0.1:
            raise ValueError("cannot be prepared")
        return {**arguments, "x": 1}

    return [
        Tool(quick),
        Tool(slow),
        Tool(deaf),
        Tool(alone, sequential=True),
        Tool(safe, replay="safe"),
        Tool(broken),
        Tool(prepared, prepare_arguments=preparing),
        Tool(leaping, timeout=0.02),
    ]


class Hooks:
    """Hooks that block, override, stop, put in messages, and raise.

    Attributes:
        said: the texts of the messages that they have put in.
    """

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self.said: list[str] = []

    def functions(self) -> dict[str, Any]:
        """The hooks, by name."""
        return {
            "before_tool_call": self._before,
            "after_tool_call": self._after,
            "should_stop_after_turn": self._should_stop,
            "get_steering_messages": self._steering,
            "get_follow_up_messages": self._follow_up,
            "transform_context": self._transform,
            "get_api_key": lambda _: None,
        }

    async def _before(self, about: BeforeToolCall) -> Block | None:
        self._perhaps_raise()
        return Block("not now") if self._chance.random() < 0.1 else None

    def _after(self, about: AfterToolCall) -> Override | None:
        self._perhaps_raise()
        if self._chance.random() < 0.2:
            return Override(is_error=self._chance.random() < 0.5, terminate=True)
        return None

    def _should_stop(self, _: Any) -> bool:
        return self._chance.random() < 0.05

    async def _steering(self, _: Any) -> Any:
        self._perhaps_raise(0.005)
        return self._message("steering") if self._chance.random() < 0.05 else None

    def _follow_up(self, _: Any) -> Any:
        return self._message("follow-up") if self._chance.random() < 0.05 else None

    def _transform(self, messages: list[refold.Message], _: Any) -> Any:
        self._perhaps_raise(0.005)
        return messages[-10:] if self._chance.random() < 0.2 else None

    def _message(self, what: str) -> str:
        self.said.append(f"{what} of a hook, {len(self.said)}")
        return self.said[-1]

    def _perhaps_raise(self, how_often: float = 0.03) -> None:
        if self._chance.random() < how_often:
            raise self._chance.choice([ValueError("hook"), SystemExit(2), asyncio.CancelledError()])
