"""A run that is stopped after any of its events goes on in a new process, and nothing is lost."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from refold import Reply, Request, ToolContext, tool
from refold.actors.past import Past
from refold.events.agent import inputs
from refold.events.agent.agent import AGENT, CODEC
from refold.events.agent.context import answered
from refold.events.fold import reexecute
from refold.store import MemoryLog
from tests.support.gates import Gate
from tests.support.logs import borders, cut
from tests.support.models import MODEL, Model, call, calls
from tests.support.sessions import await_rest, opened
from tests.support.validity import faults

SAID = ("go", "be brief", "and then?", "with the next")
"""What is said to the session: a prompt, steering, a follow-up, and for the next turn."""


@tool
async def chatty(context: ToolContext) -> str:
    """Report, and return."""
    await context.update("half")
    return "chatty"


@tool(replay="safe")
def safe() -> str:
    """Can be run again."""
    return "safe"


@tool
def once() -> str:
    """Must not be run again."""
    return "once"


TOOLS = [chatty, safe, once]


def brain(request: Request) -> Any:
    """Answers by what was said last, so that it goes on from wherever it was stopped."""
    texts = [message.text for message in request.messages]
    if texts[-1] == "go":
        batch = [call("chatty"), call("safe"), call("once")]
        return calls(*batch, text="let me see", chunks=4)
    return Reply(f"about {texts[-1]!r}", chunks=5)


@cache
def recorded(awaited: bool) -> tuple[MemoryLog, bytes]:
    """The log of a run with streaming, parallel tools, steering and a follow-up."""
    kept = MemoryLog()
    gate = Gate()

    @tool(name="safe", replay="safe")
    def held() -> str:
        """Can be run again."""
        gate.wait()
        return "safe"

    with opened(Model(every=brain), log=kept) as runtime:
        session = runtime.session("s", model=MODEL, tools=[chatty, held, once])
        if awaited:  # then each event is a record of its own
            session.listen(lambda event: None)
        session.next_turn(SAID[3])
        run = session.prompt(SAID[0])
        gate.await_arrival()
        session.steer(SAID[1])
        session.follow_up(SAID[2])
        gate.open()
        run.result()
        await_rest(session)
        stream = session.stream
        left = cut(kept, stream, session.past.version)
    return left, stream


def said_until(log: MemoryLog, stream: bytes) -> list[str]:
    """What had been said to the session, as its log acknowledges it."""
    past = Past(log, stream)
    return [
        text
        for entry in past.entries()
        if isinstance(entry.fact, inputs.Prompted | inputs.Queued) and entry.body
        for text in SAID
        if text.encode() in entry.body
    ]


def wrong_after(whole: MemoryLog, stream: bytes, version: int) -> list[str]:
    """What is wrong with a session that goes on from a version of a log; empty if nothing."""
    log = cut(whole, stream, version)
    said = said_until(log, stream)
    model = Model(every=brain)
    with opened(model, log=log) as runtime:
        session = runtime.session("s", model=MODEL, tools=TOOLS)
        await_rest(session)
        session.prompt("still there?").result()
        await_rest(session)
        texts = [message.text for message in session.state.messages]
        unsent = faults(answered(session.state.messages))
        waiting = [item for queue in session.queued.values() for item in queue]

    wrong = [
        f"{text!r} is there {texts.count(text)} times" for text in said if texts.count(text) != 1
    ]
    if texts[-1] != "about 'still there?'":
        wrong.append(f"the next prompt was answered with {texts[-1]!r}")
    if waiting:
        wrong.append(f"{waiting} still wait")
    # A tool that must not run twice was run once, or its result says that nobody knows.
    results = [text for text in texts if text == "once" or text.startswith("The run of once")]
    if len(results) != ("go" in said):
        wrong.append(f"the tool has the results {results}")
    return wrong + model.faults + unsent


@pytest.mark.parametrize("awaited", [False, True], ids=["followed", "with awaited listeners"])
@pytest.mark.parametrize("at_ends", [True, False], ids=["at the end of a record", "inside one"])
def test_a_run_stopped_after_any_event_goes_on(awaited: bool, at_ends: bool) -> None:
    # A log really ends at the end of a record; that the machine does not depend on it is a gain.
    log, stream = recorded(awaited)
    ends = borders(log, stream)
    versions = [v for v in range(1, ends[-1] + 1) if (v in ends) is at_ends]
    wrong = {version: wrong_after(log, stream, version) for version in versions}
    assert {version: faulty for version, faulty in wrong.items() if faulty} == {}


@pytest.mark.parametrize("awaited", [False, True])
def test_the_runs_that_are_stopped_hold_all_that_is_to_be_recovered(awaited: bool) -> None:
    log, stream = recorded(awaited)
    types = [recorded.event.type for recorded in log.read(stream)]
    assert types.count("model_called") == 3
    assert types.count("message_update") >= 10
    assert types.count("tool_execution_update") == 1
    assert types.count("drained") == 3
    assert said_until(log, stream) == [SAID[3], SAID[0], SAID[1], SAID[2]]
    facts = [CODEC.decode(recorded.event) for recorded in log.read(stream)]

    assert reexecute(AGENT, facts) is None


def test_awaited_listeners_make_every_event_a_record() -> None:
    log, stream = recorded(True)
    ends = borders(log, stream)
    assert len(ends) > 0.8 * max(ends)
