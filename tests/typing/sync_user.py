"""A program against the sync API."""

from typing import assert_type

import refold
from refold import (
    AgentState,
    AssistantMessage,
    Block,
    LifecycleEvent,
    Message,
    MessageUpdate,
    Request,
    Run,
    Runtime,
    Session,
    Tool,
    ToolContext,
)


@refold.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@refold.tool(replay="safe", timeout=5.0)
def look(context: ToolContext, place: str) -> str:
    """Look at a place."""
    context.update(f"looking at {place}")
    return "nothing" if context.signal.aborted else place


def before(call: refold.BeforeToolCall) -> Block | None:
    """Forbid a tool."""
    return Block("not now") if call.tool_name == "look" else None


assert_type(add, Tool)
assert_type(look, Tool)

with refold.open("runs.refold", providers=[refold.Scripted(["five"])]) as runtime:
    assert_type(runtime, Runtime)
    session = runtime.session(
        "sums",
        model="scripted/any",
        tools=[add, look],
        thinking_level="low",
        hooks={"before_tool_call": before},
    )
    assert_type(session, Session)
    run = session.prompt("What is 2 + 3?")
    assert_type(run, Run)
    for event in run:
        assert_type(event, LifecycleEvent)
        if isinstance(event, MessageUpdate):
            assert_type(event.delta, str)
            assert_type(event.message, AssistantMessage)
    assert_type(run.result(), AssistantMessage)
    assert_type(run.result().text, str)
    assert_type(session.steer("Be brief", now=True), int)
    assert_type(session.follow_up("And 3 + 4?"), int)
    assert_type(session.clear(), tuple[int, ...])
    session.abort()
    assert_type(session.at(12), AgentState)
    assert_type(session.at("turn:1").messages[0], Message)
    request = session.context(call=1)
    assert_type(request, Request)
    assert_type(request.system_prompt, str)

with refold.read("runs.refold") as archive:
    for info in archive.sessions():
        assert_type(info.name, str)
    past = archive.session("sums")
    for entry in past.entries(after=3):
        assert_type(entry.version, int)

# What must be refused, by both checkers:
session.prompt(5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
runtime.session("x", thinking_level="much")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
event.version = 3  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
