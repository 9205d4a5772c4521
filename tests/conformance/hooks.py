"""Hooks that follow the rules of a scenario."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

from refold import (
    AbortSignal,
    AfterToolCall,
    AfterTurn,
    BeforeToolCall,
    Block,
    CustomMessage,
    Message,
    Next,
    Override,
    UserMessage,
)
from tests.conformance import shown
from tests.conformance.observation import Observation
from tests.conformance.steps import Place, Steps
from tests.conformance.tools import Tools
from tests.conformance.values import ABSENT, PROVIDER, content, message, usage

Rule = dict[str, Any]

_NAMES = {
    "beforeToolCall": "before_tool_call",
    "afterToolCall": "after_tool_call",
    "transformContext": "transform_context",
    "prepareNextTurn": "prepare_next_turn",
    "shouldStopAfterTurn": "should_stop_after_turn",
}


class Hooks:
    """Makes the hooks of a scenario.

    Args:
        convert: `convertToLlm`, if there is one. What a model is sent is shaped by the hook
            `transform_context` in refold, so conversion is the last thing that one does.
        model: id of the model that messages are from.
    """

    def __init__(
        self,
        given: dict[str, list[Rule]],
        *,
        convert: Rule | None,
        model: str,
        tools: Tools,
        steps: Steps,
        observation: Observation,
    ) -> None:
        self._given = given
        self._convert = convert
        self._model = model
        self._tools = tools
        self._steps = steps
        self._observation = observation
        self._calls: Counter[str] = Counter()
        self._fired: Counter[tuple[str, int]] = Counter()

    def functions(self) -> dict[str, Callable[..., Any]]:
        """The hooks, by the names that refold has for them."""
        all_of_them: dict[str, Callable[..., Any]] = {
            "before_tool_call": self._before,
            "after_tool_call": self._after,
            "transform_context": self._transform,
            "prepare_next_turn": self._next_turn,
            "should_stop_after_turn": self._should_stop,
        }
        for name in self._given.keys() - _NAMES.keys():
            raise self._observation.trouble(f"the hook {name} is not there yet")
        wanted = {_NAMES[name] for name in self._given}
        if self._convert is not None:
            wanted.add("transform_context")
        return {name: all_of_them[name] for name in wanted}

    async def _ask(
        self,
        name: str,
        told: dict[str, Any],
        signal: AbortSignal,
        arguments: dict[str, Any] | None = None,
    ) -> Any:
        """Note the call, and do the steps of the first rule that fits."""
        self._calls[name] += 1
        told = {"hook": name, "n": self._calls[name]} | told
        if signal.aborted:
            told["aborted"] = True
        noted = self._observation.hook(told)
        place = Place(f"hook:{name}", arguments, signal=signal)
        for number, rule in enumerate(self._given[name]):
            if self._fits((name, number), rule, noted):
                self._fired[name, number] += 1
                return await self._steps.do(rule["steps"], place)
        return ABSENT

    def _fits(self, which: tuple[str, int], rule: Rule, noted: dict[str, Any]) -> bool:
        return (
            all(noted.get(key) == wanted for key, wanted in rule.get("match", {}).items())
            and rule.get("n", noted["n"]) == noted["n"]
            and self._fired[which] < rule.get("times", self._fired[which] + 1)
        )

    async def _before(self, given: BeforeToolCall) -> Block | None:
        told = {
            "toolCallId": given.tool_call_id,
            "toolName": given.tool_name,
            "args": deepcopy(given.arguments),
            "contextMessages": len(given.messages),
        }
        wanted = await self._ask("beforeToolCall", told, given.signal, given.arguments)
        if wanted is ABSENT or not wanted or not wanted.get("block"):
            return None
        return Block(wanted.get("reason", ""))

    async def _after(self, given: AfterToolCall) -> Override | None:
        told = {
            "toolCallId": given.tool_call_id,
            "toolName": given.tool_name,
            "args": deepcopy(given.arguments),
            "result": shown.tool_result(given.result),
            "isError": given.is_error,
        }
        wanted = await self._ask("afterToolCall", told, given.signal, given.arguments)
        if wanted is ABSENT or not wanted:
            return None
        return Override(
            content=content(wanted["content"]) if "content" in wanted else None,
            details=wanted.get("details"),
            usage=usage(wanted["usage"]) if "usage" in wanted else None,
            is_error=wanted.get("isError"),
            terminate=wanted.get("terminate"),
        )

    async def _transform(
        self, messages: list[Message], signal: AbortSignal
    ) -> Sequence[Message] | None:
        seen = messages
        if "transformContext" in self._given:
            wanted = await self._ask("transformContext", {"roles": shown.roles(seen)}, signal)
            if wanted is not ABSENT:
                seen = self._edited(wanted, seen)
        return seen if self._convert is None else self._converted(self._convert, seen)

    async def _next_turn(self, given: AfterTurn) -> Next | None:
        wanted = await self._ask("prepareNextTurn", _after_turn(given), given.signal)
        if wanted is ABSENT or not wanted:
            return None
        context = wanted.get("context", {})
        messages: list[Message] | None = None
        if "messages" in context:
            messages = [message(each, self._model) for each in context["messages"]]
        elif "transform" in context:
            messages = self._edited(context["transform"], list(given.messages))
        return Next(
            model=f"{PROVIDER}/{wanted['model']}" if "model" in wanted else None,
            thinking_level=wanted.get("thinkingLevel"),
            system_prompt=context.get("systemPrompt"),
            tools=self._tools.named(context["tools"]) if "tools" in context else None,
            messages=messages,
        )

    async def _should_stop(self, given: AfterTurn) -> bool:
        wanted = await self._ask("shouldStopAfterTurn", _after_turn(given), given.signal)
        return wanted is True

    def _edited(self, edit: Rule, messages: list[Message]) -> list[Message]:
        messages = messages[edit.get("dropFirst", 0) :]
        kept = edit.get("keepLast", len(messages))
        messages = messages[max(0, len(messages) - kept) :]
        before = [message(each, self._model) for each in edit.get("prepend", [])]
        behind = [message(each, self._model) for each in edit.get("append", [])]
        return [*before, *messages, *behind]

    def _converted(self, convert: Rule, messages: list[Message]) -> list[Message]:
        converted: list[Message] = []
        as_user = convert.get("asUser", {})
        for each in messages:
            role = shown.role(each)
            if role in convert["keepRoles"]:
                converted.append(each)
            elif role in as_user and isinstance(each, CustomMessage):
                text = each.data.value[as_user[role]]
                converted.append(UserMessage(content=content(text), timestamp=each.timestamp))
        return converted


def _after_turn(given: AfterTurn) -> dict[str, Any]:
    told = shown.message(given.message)
    return {
        "stopReason": told["stopReason"],
        "toolResults": [result.tool_call_id for result in given.tool_results],
        "contextRoles": shown.roles(given.messages),
        "newRoles": shown.roles(given.new_messages),
    }
