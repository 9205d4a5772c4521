"""Nothing that actors share or that is on record can be changed, and nothing that it holds."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from refold.actors import messages
from refold.actors.hub import Published
from refold.actors.past import Entry
from refold.actors.run_hooks import AfterTurn  # noqa: F401  # makes the hooks' types known
from refold.events.agent import bodies
from refold.events.agent.bodies import AssistantEnd, ContextEdit, Piece, ResultPatch
from refold.events.agent.contents import Contents, Conversation
from refold.events.agent.context import Request
from refold.events.agent.facts import MARKS
from refold.events.agent.inputs import INPUTS
from refold.events.agent.lifecycle import Lifecycle
from refold.events.agent.messages import (
    AssistantMessage,
    CustomMessage,
    ToolResult,
    ToolResultMessage,
    UserMessage,
)
from refold.events.agent.projection import AgentState
from refold.events.agent.state import SessionState
from refold.events.behaviour import Effect
from refold.events.fact import Fact, Offer, UnknownEvent
from refold.events.record import EventData, Header, Record, Recorded, StoredEvent
from refold.events.vector import Vector
from refold.store.log import Appended, Cursor, Head, StreamInfo
from tests.support.machine import Machine
from tests.support.walking import changeable, mutable_places
from tests.support.wandering import HOOKS, TOOLS, wander

KINDS: list[type[msgspec.Struct]] = [
    *INPUTS,
    *MARKS,
    UnknownEvent,
    Offer,
    Effect,
    SessionState,
    AgentState,
    Lifecycle,
    Request,
    Published,
    Entry,
    messages.Message,
    # Bodies
    UserMessage,
    AssistantMessage,
    ToolResultMessage,
    CustomMessage,
    Piece,
    AssistantEnd,
    bodies.Failure,
    bodies.Verdict,
    ResultPatch,
    ContextEdit,
    ToolResult,
    # What logs take and give
    EventData,
    Recorded,
    Header,
    StoredEvent,
    Record,
    Appended,
    Cursor,
    Head,
    StreamInfo,
]

OPAQUE: dict[Any, str] = {
    Vector: "a persistent vector: appending to it makes another one (test_vector)",
    Conversation: "heads in a vector, and a way to read a log that only grows",
    Contents: "a way to read a log that only grows",
    Exception: "raised at whoever it is for, and held by nobody else",
    BaseException: "raised at whoever it is for, and held by nobody else",
}

PLACES = {
    "Request.messages": "a conversation, or a tuple of messages",
    "Offer.known": "the message that the body holds, decoded: a struct walked here",
    "Perform.state": "a state of any behaviour; the agent's is walked here",
    "Write.states": "states of any behaviour",
    "Published.states": "states of any behaviour",
    "Notify.states": "states of any behaviour",
    "Host.behaviour": "functions without a state of their own",
    "Host.state": "a state of any behaviour",
    "CatchUp.behaviour": "functions without a state of their own",
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_no_field_that_can_be_changed_is_reachable_from_it(kind: type[msgspec.Struct]) -> None:
    assert list(mutable_places(kind, OPAQUE, PLACES)) == []


def test_no_exception_is_made_for_a_field_that_is_not_there() -> None:
    known = {kind.__name__: kind for kind in _all(msgspec.Struct)}
    fields = {place: place.partition(".") for place in PLACES}
    gone = [
        place
        for place, (kind, _, field) in fields.items()
        if field not in known[kind].__struct_fields__
    ]
    assert gone == []


def _all(kind: type) -> Iterator[Any]:
    for below in kind.__subclasses__():
        yield below
        yield from _all(below)


class Inner(msgspec.Struct, frozen=True):
    fine: tuple[int, ...]
    bad: tuple[list[int], ...]


class Outer(msgspec.Struct, frozen=True):
    inner: Inner | None


class Thawed(msgspec.Struct):
    number: int


class Loose(msgspec.Struct, frozen=True):
    anything: Any
    by_name: dict[str, int]
    some: set[int]
    data: bytearray


class Base(msgspec.Struct, frozen=True):
    pass


class Derived(Base, frozen=True):
    items: list[int]


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (Outer, ["Inner.bad is <class 'list'>"]),
        (Thawed, ["Thawed is not frozen"]),
        (
            Loose,
            [
                "Loose.anything is typing.Any",
                "Loose.by_name is <class 'dict'>",
                "Loose.some is <class 'set'>",
                "Loose.data is <class 'bytearray'>",
            ],
        ),
        (Base, ["Derived.items is <class 'list'>"]),
    ],
    ids=["below", "thawed", "every kind", "in a subclass"],
)
def test_what_can_be_changed_is_found(kind: type[msgspec.Struct], found: list[str]) -> None:
    assert list(mutable_places(kind, OPAQUE, PLACES)) == found


@pytest.mark.parametrize("hooks", [(), HOOKS], ids=["without hooks", "with hooks"])
def test_nothing_that_can_be_changed_is_in_the_facts_and_states_of_a_run(hooks: Any) -> None:
    chance = random.Random(1)
    machine = Machine.ready(*TOOLS, hooks=hooks)
    for _ in wander(machine, (chance.randrange(2**16) for _ in range(600))):
        pass
    held: list[Fact | SessionState] = [*machine.facts, machine.state]
    assert [found for value in held for found in changeable(value, type(value).__name__)] == []


def test_a_state_that_was_handed_out_does_not_change() -> None:
    machine = Machine.ready(*TOOLS, hooks=HOOKS)
    chance = random.Random(2)
    handed_out = []
    for _ in wander(machine, (chance.randrange(2**16) for _ in range(300))):
        handed_out.append((machine.state, msgspec.json.encode(machine.state, enc_hook=list)))
    for state, then in handed_out:
        assert msgspec.json.encode(state, enc_hook=list) == then
