"""Inputs of kind `loop`: scripted runs against a model that is played."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import refold
from refold import AsyncSession, LifecycleEvent, Message, Options, UserMessage
from tests.bugs import story
from tests.bugs.comparing import first_difference, within
from tests.bugs.gates import Gates, cancelled
from tests.bugs.model import PROVIDER, PlayedModel
from tests.bugs.timeline import OTHER_THREAD, Timeline
from tests.bugs.tools import PlayedTools
from tests.support.validity import faults

LIMIT = 10.0
"""Seconds that any wait may take."""

Given = dict[str, Any]

NOT_THERE = {"compact", "compaction_start", "summary_gate"}


def difference(script: Given, case: Given, *, disk: bool = False) -> str | None:
    """Run a script as often as it says; the first difference, None if there is none.

    Args:
        disk: keep the log on disk; where a script closes it, it is there in any case.
    """
    disk = disk or any(line["do"] == "reopen" for line in script["timeline"])
    words = {word for line in script["timeline"] for word in (line["do"], line["on"])}
    words |= {word for entry in script["model"] for word in entry}
    if words & NOT_THERE:
        return "compaction is not there yet"
    wanted = {**case, **case.get("expected", {})}
    rounds = script.get("repeat", 1)
    for number in range(1, rounds + 1):
        with tempfile.TemporaryDirectory() as folder:
            play = asyncio.run(played(script, Path(folder), disk=disk))
        found = play.trouble() or play.difference(wanted, case.get("accept", []))
        if found:
            return f"round {number} of {rounds}: {found}" if rounds > 1 else found
    return None


async def played(script: Given, folder: Path, *, disk: bool = True) -> Play:
    """Play a script to its end.

    Args:
        folder: for its files.
        disk: keep its log there, too; else in memory.
    """
    play = Play(script, folder, disk)
    try:
        async with asyncio.timeout(6 * LIMIT):
            await play.run()
    except TimeoutError:
        play.troubles.append(f"a wait took over {LIMIT:g} s; left to do: {play.timeline.undone}")
    except (refold.RefoldError, NotImplementedError) as error:
        play.troubles.append(f"{type(error).__name__}: {error}")
    return play


class Play:
    """A script as it is played.

    Attributes:
        events: as a watcher saw them; times: when, in seconds.
        messages: of the session, at the end.
        troubles: what went wrong, in words.
    """

    def __init__(self, script: Given, folder: Path, disk: bool) -> None:
        self.script = script
        self._log = folder / "log" if disk else None
        self.gates = Gates()
        self.tools = PlayedTools(script, self.gates, folder)
        self.model = PlayedModel(script, self.gates, self._stalled)
        self.timeline = Timeline(script["timeline"], self._perform, self._idle)
        self.events: list[LifecycleEvent] = []
        self.times: list[float] = []
        self.messages: tuple[Message, ...] = ()
        self.troubles: list[str] = []
        self.session: AsyncSession
        self._runtime: refold.AsyncRuntime
        self._prompts: list[str] = []
        self._items: dict[int, str] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._watching: asyncio.Task[None]

    async def run(self) -> None:
        """Play it."""
        await self._open(0)
        try:
            await self.timeline.conduct(LIMIT)
            await self._seen_all()
            await asyncio.to_thread(self.tools.join)
            self._look()
        finally:
            await cancelled(self._tasks)
            await self._close()

    def trouble(self) -> str | None:
        """What is wrong with the run, whatever its input expects; None if nothing."""
        if self.troubles:
            return self.troubles[0]
        if self.model.beyond:
            return f"the model was sent {self.model.beyond} requests more than the script has"
        if self.tools.escaped:
            return f"raised in a thread that outlived its call: {self.tools.escaped[0]}"
        for number, request in enumerate(self.model.requests, 1):
            if wrong := faults(request.messages):
                return f"request {number}: {wrong[0]}"
        return None

    def difference(self, wanted: Given, accept: list[Given]) -> str | None:
        """The first difference to what is expected; None if there is none."""
        found = [self._difference({**wanted, **other}) for other in ({}, *accept)]
        return found[0] if all(found) else None

    def seen(self) -> Given:
        """What came of it, in the words of the corpus."""
        requests = self.model.requests
        answers = [each for each in self.messages if isinstance(each, refold.AssistantMessage)]
        return {
            "requests": [[story.message(each) for each in sent.messages] for sent in requests],
            "new_user_texts_per_request": story.new_user_texts(requests),
            "model_requests": len(requests),
            "final_text": answers[-1].text if answers else None,
            "counters": dict(self.tools.counters),
        }

    def _difference(self, wanted: Given) -> str | None:
        seen = self.seen()
        if found := first_difference({key: wanted[key] for key in seen if key in wanted}, seen):
            return found
        for number, events in enumerate(wanted.get("events", ())):
            if missing := story.in_order(events, self.events):
                return f"events[{number}]: {missing!r} did not come, or not in this order"
        return self._difference_of_calls(wanted.get("per_call"))

    def _difference_of_calls(self, wanted: Any) -> str | None:
        if wanted is None:
            return None
        calls = story.calls(self.messages, self.tools.recorded)
        if isinstance(wanted, dict):
            wanted = [wanted.get(call["id"], [{}]) for call in calls]
        if len(wanted) != len(calls):
            return f"per_call: expected {len(wanted)} calls, got {len(calls)}"
        for number, (allowed, call) in enumerate(zip(wanted, calls, strict=True)):
            outcomes = allowed if isinstance(allowed, list) else [allowed]
            if found := within(outcomes[0], outcomes[1:], call):
                return f"per_call[{number}].{found}"
        return None

    async def _open(self, after: int) -> None:
        script = self.script
        self._runtime = await refold.open_async(
            self._log,
            durability="relaxed",
            providers=[self.model],
            options=Options(delta_interval=0),
        )
        self.session = await self._runtime.session(
            "played",
            model=f"{PROVIDER}/model",
            tools=self.tools.tools,
            hooks=self.tools.hooks(),
            tool_execution=script.get("mode", "parallel"),
            steering_mode=_mode(script.get("steering_mode", "one-at-a-time")),
            follow_up_mode=_mode(script.get("follow_up_mode", "one-at-a-time")),
            max_retries=script.get("retries", 0),
            retry_delay=10,
        )
        if self.timeline.waits_at_events:
            self.session.listen(self.timeline.heard)
        self._watching = asyncio.create_task(self._watch(after))

    async def _close(self) -> None:
        self.gates.open()
        await self._runtime.close()
        await cancelled([self._watching])

    async def _watch(self, after: int) -> None:
        async for event in self.session.watch(after):
            self.events.append(event)
            self.times.append(time.monotonic())
            if not self.timeline.waits_at_events:
                await self.timeline.heard(event)

    async def _seen_all(self) -> None:
        """Wait until the watcher has seen everything."""
        last = max((event.version for event in self.session.past.lifecycle()), default=0)
        async with asyncio.timeout(LIMIT):
            while last and (not self.events or self.events[-1].version < last):
                await asyncio.sleep(0.001)

    async def _idle(self) -> None:
        while self._tasks:
            await asyncio.gather(*self._tasks)
        await self.session.wait()

    def _stalled(self) -> None:
        self._start(self.timeline.came("stream_stalled"))

    def _start(self, action: Any) -> None:
        task = asyncio.get_running_loop().create_task(action)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _perform(self, line: Given) -> None:
        try:
            await self._do(line)
        except (refold.RefoldError, NotImplementedError) as error:
            self.troubles.append(f"{line['do']} raised {type(error).__name__}: {error}")

    async def _do(self, line: Given) -> None:
        do = line["do"]
        if do == "reopen":
            # Not within a listener: closing the runtime ends it.
            self._start(self._reopen())
        elif do.endswith(OTHER_THREAD):
            action = self._actions()[do.removesuffix(OTHER_THREAD)]
            loop = asyncio.get_running_loop()

            def later() -> None:
                time.sleep(random.uniform(0, line.get("jitter_ms", 0)) / 1000)
                asyncio.run_coroutine_threadsafe(action(line), loop).result(LIMIT)

            self._start(asyncio.to_thread(later))
        elif do in self._actions():
            await self._actions()[do](line)
        else:
            raise NotImplementedError(f"the action {do} is not there yet")

    def _actions(self) -> dict[str, Callable[[Given], Any]]:
        return {
            "prompt": self._prompt,
            "steer": self._steer,
            "followUp": self._follow_up,
            "nextTurn": self._next_turn,
            "abort": self._abort,
            "open_gate": self._open_gate,
        }

    async def _prompt(self, line: Given) -> None:
        await self.session.prompt(line["text"])
        self._prompts.append(line["text"])

    async def _steer(self, line: Given) -> None:
        self._items[await self.session.steer(line["text"])] = line["text"]

    async def _follow_up(self, line: Given) -> None:
        self._items[await self.session.follow_up(line["text"])] = line["text"]

    async def _next_turn(self, line: Given) -> None:
        self._items[await self.session.next_turn(line["text"])] = line["text"]

    async def _abort(self, _: Given) -> None:
        await self.session.abort()

    async def _open_gate(self, line: Given) -> None:
        self.gates.open(line.get("gate", line.get("name")))

    async def _reopen(self) -> None:
        version = self.events[-1].version if self.events else 0
        await self._runtime.close()
        await cancelled([self._watching])
        await self._open(version)

    def _look(self) -> None:
        """What must be true of every session that rests."""
        session, past, state = self.session, self.session.past, self.session.state
        self.messages = tuple(state.messages)
        if state.pending_tool_calls:
            self.troubles.append(f"calls are pending: {state.pending_tool_calls}")
        if past.machine_at(past.version) != session.machine:
            self.troubles.append("the state that is folded from the log is another one")
        if (divergence := past.reexecute()) is not None:
            self.troubles.append(f"the log does not re-execute: {divergence}")
        if [event.version for event in self.events] != [e.version for e in past.lifecycle()]:
            self.troubles.append("the watcher saw other events than those in the log")
        fates = {item: session.fate(item).status for item in self._items}
        waiting = {item for items in session.queued.values() for item in items}
        said = Counter(each.text for each in self.messages if isinstance(each, UserMessage))
        sent = Counter(self._prompts)
        for item, text in self._items.items():
            sent[text] += fates[item] == "delivered"
            if (fates[item] == "queued") is not (item in waiting):
                self.troubles.append(f"{text!r} is {fates[item]}, and the queue says otherwise")
        if said != sent:
            self.troubles.append(f"messages were lost or doubled: {sent - said or said - sent}")


def _mode(given: str) -> Any:
    return given.replace("-", "_")
