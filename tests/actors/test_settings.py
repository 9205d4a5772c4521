"""Settings are facts: what is new of them is written, what is as it was is not."""

from __future__ import annotations

from typing import Any

import pytest

from refold import InvalidArgumentError, Session, Tool, tool
from tests.support.models import MODEL, Model
from tests.support.sessions import opened, within


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


ALL: dict[str, Any] = {
    "model": "test/other",
    "tools": [add],
    "system_prompt": "Be brief.",
    "thinking_level": "high",
    "hooks": {"transform_context": lambda messages, signal: None},
    "steering_mode": "all",
    "follow_up_mode": "all",
    "tool_execution": "sequential",
    "idle_queue": "hold",
    "max_retries": 1,
    "retry_delay": 5,
    "queue_limit": 7,
}


def types(session: Session, after: int = 0) -> list[str]:
    return [entry.type for entry in session.past.entries(after=after)]


def test_a_new_session_is_created_and_set() -> None:
    with opened(Model()) as runtime:
        session = runtime.session("s", model=MODEL)
        assert types(session) == ["created", "settings_requested"]


@pytest.mark.parametrize("name", ALL)
def test_a_setting_that_is_given_again_writes_nothing(name: str) -> None:
    with opened(Model()) as runtime:
        session = runtime.session("s", model=MODEL)
        session.set(**{name: ALL[name]})
        version = session.past.version
        session.set(**{name: ALL[name]})
        assert types(session, version) == []


def test_opening_a_session_as_it_was_writes_nothing() -> None:
    with opened(Model()) as runtime:
        version = runtime.session("s", **{**ALL, "model": MODEL}).past.version
        again = runtime.session("s", **{**ALL, "model": MODEL})
        bare = runtime.session("s")
        assert again.past.version == bare.past.version == version


@pytest.mark.parametrize("name", ALL)
def test_each_setting_is_a_fact_of_its_own(name: str) -> None:
    with opened(Model()) as runtime:
        session = runtime.session("s", model=MODEL)
        version = session.past.version
        session.set(**{name: ALL[name]})
        assert types(session, version) == ["settings_requested"]


def test_what_people_see_of_a_state_follows_the_settings() -> None:
    with opened(Model()) as runtime:
        session = runtime.session("s", model=MODEL)
        session.set(model="test/other", tools=[add], system_prompt="Be brief.")
        state = session.state
        assert (state.model, state.system_prompt) == ("test/other", "Be brief.")
        assert state.tools == (add.spec,)
        session.set(tools=[], system_prompt="")
        assert (session.state.tools, session.state.system_prompt) == ((), "")


def test_a_system_prompt_stands_in_the_log_once_for_all_sessions() -> None:
    with opened(Model()) as runtime:
        for name in ("a", "b"):
            runtime.session(name, model=MODEL, system_prompt="You are terse. " * 100)
        blobs = runtime.log._kept.blob_table  # type: ignore[attr-defined]
        assert len(blobs) == 1


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"thinking_level": "very"}, "thinking_level cannot be 'very': it is one of 'off'"),
        ({"steering_mode": "some"}, "steering_mode cannot be 'some'"),
        ({"tool_execution": ""}, "tool_execution cannot be ''"),
        ({"hooks": {"before_lunch": print}}, "a hook cannot be 'before_lunch'"),
        ({"tools": [print]}, "is no tool: decorate it"),
        ({"tools": [add, add]}, "two tools have the name 'add'"),
        ({"model": "nobody/m1"}, "nobody"),
        ({"max_retries": -1}, "max_retries"),
        ({"queue_limit": 0}, "queue_limit"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_setting_that_cannot_be_used_is_refused_and_nothing_is_written(
    given: dict[str, Any], told: str
) -> None:
    with opened(Model()) as runtime:
        session = runtime.session("s", model=MODEL)
        version = session.past.version
        with pytest.raises(InvalidArgumentError, match=told):
            session.set(**given)
        assert session.past.version == version


def test_a_refused_setting_leaves_the_functions_of_the_session_as_they_were() -> None:
    other = Tool(lambda a, b: 0, name="add", parameters={"type": "object"})
    with opened(Model()) as runtime:
        session = runtime.session("s", model=MODEL, tools=[add])
        with pytest.raises(InvalidArgumentError):
            session.set(tools=[other], thinking_level="very")  # type: ignore[arg-type]
        assert runtime._engine.kits.of(session.stream).tools["add"] is add


def test_settings_in_a_run_count_from_the_next_one() -> None:
    with opened(Model("hello", "there")) as runtime:
        session = runtime.session("s", model=MODEL)

        def change(event: object) -> None:
            session.set(model="test/other")

        end = session.listen(change)
        within(session.prompt("hi").result)
        end()
        within(session.prompt("again").result)
        models = [session.context(call=number).model for number in (1, 2)]
        assert models == [MODEL, "test/other"]
