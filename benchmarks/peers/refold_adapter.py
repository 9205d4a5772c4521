"""refold beside its peers: an adapter for the harness, which copies it to where its own are.

It uses the public API as a user would. `refold` syncs every append before it counts; `refold
(relaxed)` may lose its last moments at power loss, not at a crash of the process. Where refold has
no word for a scenario yet, it is measured by what there is, under a name that says so:

append, writers   No call of a session only appends a message. `refold (queued message)` is
                  `session.follow_up` on a session that holds its queue: all actors, one commit, no
                  run. `refold (store)` is an append to refold's log, without a session.
reopen            `refold`: a runtime that drives the session again, and all messages of its
                  context. `refold (to look at)`: the same for somebody who only reads.
travel            `refold` reads all messages of a past state. `refold (state)` is the state alone,
                  which reads messages when they are asked for. There are no forks yet: left out.
stream            By default deltas are gathered for 50 ms, and neighbours joined: a subscriber sees
                  all of the text, in fewer pieces. `refold (each delta synced)` has each delta
                  durable before it is shown.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec

import refold
from refold.events.record import EventData
from refold.store import LmdbLog
from refold.store.log import ANY

sys.path[0] = str(Path(__file__).absolute().parent.parent)  # the harness, without its peers
import benchlib  # noqa: E402
import workload  # noqa: E402
from benchlib import now  # noqa: E402

MODEL = "scripted/model"
ARGUMENTS = msgspec.json.encode({"text": workload.TOOL_ARG}).decode()
DURABILITIES = {"": "durable", " (relaxed)": "relaxed"}

Result = dict[str, Any]
Speech = Callable[[refold.Request], AsyncIterator[refold.Piece]]


@refold.tool
def echo(text: str) -> str:
    """Echo."""
    return workload.TOOL_RESULT


async def done(request: refold.Request) -> AsyncIterator[refold.Piece]:
    """What a model says when it is done."""
    yield refold.Piece("text_delta", 0, "done")


class Model:
    """Calls the tool for some turns of a run, and then says something."""

    name = "scripted"

    def __init__(self, turns: int = 0, last: Speech = done) -> None:
        self.turns = turns
        self.last = last

    def check(self, model: str) -> None:
        """Any model is there."""

    async def stream(
        self, request: refold.Request, signal: refold.AbortSignal
    ) -> AsyncIterator[Any]:
        """Reply at once."""
        yield refold.Began()
        if (request.call - 1) % (self.turns + 1) < self.turns:
            yield refold.Piece("tool_call_start", 0, id=f"c{request.call}", name="echo")
            yield refold.Piece("tool_call_delta", 0, ARGUMENTS)
            yield refold.Piece("tool_call_end", 0)
            yield refold.Finish(stop_reason="tool_use")
            return
        yield refold.Piece("text_start", 0)
        async for piece in self.last(request):
            yield piece
        yield refold.Piece("text_end", 0)
        yield refold.Finish(stop_reason="stop")

    async def close(self) -> None:
        """There is nothing to give back."""


def message(number: int, size: int = 350) -> refold.Message:
    """A message of the corpus as refold's."""
    given = workload.message(number, size)
    content = tuple(refold.Text(block["text"]) for block in given["content"])
    time_of = given["timestamp"]
    if given["role"] == "user":
        return refold.UserMessage(content=content, timestamp=time_of)
    return refold.AssistantMessage(content=content, timestamp=time_of, stop_reason="stop")


def event(number: int, size: int = 350) -> EventData:
    """A message of the corpus as an event of a log."""
    body = msgspec.msgpack.encode(workload.message(number, size))
    return EventData("message", 1, True, b"\x80", body)


def append(work: str, args: Result) -> Result:
    """One session, each message durable before the next."""
    rows: dict[str, Result] = {}
    for size in args["sizes"]:
        for suffix, durability in DURABILITIES.items():
            for name, appends in (("queued message", _queued), ("store", _stored)):
                taken = appends(f"{work}/{name}{size}{durability}", size, args["n"], durability)
                row = rows.setdefault(f"refold ({name}){suffix}", {})
                row[str(size)] = benchlib.stats(taken)
    return {"rows": rows}


def _queued(path: str, size: int, count: int, durability: Any) -> list[float]:
    taken = []
    with refold.open(path, durability=durability, providers=[Model()]) as runtime:
        session = runtime.session("s", model=MODEL, idle_queue="hold")
        for number in range(count):
            given = message(number, size)
            begun = now()
            session.follow_up(given)
            taken.append(now() - begun)
        assert len(session.queued["follow_up"]) == count
    return taken


def _stored(path: str, size: int, count: int, durability: Any) -> list[float]:
    taken = []
    with LmdbLog.open(path, durability=durability) as log:
        stream = os.urandom(16)
        for number in range(count):
            given = event(number, size)
            begun = now()
            log.append(stream, ANY, (given,), time=time.time_ns() // 1_000_000)
            taken.append(now() - begun)
        head = log.head(stream)
        assert head is not None
        assert head.version == count
    return taken


def loop(work: str, args: Result) -> Result:
    """One run of so many turns, each with a tool call; 2 * turns + 2 messages."""
    rows: dict[str, Result] = {}
    for suffix, durability in DURABILITIES.items():

        def run(turns: int, durability: str = durability) -> Result:
            return _looped(f"{work}/{turns}{durability}", turns, durability)

        rows[f"refold{suffix}"] = {"on": benchlib.growth(args["turns"], run, args["budget_s"])}
    rows["refold"]["off"] = {"200": _looped(None, 200, "durable")}
    return {"rows": rows}


def _looped(path: str | None, turns: int, durability: Any) -> Result:
    with refold.open(path, durability=durability, providers=[Model(turns)]) as runtime:
        session = runtime.session("s", model=MODEL, tools=[echo])
        begun = now()
        session.prompt("go").result()
        seconds = now() - begun
        assert len(session.state.messages) == 2 * turns + 2
    return {
        "ms_per_turn": seconds / turns * 1e3,
        "total_s": seconds,
        "bytes": benchlib.du(path) if path else None,
    }


def prepare(work: str, args: Result) -> Result:
    """Sessions of prompts and replies, run in memory, and their records copied to a log on disk:
    there they are what runs one by one would have left.
    """

    async def reply(request: refold.Request) -> AsyncIterator[refold.Piece]:
        yield refold.Piece("text_delta", 0, workload.text(2 * request.call - 1))

    for count in args["sizes"]:
        with refold.open(None, providers=[Model(last=reply)]) as runtime:
            session = runtime.session("s", model=MODEL)
            for number in range(0, count, 2):
                session.prompt(message(number)).result()
            with LmdbLog.open(f"{work}/r{count}", durability="relaxed") as log:
                _copy(runtime, session, log)
    return {"ok": True}


def _copy(runtime: refold.Runtime, session: refold.Session, log: LmdbLog) -> None:
    batch = log.batch()
    for number, (_, record) in enumerate(runtime.log.read_all(), 1):
        events = [recorded.event for recorded in record]
        batch.append(session.stream, ANY, events, time=record[0].time, cause="loop")
        if number % 2000 == 0:
            batch.commit()
            batch = log.batch()
    batch.commit()


def reopen(work: str, args: Result) -> Result:
    """Open each history, and read its present context."""
    rows: dict[str, Result] = {"refold": {}, "refold (to look at)": {}}
    for count in args["sizes"]:
        path = f"{work}/r{count}"
        begun = now()
        with refold.read(path) as archive:
            messages = list(archive.session("s").at().messages)
            rows["refold (to look at)"][str(count)] = {"ms": (now() - begun) * 1e3}
        assert len(messages) == count
        assert messages[-1].text == workload.text(count - 1)
        begun = now()
        with refold.open(path, providers=[Model()]) as runtime:
            messages = list(runtime.session("s").state.messages)
            rows["refold"][str(count)] = {"ms": (now() - begun) * 1e3}
        assert len(messages) == count
    return {"rows": rows}


def travel(work: str, args: Result) -> Result:
    """The state after the first p messages, for each p."""
    rows: dict[str, Result] = {}
    with refold.read(f"{work}/r{args['n']}") as archive:
        entries = archive.session("s").entries()
        ends = [entry.version for entry in entries if entry.type == "message_end"]
        for name, reads in (("refold", True), ("refold (state)", False)):
            taken = []
            for point in args["points"]:
                past = archive.session("s")
                begun = now()
                messages = past.at(ends[point - 1]).messages
                seen = list(messages) if reads else messages
                taken.append(now() - begun)
                assert len(seen) == point
            rows[name] = {"travel": benchlib.stats(taken)}
    return {"rows": rows}


def writers(work: str, args: Result) -> Result:
    """Many at once, each with a session of its own."""
    count, each = args["writers"], args["per"]
    messages = [message(number) for number in range(each)]
    rows = {}

    with refold.open(f"{work}/threads", providers=[Model()]) as runtime:
        sessions = [_holding(runtime, number) for number in range(count)]

        def queue(number: int) -> None:
            for given in messages:
                sessions[number].follow_up(given)

        rows["refold (queued message), threads"] = _together(queue, count, each)
        assert all(len(session.queued["follow_up"]) == each for session in sessions)

    rows["refold (queued message), tasks"] = asyncio.run(_tasks(work, count, messages))

    with LmdbLog.open(f"{work}/store") as log:
        streams = [os.urandom(16) for _ in range(count)]
        events = [event(number) for number in range(each)]

        def store(number: int) -> None:
            for given in events:
                log.append(streams[number], ANY, (given,), time=time.time_ns() // 1_000_000)

        rows["refold (store), threads, no group commit"] = _together(store, count, each)
    return {"rows": rows}


def _holding(runtime: Any, number: int) -> Any:
    return runtime.session(f"s{number}", model=MODEL, idle_queue="hold")


def _together(work: Callable[[int], None], count: int, each: int) -> Result:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    begun = now()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"per_s": count * each / (now() - begun)}


async def _tasks(work: str, count: int, messages: list[refold.Message]) -> Result:
    async with await refold.open_async(f"{work}/tasks", providers=[Model()]) as runtime:
        sessions = [await _holding(runtime, number) for number in range(count)]

        async def queue(session: refold.AsyncSession) -> None:
            for given in messages:
                await session.follow_up(given)

        begun = now()
        await asyncio.gather(*map(queue, sessions))
        seconds = now() - begun
        assert all(len(session.queued["follow_up"]) == len(messages) for session in sessions)
    return {"per_s": count * len(messages) / seconds}


def many(work: str, args: Result) -> Result:
    """Many sessions, all at once."""
    return {"rows": {"refold": asyncio.run(_many(work, args["sessions"], args["turns"]))}}


async def _many(work: str, count: int, turns: int) -> Result:
    base = benchlib.rss_mib()
    async with await refold.open_async(f"{work}/many", providers=[Model(turns)]) as runtime:
        sessions = await asyncio.gather(
            *(runtime.session(f"s{number}", model=MODEL, tools=[echo]) for number in range(count))
        )

        async def run(session: refold.AsyncSession) -> str:
            return (await (await session.prompt("go")).result()).text

        begun = now()
        texts = await asyncio.gather(*map(run, sessions))
        seconds = now() - begun
        assert set(texts) == {"done"}
        assert all(len(session.state.messages) == 2 * turns + 2 for session in sessions)
        gc.collect()
        return {
            "turns_per_s": count * turns / seconds,
            "peak_mib": benchlib.peak_mib(),
            "base_mib": base,
            "idle_kib_per_session": (benchlib.rss_mib() - base) * 1024 / count,
            "note": f"all at once, one event loop, {threading.active_count()} threads",
        }


def stream(work: str, args: Result) -> Result:
    """One long reply to one subscriber."""
    count = args["deltas"]

    async def reply(request: refold.Request) -> AsyncIterator[refold.Piece]:
        for _ in range(count):
            await asyncio.sleep(0)  # others get their turn, as with a network
            yield refold.Piece("text_delta", 0, workload.DELTA)

    rows = {}
    for name, interval in (
        ("refold (gathered 50 ms, each batch synced)", 0.05),
        ("refold (each delta synced)", 0.0),
    ):
        pieces, seconds = _streamed(f"{work}/{interval}", reply, interval)
        assert "".join(pieces) == workload.DELTA * count
        assert interval or len(pieces) == count
        rows[name] = {"per_s": count / seconds}
    return {"rows": rows}


def _streamed(path: str, reply: Speech, interval: float) -> tuple[list[str], float]:
    options = refold.Options(delta_interval=interval)
    with refold.open(path, providers=[Model(last=reply)], options=options) as runtime:
        session = runtime.session("s", model=MODEL)
        pieces: list[str] = []
        begun = now()
        run = session.prompt("go")
        for happened in run:
            if isinstance(happened, refold.MessageUpdate):
                pieces.extend(p.text for p in happened.pieces if p.kind == "text_delta")
        reply_text = run.result().text
        seconds = now() - begun
        assert reply_text == "".join(pieces)
    return pieces, seconds


if __name__ == "__main__":
    scenarios = (append, loop, prepare, reopen, travel, writers, many, stream)
    benchlib.main({scenario.__name__: scenario for scenario in scenarios})
