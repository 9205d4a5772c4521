"""B21: what users wrote raises, whatever it raises and wherever; also what is no `Exception`."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable
from typing import Any

import pytest

import refold
from refold import AfterToolCall, BeforeToolCall, Tool
from refold.events.agent import inputs
from tests.support.looking import facts, in_time, tool_results, user_texts
from tests.support.models import MODEL, Model, call, calls


class Unforeseen(BaseException):
    """No `Exception`, and of nobody's standard library."""


RAISED: list[BaseException] = [
    ValueError("bad"),
    ValueError(),
    SystemExit(1),
    SystemExit(),
    KeyboardInterrupt(),
    asyncio.CancelledError(),
    concurrent.futures.CancelledError(),
    GeneratorExit(),
    StopIteration(),
    StopAsyncIteration(),
    TimeoutError(),
    Unforeseen("odd"),
]
"""One of each kind."""

ALL = {"parameters": {"type": "object"}}

each_error = pytest.mark.parametrize("error", RAISED, ids=repr)
each_kind = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def raising(error: BaseException, is_async: bool) -> Callable[..., Any]:
    """A function that raises, whatever it is given."""

    def function(*_: Any) -> Any:
        raise error

    async def coroutine(*_: Any) -> Any:
        raise error

    return coroutine if is_async else function


@refold.tool(**ALL)
def fine(_: Any) -> str:
    return "fine"


class TestTools:
    """A tool that raises has failed; nothing else has."""

    @each_kind
    @each_error
    def test_the_call_has_one_result_and_its_siblings_are_not_touched(
        self, error: BaseException, is_async: bool
    ) -> None:
        model = Model(
            calls(call("fine", "c1"), call("boom", "c2"), call("fine", "c3")), "done", "again"
        )
        boom = Tool(raising(error, is_async), name="boom", **ALL)
        with refold.open(None, providers=[model]) as runtime:
            session = runtime.session("s", model=MODEL, tools=[fine, boom])
            assert in_time(session.prompt("go").result).text == "done"
            results = tool_results(session.state.messages)
            assert [each.is_error for each in results] == [False, True, False]
            assert str(error) in results[1].text
            assert results[1].text
            assert in_time(session.prompt("next").result).text == "again"
        assert model.faults == []

    @each_error
    def test_sessions_beside_it_go_on(self, error: BaseException) -> None:
        boom = Tool(raising(error, True), name="boom", **ALL)
        model = Model(every=lambda sent: calls(call("boom")) if len(sent.messages) < 2 else "ok")
        with refold.open(None, providers=[model]) as runtime:
            failing = runtime.session("failing", model=MODEL, tools=[boom])
            beside = runtime.session("beside", model=MODEL)
            in_time(failing.prompt("go").result)
            in_time(beside.prompt("go").result)
            assert len(model.requests) == 4

    def test_what_is_no_exception_is_told_by_its_name(self) -> None:
        model = Model(calls(call("boom")), "done")
        boom = Tool(raising(SystemExit(1), False), name="boom", **ALL)
        with refold.open(None, providers=[model]) as runtime:
            in_time(runtime.session("s", model=MODEL, tools=[boom]).prompt("go").result)
        assert tool_results(model.requests[1].messages)[0].text == "SystemExit: 1"


class TestHooksOfACall:
    """A hook that raises makes its call an error, and no other."""

    @each_kind
    @each_error
    def test_before_the_call_the_tool_does_not_run(
        self, error: BaseException, is_async: bool
    ) -> None:
        runs: list[str] = []

        @refold.tool(**ALL)
        def guarded(_: Any) -> str:
            runs.append("guarded")
            return "ran"

        def before(about: BeforeToolCall) -> Any:
            if about.tool_name == "guarded":
                raise error

        async def before_async(about: BeforeToolCall) -> Any:
            before(about)

        hook = before_async if is_async else before
        results = self.results([guarded, fine], {"before_tool_call": hook}, "guarded")
        assert [each.is_error for each in results] == [True, False]
        assert str(error) in results[0].text
        assert runs == []

    @each_kind
    @each_error
    def test_behind_the_call_the_tool_has_run_once(
        self, error: BaseException, is_async: bool
    ) -> None:
        runs: list[str] = []

        @refold.tool(**ALL)
        def looked_at(_: Any) -> str:
            runs.append("looked_at")
            return "what it really did"

        def after(about: AfterToolCall) -> Any:
            if about.tool_name == "looked_at":
                raise error

        async def after_async(about: AfterToolCall) -> Any:
            after(about)

        hook = after_async if is_async else after
        with refold.open(None, providers=[self.model("looked_at")]) as runtime:
            session = runtime.session(
                "s", model=MODEL, tools=[looked_at, fine], hooks={"after_tool_call": hook}
            )
            assert in_time(session.prompt("go").result).text == "done"
            results = tool_results(session.state.messages)
            # The log says both that the tool returned, with what, and that the hook raised.
            bodies = [
                entry.body
                for entry in session.past.entries()
                if isinstance(entry.fact, inputs.ToolReturned)
            ]
            assert len(facts(session, inputs.HookRaised)) == 1
        assert [each.is_error for each in results] == [True, False]
        assert str(error) in results[0].text
        assert runs == ["looked_at"]
        assert any(b"what it really did" in body for body in bodies if body)

    @each_error
    def test_where_arguments_are_prepared_the_tool_does_not_run(self, error: BaseException) -> None:
        runs: list[str] = []

        def odd(_: Any) -> str:
            runs.append("odd")
            return "ran"

        tool = Tool(odd, prepare_arguments=raising(error, False), **ALL)
        results = self.results([tool, fine], {}, "odd")
        assert [each.is_error for each in results] == [True, False]
        assert str(error) in results[0].text
        assert runs == []

    def results(
        self, tools: list[Tool], hooks: dict[str, Any], name: str
    ) -> list[refold.ToolResultMessage]:
        with refold.open(None, providers=[self.model(name)]) as runtime:
            session = runtime.session("s", model=MODEL, tools=tools, hooks=hooks)
            assert in_time(session.prompt("go").result).text == "done"
            assert in_time(session.prompt("next").result).text == "again"
            return tool_results(session.state.messages)

    def model(self, name: str) -> Model:
        return Model(calls(call(name, "c1"), call("fine", "c2")), "done", "again")


class TestHooksOfARun:
    """A hook without which the run cannot go on ends it, and says why; the next run is not hurt."""

    HOOKS = (
        "transform_context",
        "convert_to_llm",
        "prepare_next_turn",
        "should_stop_after_turn",
        "get_steering_messages",
        "get_follow_up_messages",
    )

    @each_kind
    @pytest.mark.parametrize("hook", HOOKS)
    @each_error
    def test_the_run_ends_with_the_error_and_the_next_one_works(
        self, hook: str, error: BaseException, is_async: bool
    ) -> None:
        with refold.open(None, providers=[Model("one", "two")]) as runtime:
            session = runtime.session("s", model=MODEL, hooks={hook: raising(error, is_async)})
            end = in_time(session.prompt("go").result)
            assert end.stop_reason == "error"
            assert str(error) in (end.error_message or "")
            assert end.error_message
            session.set(hooks={})
            assert in_time(session.prompt("again").result).stop_reason == "stop"
            assert user_texts(session.state.messages) == ["go", "again"]

    @each_error
    def test_a_hook_for_keys_fails_the_call_and_tells_no_more_than_its_kind(
        self, error: BaseException
    ) -> None:
        hooks = {"get_api_key": raising(error, True)}
        with refold.open(None, providers=[Model("one")]) as runtime:
            session = runtime.session("s", model=MODEL, hooks=hooks)
            end = in_time(session.prompt("go").result)
            assert end.error_kind == "auth"
            session.set(hooks={})
            assert in_time(session.prompt("again").result).text == "one"


class TestListeners:
    """A listener that raises ends the run, and says why."""

    @each_kind
    @each_error
    def test_the_run_ends_with_the_error_and_the_next_one_works(
        self, error: BaseException, is_async: bool
    ) -> None:
        with refold.open(None, providers=[Model("one", "two")]) as runtime:
            session = runtime.session("s", model=MODEL)
            forget = session.listen(raising(error, is_async))
            end = in_time(session.prompt("go").result)
            assert end.stop_reason == "error"
            assert end.error_message
            forget()
            assert in_time(session.prompt("again").result).stop_reason == "stop"


class TestProviders:
    """A provider that raises has failed to answer."""

    @each_error
    def test_the_run_ends_with_the_error_and_the_next_one_works(self, error: BaseException) -> None:
        class Broken(Model):
            broken = True

            async def stream(self, request: Any, signal: Any) -> Any:
                if self.broken:
                    raise error
                async for event in super().stream(request, signal):
                    yield event

        model = Broken("one")
        with refold.open(None, providers=[model]) as runtime:
            session = runtime.session("s", model=MODEL)
            end = in_time(session.prompt("go").result)
            assert (end.stop_reason, end.error_kind) == ("error", "unknown")
            assert end.error_message
            model.broken = False
            assert in_time(session.prompt("again").result).text == "one"


@each_error
def test_an_event_loop_of_the_callers_own_lives_on(error: BaseException) -> None:
    async def listener(event: refold.LifecycleEvent) -> None:
        if isinstance(event, refold.AgentEnd):
            raise error

    async def talk() -> str:
        boom = Tool(raising(error, True), name="boom", **ALL)
        model = Model(calls(call("boom")), "done", "again")
        async with (
            asyncio.timeout(10),
            await refold.open_async(None, providers=[model]) as runtime,
        ):
            session = await runtime.session("s", model=MODEL, tools=[boom])
            forget = session.listen(listener)
            assert (await (await session.prompt("go")).result()).stop_reason == "error"
            forget()
            return (await (await session.prompt("next")).result()).text

    assert asyncio.run(talk()) == "again"
