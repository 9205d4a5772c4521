"""The API for coroutines: the same, on the caller's event loop."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import refold
from refold import (
    AgentEnd,
    BusyError,
    ClosedError,
    InvalidArgumentError,
    MessageUpdate,
    NothingToContinueError,
    Options,
    Reply,
    tool,
)
from tests.support.gates import PATIENCE, Gate
from tests.support.models import MODEL, Model, call, calls

OPTIONS = Options(delta_interval=0)


def run_async(test: Callable[[], Awaitable[Any]]) -> Any:
    async def limited() -> Any:
        async with asyncio.timeout(PATIENCE):
            return await test()

    return asyncio.run(limited())


def test_a_prompt_is_answered() -> None:
    async def main() -> None:
        async with await refold.open_async(None, providers=[Model("hello")]) as runtime:
            session = await runtime.session("s", model=MODEL)
            run = await session.prompt("hi")
            assert (await run.result()).text == "hello"
            assert [message.text for message in session.state.messages] == ["hi", "hello"]

    run_async(main)


def test_a_run_is_iterated_over_live() -> None:
    async def main() -> None:
        model = Model(Reply("hello", chunks=2))
        async with await refold.open_async(None, providers=[model], options=OPTIONS) as runtime:
            session = await runtime.session("s", model=MODEL)
            events = [event async for event in await session.prompt("hi")]
            deltas = [event.delta for event in events if isinstance(event, MessageUpdate)]
            assert "".join(deltas) == "hello"
            assert isinstance(events[-1], AgentEnd)

    run_async(main)


def test_async_tools_run_on_the_event_loop_of_the_caller() -> None:
    async def main() -> None:
        here = asyncio.get_running_loop()
        loops = []

        @tool
        async def look() -> str:
            """Look around."""
            loops.append(asyncio.get_running_loop())
            return "seen"

        model = Model(calls(call("look")), "well")
        async with await refold.open_async(None, providers=[model]) as runtime:
            session = await runtime.session("s", model=MODEL, tools=[look])
            await (await session.prompt("go")).result()
        assert loops == [here]

    run_async(main)


def test_sync_tools_run_on_threads_so_that_the_event_loop_goes_on() -> None:
    async def main() -> None:
        gate, main_thread = Gate(), threading.current_thread()
        threads = []

        @tool
        def work() -> str:
            """Work."""
            threads.append(threading.current_thread())
            gate.wait()
            return "done"

        model = Model(calls(call("work")), "well")
        async with await refold.open_async(None, providers=[model]) as runtime:
            session = await runtime.session("s", model=MODEL, tools=[work])
            run = await session.prompt("go")
            await asyncio.to_thread(gate.await_arrival)
            gate.open()
            assert (await run.result()).text == "well"
        assert main_thread not in threads

    run_async(main)


def test_queues_settings_and_past_are_the_same() -> None:
    async def main() -> None:
        model = Model("hello", "as you wish", "well")
        async with await refold.open_async(None, providers=[model]) as runtime:
            session = await runtime.session("s", model=MODEL, idle_queue="hold")
            await (await session.prompt("hi")).result()
            with pytest.raises(NothingToContinueError):
                await session.continue_()
            item = await session.steer("be brief")
            await session.cancel(item)
            with pytest.raises(InvalidArgumentError):
                await session.cancel(item)
            await session.follow_up("later")
            assert await session.clear() == (item + 2,)
            await session.steer("now")
            await (await session.continue_()).result()
            await session.set(thinking_level="high")
            assert session.state.thinking_level == "high"
            assert session.at(0).version == 0
            assert session.context(call=2).messages[-1].text == "now"
            await session.replace_messages([])
            await session.reset()
            await session.abort()
            await session.wait()
            assert len(session.state.messages) == 0

    run_async(main)


def test_a_busy_session_refuses_and_can_be_aborted() -> None:
    async def main() -> None:
        gate = Gate()
        model = Model(Reply("never", gates={"open": gate}))
        async with await refold.open_async(None, providers=[model]) as runtime:
            session = await runtime.session("s", model=MODEL)
            run = await session.prompt("hi")
            await asyncio.to_thread(gate.await_arrival)
            with pytest.raises(BusyError):
                await session.prompt("and?")
            await session.abort()
            assert (await run.result()).stop_reason == "aborted"

    run_async(main)


def test_a_listener_may_be_a_coroutine_function() -> None:
    async def main() -> None:
        heard = []

        async def listen(event: object) -> None:
            heard.append(type(event).__name__)
            await session.follow_up("and?") if len(heard) == 1 else None

        async with await refold.open_async(None, providers=[Model("hello", "well")]) as runtime:
            session = await runtime.session("s", model=MODEL)
            session.listen(listen)
            assert (await (await session.prompt("hi")).result()).text == "well"
            assert heard[0] == "AgentStart"

    run_async(main)


def test_several_sessions_are_answered_at_once() -> None:
    async def main() -> None:
        model = Model(every=lambda request: request.messages[-1].text)
        async with await refold.open_async(None, providers=[model]) as runtime:

            async def ask(name: str) -> str:
                session = await runtime.session(name, model=MODEL)
                return (await (await session.prompt(name)).result()).text

            names = [str(number) for number in range(20)]
            assert await asyncio.gather(*map(ask, names)) == names

    run_async(main)


def test_a_run_that_was_let_go_of_is_not_kept() -> None:
    async def main() -> None:
        async with await refold.open_async(None, providers=[Model("hello")]) as runtime:
            session = await runtime.session("s", model=MODEL)
            await session.prompt("hi")
            gc.collect()
            await session.wait()
            assert session.stream not in runtime._engine.hub._watchers
            assert session.state.messages[-1].text == "hello"

    run_async(main)


def test_nothing_is_taken_after_the_close() -> None:
    async def main() -> None:
        runtime = await refold.open_async(None, providers=[Model()])
        session = await runtime.session("s", model=MODEL)
        await runtime.close()
        await runtime.close()
        with pytest.raises(ClosedError):
            await session.prompt("hi")

    run_async(main)


def test_a_waiting_caller_that_is_cancelled_leaves_the_session_as_it_is() -> None:
    async def main() -> None:
        gate = Gate()
        model = Model(Reply("hello", gates={"open": gate}), "there")
        async with await refold.open_async(None, providers=[model]) as runtime:
            session = await runtime.session("s", model=MODEL)
            run = await session.prompt("hi")
            await asyncio.to_thread(gate.await_arrival)
            waiting = asyncio.create_task(run.result())
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            gate.open()
            await session.wait()
            assert (await (await session.prompt("again")).result()).text == "there"

    run_async(main)
