"""Waiting that ends with the abort signal."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from refold.actors.providers.interruption import AbortedError, unless_aborted
from refold.actors.signal import AbortSignal
from tests.actors.providers.replies import run


async def for_ever(ended: list[str]) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        ended.append("ended")


def test_what_comes_in_time_is_given() -> None:
    async def three() -> int:
        await asyncio.sleep(0)
        return 3

    assert run(unless_aborted(AbortSignal(), three())) == 3


def test_a_signal_set_on_another_thread_ends_the_wait() -> None:
    async def waits() -> list[str]:
        signal, ended = AbortSignal(), list[str]()
        waiting = asyncio.create_task(unless_aborted(signal, for_ever(ended)))
        await asyncio.sleep(0)
        threading.Thread(target=signal.set).start()
        with pytest.raises(AbortedError):
            await waiting
        return ended

    assert run(waits()) == ["ended"]


def test_a_signal_that_is_set_already_ends_the_wait() -> None:
    with pytest.raises(AbortedError):
        run(unless_aborted(AbortSignal(aborted=True), for_ever([])))


def test_the_waiting_task_itself_is_not_cancelled() -> None:
    async def goes_on() -> str:
        with pytest.raises(AbortedError):
            await unless_aborted(AbortSignal(aborted=True), for_ever([]))
        task = asyncio.current_task()
        assert task is not None
        assert not task.cancelling()
        await asyncio.sleep(0)
        return "went on"

    assert run(goes_on()) == "went on"


def test_a_cancelled_task_is_not_taken_for_an_abort() -> None:
    async def cancelled() -> list[str]:
        ended: list[str] = []
        waiting = asyncio.create_task(unless_aborted(AbortSignal(), for_ever(ended)))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return ended

    assert run(cancelled()) == ["ended"]


def test_a_timeout_inside_is_not_taken_for_an_abort() -> None:
    async def times_out() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        run(unless_aborted(AbortSignal(), times_out()))


def test_a_signal_that_is_set_as_the_wait_ends_disturbs_nobody() -> None:
    async def waits() -> list[object]:
        signal, wrong = AbortSignal(), list[object]()
        asyncio.get_running_loop().set_exception_handler(lambda _, told: wrong.append(told))

        async def sets() -> str:
            signal.set()
            return "done"

        assert await unless_aborted(signal, sets()) == "done"
        for _ in range(3):
            await asyncio.sleep(0)
        return wrong

    assert run(waits()) == []


def test_a_signal_that_is_set_behind_a_closed_loop_disturbs_nobody() -> None:
    class Forgetful(AbortSignal):
        """Calls back too late: its setter had taken the callbacks before they were withdrawn."""

        def on_abort(self, callback: Callable[[], object]) -> Callable[[], None]:
            late.append(callback)
            return lambda: None

    late: list[Callable[[], object]] = []
    run(unless_aborted(Forgetful(), asyncio.sleep(0)))
    late[0]()


def test_a_signal_holds_nothing_of_a_wait_that_is_over() -> None:
    signal = AbortSignal()
    run(unless_aborted(signal, asyncio.sleep(0)))
    assert signal._callbacks == []
