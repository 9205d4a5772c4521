"""Opening a log, and the sessions in it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Literal

import msgspec

from refold.actors.engine import DEFAULTS, Engine, Options
from refold.actors.past import Past
from refold.actors.providers.provider import Provider
from refold.actors.session import Session
from refold.actors.session_core import SessionCore
from refold.actors.tool import Tool
from refold.events.agent import inputs
from refold.events.agent.messages import ThinkingLevel
from refold.events.agent.settings import IdleQueue, QueueMode, ToolExecution
from refold.events.canonical import canonical_text
from refold.events.errors import CallerError, InvalidArgumentError, UnknownSessionError
from refold.events.fact import Offer
from refold.store import LmdbLog, MemoryLog
from refold.store.log import Log

Durability = Literal["durable", "relaxed"]


class SessionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A session in a listing. Times are ms since 1970 (UTC).

    Attributes:
        version: how many events it has.
    """

    name: str
    stream: bytes
    version: int
    created: int
    updated: int


class Archive:
    """A log that is only looked at: no session is driven, nothing is ever written."""

    def __init__(self, log: Log) -> None:
        self.log = log

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def sessions(self) -> Iterator[SessionInfo]:
        """All sessions, in the order of their creation."""
        for info in self.log.streams():
            yield SessionInfo(
                name=info.name,
                stream=info.stream,
                version=info.head.version,
                created=info.created,
                updated=info.updated,
            )

    def session(self, name: str) -> Past:
        """The past of a session.

        Raises:
            UnknownSessionError: there is none of this name.
        """
        stream = self.log.find(name)
        if stream is None:
            raise UnknownSessionError(
                f"there is no session {name!r}: `refold sessions` lists those there are"
            )
        return Past(self.log, stream)

    def close(self) -> None:
        """Close the log."""
        self.log.close()


class RuntimeCore:
    """What sync and async runtimes share."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def log(self) -> Log:
        """The log underneath."""
        return self._engine.log

    def sessions(self) -> list[SessionInfo]:
        """All sessions of the log, in the order of their creation."""
        return list(Archive(self._engine.log).sessions())

    def _open(
        self, kind: type[Any], name: str, options: Mapping[str, Any]
    ) -> tuple[Any, list[Future[int]]]:
        """A session of this name, and what to wait for before it is used."""
        if not name or canonical_text(name) != name or len(name.encode()) > 400:
            raise InvalidArgumentError(
                f"{name!r} cannot be the name of a session: 1 to 400 bytes of text without NUL"
            )
        found = self._engine.log.find(name)
        stream = found or os.urandom(16)
        session: SessionCore = kind(self._engine, stream, name)
        wanted = session._wanted(options)
        waits = []
        if found is None:
            created = inputs.Created(uid=stream, name=name)
            waits.append(self._engine.enter(stream, Offer(created)))
        waits.append(session._enter(wanted))
        return session, waits


class Runtime(RuntimeCore):
    """A log with its actors at work. Use it as a context manager, or `close` it."""

    def __enter__(self) -> Runtime:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def session(
        self,
        name: str,
        *,
        model: str | None = None,
        tools: Sequence[Tool] | None = None,
        system_prompt: str | None = None,
        thinking_level: ThinkingLevel | None = None,
        hooks: Mapping[str, Any] | None = None,
        steering_mode: QueueMode | None = None,
        follow_up_mode: QueueMode | None = None,
        tool_execution: ToolExecution | None = None,
        idle_queue: IdleQueue | None = None,
        max_retries: int | None = None,
        retry_delay: int | None = None,
        queue_limit: int | None = None,
    ) -> Session:
        """Open a session, or create it. A run that was cut off goes on at once.

        Args:
            name: a label; it finds the session again.
            model: as `provider/id`, or `local`. None, here and below: as it was.
            tools: functions made tools by `refold.tool`. Functions are in no log, so each process
                gives them anew.
            thinking_level: how much the model should reason.
            hooks: functions, sync or async, by name: `transform_context`, `convert_to_llm`,
                `before_tool_call`, `after_tool_call`, `prepare_next_turn`,
                `should_stop_after_turn`, `get_steering_messages`, `get_follow_up_messages`,
                `get_api_key`. What they are given and may return is in
                `refold.actors.hook_types`.
            steering_mode, follow_up_mode: "one_at_a_time" (default) or "all": how many queued
                messages are delivered at once.
            tool_execution: "parallel" (default) or "sequential".
            idle_queue: "run" (default): a message that is queued while the session rests starts
                a run; "hold": it waits for the next one.
            max_retries: how often a model call is made again that failed for a passing reason:
                a rate limit, an overload, the network, a time-out (default: 4).
            retry_delay: ms before the first of them, doubled for each further one (default: 500);
                what the provider asks for goes before.
            queue_limit: how many messages may wait in the session's queues (default: 1,000).

        Raises:
            InvalidArgumentError: a value that cannot be used, such as an unknown model.
            FencedError: another process drives the session.
        """
        session, waits = self._open(
            Session,
            name,
            {
                "model": model,
                "tools": tools,
                "system_prompt": system_prompt,
                "thinking_level": thinking_level,
                "hooks": hooks,
                "steering_mode": steering_mode,
                "follow_up_mode": follow_up_mode,
                "tool_execution": tool_execution,
                "idle_queue": idle_queue,
                "max_retries": max_retries,
                "retry_delay": retry_delay,
                "queue_limit": queue_limit,
            },
        )
        for wait in waits:
            wait.result()
        return session  # type: ignore[no-any-return]

    def close(self) -> None:
        """Stop. Runs that are active go on when their session is opened again."""
        self._engine.close()


def open_log(path: str | os.PathLike[str] | Log | None, durability: Durability) -> Log:
    """The log of a path; one in memory for None; a log as it is."""
    if path is None:
        return MemoryLog()
    if isinstance(path, str | os.PathLike):
        return LmdbLog.open(Path(path), durability=durability)
    return path


def open(
    path: str | os.PathLike[str] | Log | None,
    *,
    durability: Durability = "durable",
    providers: Sequence[Provider] = (),
    options: Options = DEFAULTS,
) -> Runtime:
    """Open a log, or create it, and start the actors.

    Args:
        path: a folder; None: a log in memory, gone when it is closed.
        durability: "durable": what was acknowledged survives power loss; "relaxed": it survives
            a crash of the process, and after power loss the log is whole but may lack its end.
        providers: of models, beside the built-in ones.

    Raises:
        NotALogError, NewerFormatError, LogAccessError: the path cannot be opened as a log.
        CallerError: called on a running event loop, which it would block: use `open_async`.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise CallerError(
            "refold.open() would block the running event loop: use `await refold.open_async(...)`"
        )
    return Runtime(Engine(open_log(path, durability), providers=providers, options=options))


def read(path: str | os.PathLike[str]) -> Archive:
    """Open a log only to look at it; another process may be writing it.

    Raises:
        NotALogError, NewerFormatError, LogAccessError: the path cannot be read as a log.
    """
    return Archive(LmdbLog.open(Path(path), create=False, readonly=True))
