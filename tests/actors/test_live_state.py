"""What was live at any moment is what the log folds to: random scripts, random timing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from refold import (
    CallerError,
    LifecycleEvent,
    MessageUpdate,
    Reply,
    Session,
    ToolContext,
    tool,
)
from refold.actors.contents import Memory, StreamContents
from refold.actors.past import Past
from refold.events.agent.context import answered
from refold.events.agent.projection import agent_state
from refold.events.agent.state import SessionState
from tests.support.models import MODEL, Model, call, calls
from tests.support.sessions import await_rest, engine_of, opened
from tests.support.validity import faults


@tool
def quick(n: int = 0) -> str:
    """Return at once."""
    return f"quick {n}"


@tool
async def chatty(context: ToolContext) -> str:
    """Report twice."""
    await context.update("one")
    await context.update("two")
    return "chatty"


@tool(sequential=True)
def alone() -> str:
    """Run alone."""
    return "alone"


@tool
def broken() -> str:
    """Fail."""
    raise ValueError("broken")


TOOLS = [quick, chatty, alone, broken]

replies = st.sampled_from(
    [
        "hello",
        Reply("hello world", chunks=4),
        Reply([{"type": "thinking", "thinking": "hm", "chunks": ["h", "m"]}, "well"]),
        Reply("all at once", streamed=False),
        calls(call("quick"), text="let me see", chunks=3),
        calls(call("quick", n=1), call("chatty"), call("quick", n=2)),
        calls(call("alone"), call("quick")),
        calls(call("broken"), call("nobody"), call("quick", n="no number")),
        Reply("too lo", stop_reason="length"),
        Reply("", error_message="refused", error_kind="invalid_request"),
        Reply("", error_message="busy", error_kind="overloaded"),
        Reply("so far", raises="it broke"),
    ]
)


def _last(session: Session) -> int:
    return max((item for queue in session.queued.values() for item in queue), default=0)


ACTIONS: list[Callable[[Session], Any]] = [
    lambda session: session.steer("steer"),
    lambda session: session.follow_up("follow up"),
    lambda session: session.next_turn("with the next"),
    lambda session: session.steer("at once", now=True),
    lambda session: session.abort(),
    lambda session: session.cancel(_last(session)),
    lambda session: session.clear(),
    lambda session: session.set(steering_mode="all", thinking_level="high"),
    lambda session: session.set(tool_execution="sequential"),
    lambda session: session.reset(),
]

scripts = st.lists(replies, min_size=1, max_size=6)
plans = st.dictionaries(st.integers(0, 60), st.sampled_from(ACTIONS), max_size=6)


class Observed:
    """A session that was driven by a script while things were asked of it at some of its events.

    Attributes:
        states: the live states, by version.
        events: what was seen of its lifecycle.
    """

    def __init__(self, script: list[Any], plan: dict[int, Any], awaited: bool) -> None:
        left = list(script)
        self.model = Model(every=lambda _: left.pop(0) if left else "well")
        self.states: dict[int, SessionState] = {}
        self.events: list[LifecycleEvent] = []
        with opened(self.model) as runtime:
            engine = engine_of(runtime)
            session = runtime.session("s", model=MODEL, tools=TOOLS, retry_delay=0, max_retries=1)
            published: list[Any] = []
            end = engine.hub.watch(session.stream, published.append)
            numbers = iter(range(10_000))

            def act(event: LifecycleEvent) -> None:
                self.events.append(event)
                action = plan.get(next(numbers))
                if action is not None:
                    with suppress(CallerError):
                        action(session)

            if awaited:
                session.listen(act)
            for text in ("first", "second"):
                with suppress(CallerError):
                    run = session.prompt(text)
                    if not awaited:
                        for event in run:
                            act(event)
                await_rest(session)
            end()
            for item in published:
                self.states.update(enumerate(item.states, item.first - 1))
            self._compare(runtime.log, session.stream, engine.contents(session.stream))

    def _compare(self, log: Any, stream: bytes, live: StreamContents) -> None:
        past = Past(log, stream)
        stored = StreamContents(log, stream, Memory())
        folded = {state.version: state for _, _, state in past.steps()}
        self.different = [v for v, state in self.states.items() if v and folded[v] != state]
        self.unlike = [
            version
            for version, state in self.states.items()
            if agent_state(state, live) != agent_state(state, stored)
        ]
        self.seen = [_content(event) for event in self.events]
        self.recorded = [_content(event) for event in past.lifecycle()]
        self.contexts = [
            tuple(past.context(call=number + 1).messages)
            for number in range(len(self.model.requests))
        ]


def _content(event: LifecycleEvent) -> Any:
    if isinstance(event, MessageUpdate):
        return (event.version, event.pieces, event.message)
    return event


@settings(max_examples=50)
@given(scripts, plans, st.booleans())
def test_live_and_refolded_are_the_same(
    script: list[Any], plan: dict[int, Any], awaited: bool
) -> None:
    observed = Observed(script, plan, awaited)
    assert observed.different == []  # the machine's state at every version
    assert observed.unlike == []  # what people see of it, content included
    assert observed.model.faults == []
    if awaited:
        assert observed.seen == observed.recorded
    sent = [request.messages for request in observed.model.requests]
    assert observed.contexts == sent
    for messages in observed.contexts:
        assert faults(answered(messages)) == []
