"""What could not be read back is refused at the edge, and nothing of it is written."""

from __future__ import annotations

from typing import Any

import pytest

import refold
from refold import Finish, InvalidArgumentError, Session, Text, UserMessage
from tests.support.models import MODEL, Model, call, calls
from tests.support.sessions import opened, within


@pytest.mark.parametrize(
    "ask",
    [
        lambda session: session.set(max_retries=True),
        lambda session: session.set(retry_delay=2**70),
        lambda session: session.clear("bogus"),
        lambda session: session.prompt(UserMessage(content=(Text("hi"),), timestamp="now")),
        lambda session: session.replace_messages(
            [refold.AssistantMessage(content=(Text("hi"),), stop_reason="banana")]
        ),
    ],
)
def test_a_value_of_another_type_is_refused_and_nothing_is_written(ask: Any) -> None:
    with opened(Model("hello")) as runtime:
        session: Session = runtime.session("s", model=MODEL)
        before = session.past.version
        with pytest.raises(InvalidArgumentError):
            ask(session)
        assert session.past.version == before
        assert within(session.prompt("hi").result).text == "hello"


@pytest.mark.parametrize(
    "result",
    [
        refold.ToolResult(content=(Text("x"),), terminate="yes"),  # type: ignore[arg-type]
        refold.ToolResult(content=(Text("x"),), added_tool_names=("\ud800",)),
        refold.ToolResult(content=(Text("x"),), usage="much"),  # type: ignore[arg-type]
    ],
)
def test_a_result_that_cannot_be_kept_is_a_failure_of_its_tool(result: Any) -> None:
    @refold.tool
    def odd() -> Any:
        """Return something odd."""
        return result

    with opened(Model(calls(call("odd")), "well")) as runtime:
        session = runtime.session("s", model=MODEL, tools=[odd])
        assert within(session.prompt("go").result).text == "well"
        told = session.state.messages[2]
        assert isinstance(told, refold.ToolResultMessage)
        assert told.is_error


def test_an_end_that_cannot_be_kept_is_a_failure_of_the_call() -> None:
    class Odd(Model):
        async def stream(self, request: Any, signal: Any) -> Any:
            yield Finish(stop_reason="banana")  # type: ignore[arg-type]

    with opened(Odd()) as runtime:
        session = runtime.session("s", model=MODEL)
        assert within(session.prompt("go").result).stop_reason == "error"


def test_an_error_that_cannot_say_what_it_is_is_told_by_its_name() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("not even that")

    @refold.tool
    def fail() -> str:
        """Fail."""
        raise MuteError

    with opened(Model(calls(call("fail")), "well")) as runtime:
        session = runtime.session("s", model=MODEL, tools=[fail])
        assert within(session.prompt("go").result).text == "well"
        assert session.state.messages[2].text == "MuteError"


def test_a_run_goes_on_when_its_last_listener_leaves_in_the_middle() -> None:
    with opened(Model(*["hello"] * 20)) as runtime:
        session = runtime.session("s", model=MODEL)
        for _ in range(20):
            end = session.listen(lambda event: None)
            run = session.prompt("hi")
            end()
            assert within(run.result).text == "hello"
