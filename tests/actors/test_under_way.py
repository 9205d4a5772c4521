"""What a state owes is what is really being done, and nothing is done that no state owes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from refold import (
    AbortSignal,
    LifecycleEvent,
    Message,
    Reply,
    Session,
    ToolExecutionEnd,
    tool,
)
from refold.actors.actor import LoopActor
from refold.events.agent.agent import AGENT
from tests.support.gates import PATIENCE, Gate
from tests.support.models import MODEL, Model, call, calls
from tests.support.sessions import await_event, await_rest, opened, within


@pytest.fixture(autouse=True)
def performers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Models and Tools themselves, which nobody else can reach."""
    born: dict[str, Any] = {}
    begin = LoopActor._start_actor_loop

    def begun(actor: LoopActor) -> None:
        born[type(actor).__name__] = actor
        begin(actor)

    monkeypatch.setattr(LoopActor, "_start_actor_loop", begun)
    return born


@pytest.fixture
def really_running(performers: dict[str, Any]) -> Callable[[], set[tuple[bytes, str]]]:
    """Streams and keys of what Models and Tools are doing, looked at on their event loop."""

    async def look() -> set[tuple[bytes, str]]:
        models, tools = performers["Models"], performers["Tools"]
        called = {(stream, _model_key(number)) for stream, number in models.under_way}
        return called | set(tools.under_way)

    def now() -> set[tuple[bytes, str]]:
        return asyncio.run_coroutine_threadsafe(look(), performers["Models"].loop).result(PATIENCE)

    return now


def _model_key(number: int) -> str:
    return f"model:{number}" if number > 0 else f"retry:{-number}"


def owed(*sessions: Session) -> set[tuple[bytes, str]]:
    return {
        (session.stream, effect.key)
        for session in sessions
        for effect in AGENT.outstanding(session.machine)
    }


def test_a_model_call(really_running) -> None:
    gate = Gate()
    with opened(Model(Reply("hello", gates={"b0.d0": gate}))) as runtime:
        session = runtime.session("s", model=MODEL)
        session.prompt("hi")
        gate.await_arrival()
        assert owed(session) == really_running() == {(session.stream, "model:1")}
        gate.open()
        await_rest(session)
        assert owed(session) == really_running() == set()


def gated(name: str, gate: Gate) -> Callable[[], str]:
    def work() -> str:
        gate.wait()
        return name

    return work


def test_parallel_tools_one_of_which_has_ended(really_running) -> None:
    gates = [Gate() for _ in range(3)]
    tools = [tool(name=f"t{n}")(gated(f"t{n}", gate)) for n, gate in enumerate(gates)]
    reply = calls(*(call(f"t{n}") for n in range(3)))
    with opened(Model(reply, "well")) as runtime:
        session = runtime.session("s", model=MODEL, tools=tools)
        watch = iter(session.watch())
        session.prompt("go")
        for gate in gates:
            gate.await_arrival()
        assert len(owed(session)) == 3
        assert owed(session) == really_running()
        gates[1].open()
        await_event(watch, ToolExecutionEnd)
        assert owed(session) == really_running()
        assert {key for _, key in owed(session)} == {"tool:1", "tool:3"}
        for gate in gates:
            gate.open()
        await_rest(session)
        assert really_running() == set()


def test_a_hook(really_running) -> None:
    gate = Gate()

    def transform(messages: list[Message], signal: AbortSignal) -> None:
        gate.wait()

    with opened(Model("hello")) as runtime:
        session = runtime.session("s", model=MODEL, hooks={"transform_context": transform})
        session.prompt("hi")
        gate.await_arrival()
        assert owed(session) == really_running() == {(session.stream, "hook:1")}
        gate.open()
        await_rest(session)


def test_several_sessions_at_different_work(really_running) -> None:
    in_model, in_tool = Gate(), Gate()
    work = tool(name="work")(gated("work", in_tool))
    model = Model(every=lambda request: _by_name(request.messages[0].text, in_model))
    with opened(model) as runtime:
        streaming = runtime.session("streaming", model=MODEL)
        working = runtime.session("working", model=MODEL, tools=[work])
        resting = runtime.session("resting", model=MODEL)
        streaming.prompt("stream")
        working.prompt("work")
        in_model.await_arrival()
        in_tool.await_arrival()
        expected = {(streaming.stream, "model:1"), (working.stream, "tool:1")}
        assert owed(streaming, working, resting) == really_running() == expected
        working.abort()
        in_model.open()
        in_tool.open()
        await_rest(streaming)
        await_rest(working)
        assert really_running() == set()


def _by_name(text: str, gate: Gate) -> Reply:
    if text == "work":
        return calls(call("work"))
    return Reply("hello", gates={"open": gate})


def test_a_failed_run_leaves_nothing_that_is_still_done(really_running) -> None:
    gate = Gate()
    slow = tool(name="slow")(gated("slow", gate))

    @tool
    def quick() -> str:
        """Return once the other is at work."""
        gate.await_arrival()
        return "quick"

    def fail(event: LifecycleEvent) -> None:
        if isinstance(event, ToolExecutionEnd):
            raise RuntimeError("no more")

    with opened(Model(calls(call("slow"), call("quick")))) as runtime:
        session = runtime.session("s", model=MODEL, tools=[slow, quick])
        session.listen(fail)
        within(session.prompt("go").result)
        await_rest(session)
        assert owed(session) == really_running() == set()
        gate.open()
