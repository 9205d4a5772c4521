"""Calling what users wrote: whatever it raises is an error of the call, and no more."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from refold.events.canonical import canonical_text
from refold.events.errors import OutsideError

T = TypeVar("T")


async def called(function: Callable[..., Any], pool: ThreadPoolExecutor, *args: Any) -> Any:
    """The result of a user's function: awaited if it is async, on a thread if it is not.

    Raises:
        Exception: what the function raised (see `contained`).
    """
    if inspect.iscoroutinefunction(function):
        return await contained(function(*args))

    def call() -> tuple[Any, BaseException | None]:
        # Handed over as a value: a future takes no StopIteration.
        try:
            return function(*args), None
        except BaseException as error:
            return None, error

    value, error = await asyncio.get_running_loop().run_in_executor(pool, call)
    if error is not None:
        raise tamed(error)
    return await contained(value) if inspect.isawaitable(value) else value


async def contained(awaitable: Awaitable[T]) -> T:
    """Await what users wrote. What is no `Exception` is made one: `SystemExit` would end the event
    loop, and a `CancelledError` that nobody asked for would look as if somebody had.

    Raises:
        asyncio.CancelledError: this task is being cancelled.
    """
    try:
        return await awaitable
    except Exception:
        raise
    except asyncio.CancelledError as error:
        if is_being_cancelled():
            raise
        raise tamed(error) from None
    except BaseException as error:
        raise tamed(error) from error


def tamed(error: BaseException) -> Exception:
    """The error as one that ends nothing but the call it came from."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration | StopAsyncIteration):
        return error
    name, words = type(error).__name__, words_of(error)
    return OutsideError(name if words == name else f"{name}: {words}")


def words_of(error: BaseException) -> str:
    """What an error says, in canonical text; its name if it says nothing, or cannot say it."""
    try:
        words = canonical_text(str(error))
    except Exception:  # its own __str__ fails: that must not hide that it was raised
        words = ""
    return words or type(error).__name__


def is_being_cancelled() -> bool:
    """True if somebody has asked the present task to end."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
