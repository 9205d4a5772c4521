"""The driver `agent`: a session with its commands."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import refold
from refold import AsyncRun, AsyncSession, Message, Options
from refold.events.agent.inputs import QueueName
from tests.conformance import shown
from tests.conformance.heard import Heard
from tests.conformance.hooks import Hooks
from tests.conformance.listeners import MAIN, Listeners
from tests.conformance.model import ScriptedModel
from tests.conformance.observation import Observation
from tests.conformance.steps import Place, Step, Steps
from tests.conformance.tools import Tools
from tests.conformance.values import ABSENT, PROVIDER, content, message, mode

Given = dict[str, Any]
Command = Callable[[Step], Awaitable[Any]]


class AgentDriver:
    """Plays a scenario on a session.

    A command that starts a run gives back what is left to wait for; it is under way by then.

    Attributes:
        divergence: where the session's log did not re-execute, None if it did.
        audited: places where the effects that a state owed were not those under way.
    """

    def __init__(self, given: Given) -> None:
        self.given = given
        self.observation = observation = Observation()
        self.divergence: Any = None
        self.audited: list[str] = []
        self.models = [each["id"] for each in given.get("models", [{"id": "m1"}])]
        self.heard = Heard()
        self.steps = Steps(self.perform, self.heard, observation)
        self.tools = Tools(
            [*given.get("tools", []), *given.get("extraTools", [])],
            pending=lambda: self.session.state.pending_tool_calls,
            free_ends=given.get("freeEnds", False),
            steps=self.steps,
            observation=observation,
        )
        self.listeners = Listeners(
            given.get("triggers", []),
            updates=given.get("updates", False),
            tools=self.tools,
            steps=self.steps,
            heard=self.heard,
            observation=observation,
        )
        self.model = ScriptedModel(
            models=self.models,
            replies=given.get("replies", []),
            own=_own(given.get("options", {})),
            steps=self.steps,
            observation=observation,
        )
        self.commands = self._commands()
        self.session: AsyncSession

    async def play(self, log: str | None) -> None:
        """Do all of the scenario; `observation` holds what came of it.

        Args:
            log: folder of a log on disk; None: one in memory.
        """
        runtime = await refold.open_async(
            log,
            providers=[self.model],
            options=Options(delta_interval=0, audit=self.audited.append),
        )
        async with runtime:
            await self._open(runtime)
            await self.steps.do(self.given["commands"], Place())
            await self.steps.all_ended()
            self.observation.final = self.final()
            self.divergence = self.session.past.reexecute()

    async def _open(self, runtime: refold.AsyncRuntime) -> None:
        given, options = self.given, self.given.get("options", {})
        hooks = Hooks(
            given.get("hooks", {}),
            convert=given.get("convertToLlm"),
            model=self.models[0],
            tools=self.tools,
            steps=self.steps,
            observation=self.observation,
        )
        self.session = await runtime.session(
            options.get("sessionId", "scenario"),
            model=f"{PROVIDER}/{self.models[0]}",
            tools=self.tools.named([each["name"] for each in given.get("tools", [])]),
            system_prompt=given.get("systemPrompt", ""),
            thinking_level=given.get("thinkingLevel", "off"),
            hooks=hooks.functions(),
            steering_mode=mode(options.get("steeringMode", "one-at-a-time")),
            follow_up_mode=mode(options.get("followUpMode", "one-at-a-time")),
            tool_execution=options.get("toolExecution", "parallel"),
            idle_queue="hold",  # the peer's agent lets queued messages wait for the next run
        )
        await self.begin()

    async def begin(self) -> None:
        """Bring the session to where the scenario starts."""
        if self.given.get("messages"):
            await self.session.replace_messages(self.messages(self.given))
        for name in self.given.get("listeners", [MAIN]):
            self.listeners.subscribe(self.session, name)

    def final(self) -> Any:
        """The state at the end."""
        return self._snapshot(messages=True)

    async def perform(self, step: Step, where: str, started: asyncio.Event) -> None:
        """Perform a command, and note what comes of it."""
        command = self.commands.get(step["do"])
        if command is None:
            raise self.observation.trouble(f"the command {step['do']} is not there yet")
        op = self.observation.op(step["do"], where)
        try:
            result = await command(step)
            if inspect.isawaitable(result):
                started.set()
                result = await result
        except refold.RefoldError as error:
            op["error"] = self.error(error)
        else:
            op["ok"] = True
            if result is not ABSENT and result is not None:
                op["result"] = result
        finally:
            started.set()

    def error(self, error: refold.RefoldError) -> Given:
        """An error in the corpus' words."""
        code = type(error).__name__
        if isinstance(error, refold.BusyError):
            code = "busy"
        elif isinstance(error, refold.NothingToContinueError):
            code = "last_message_is_assistant" if self.session.state.messages else "no_messages"
        return {"type": type(error).__name__, "code": code, "message": str(error)}

    def messages(self, step: Step) -> list[Message]:
        """The messages of a command, as given."""
        given = step["messages"] if "messages" in step else [step["message"]]
        return [message(each, self.models[0]) for each in given]

    def said(self, step: Step) -> tuple[Any, tuple[Any, ...]]:
        """The input of a command: text and images, or messages."""
        if "text" in step:
            return step["text"], content(step.get("images", []))
        return self.messages(step), ()

    def _commands(self) -> dict[str, Command]:
        return {
            "prompt": self._prompt,
            "continue": self._continue,
            "steer": self.steer,
            "followUp": self.follow_up,
            "abort": self.abort,
            "reset": lambda _: self.session.reset(),
            "clearSteering": lambda _: self._clear("steering"),
            "clearFollowUp": lambda _: self._clear("follow_up"),
            "clearAll": lambda _: self._clear(),
            "waitIdle": lambda _: self.session.wait(),
            "hasQueued": self._has_queued,
            "state": self._state,
            "set": self._set,
            "subscribe": self._subscribe,
            "unsubscribe": self._unsubscribe,
            "lateUpdate": lambda step: self.tools.late_update(step["toolCallId"], step["update"]),
        }

    async def _prompt(self, step: Step) -> Awaitable[None]:
        return _over(await self.session.prompt(*self.said(step)))

    async def _continue(self, _: Step) -> Awaitable[None]:
        return _over(await self.session.continue_())

    async def steer(self, step: Step) -> None:
        """Steer."""
        await self.session.steer(*self.said(step))

    async def follow_up(self, step: Step) -> None:
        """Follow up."""
        await self.session.follow_up(*self.said(step))

    async def _clear(self, *queues: QueueName) -> None:
        """Clear; the peer's functions do not say what was there."""
        await self.session.clear(*queues)

    async def abort(self, _: Step) -> None:
        """Abort."""
        await self.session.abort()

    async def _has_queued(self, _: Step) -> bool:
        return any(self.session.queued.values())

    async def _state(self, step: Step) -> Given:
        return self._snapshot(step.get("messages", False))

    async def _set(self, step: Step) -> None:
        settings: Given = {}
        for key, value in step.items():
            match key:
                case "model":
                    settings["model"] = f"{PROVIDER}/{value}"
                case "thinkingLevel":
                    settings["thinking_level"] = value
                case "systemPrompt":
                    settings["system_prompt"] = value
                case "tools":
                    settings["tools"] = self.tools.named(value)
                case "steeringMode":
                    settings["steering_mode"] = mode(value)
                case "followUpMode":
                    settings["follow_up_mode"] = mode(value)
        if settings:
            await self.session.set(**settings)
        if "messages" in step:
            await self.session.replace_messages(self.messages(step))

    async def _subscribe(self, step: Step) -> None:
        self.listeners.subscribe(self.session, step["listener"])

    async def _unsubscribe(self, step: Step) -> None:
        self.listeners.unsubscribe(step["listener"])

    def _snapshot(self, messages: bool) -> Given:
        state = self.session.state
        snapshot: Given = {
            "model": state.model,
            "thinkingLevel": state.thinking_level,
            "systemPrompt": state.system_prompt,
            "tools": [tool.name for tool in state.tools],
            # The peer's flag stays up while listeners of `agent_end` are at work.
            "isStreaming": self.session.is_busy,
            "pendingToolCalls": list(state.pending_tool_calls),
            "hasQueued": any(self.session.queued.values()),
        }
        if state.streaming_message is not None:
            snapshot["streamingMessage"] = shown.message(state.streaming_message)
        if state.error_message is not None:
            snapshot["errorMessage"] = state.error_message
        if messages:
            return snapshot | {"messages": shown.messages(state.messages)}
        return snapshot | {"messageCount": len(state.messages)}


async def _over(run: AsyncRun) -> None:
    async for _ in run:
        pass


def _own(options: Given) -> Given:
    own = {"sessionId": options["sessionId"]} if "sessionId" in options else {}
    key = options.get("apiKeys", {}).get(PROVIDER)
    return own | ({"apiKey": key} if key is not None else {})
