"""Facts to bytes and back: nothing is lost, whichever release wrote it."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refold.events.agent.agent import AGENT, CODEC
from refold.events.agent.evolve import EVOLVE
from refold.events.agent.facts import MARKS
from refold.events.agent.inputs import INPUTS
from refold.events.codec import Codec, type_name
from refold.events.errors import CorruptError
from refold.events.fact import Fact, UnknownEvent
from refold.events.record import EventData
from tests.support.strategies import values_of

pack = msgspec.msgpack.encode


@pytest.mark.parametrize("kind", CODEC.facts, ids=type_name)
@given(data=st.data())
def test_every_fact_comes_back_as_it_was(kind: type[Fact], data: st.DataObject) -> None:
    fact = data.draw(values_of(kind))
    assert CODEC.decode(CODEC.encode(fact)) == fact


def test_the_codec_knows_every_input_and_every_mark() -> None:
    assert set(CODEC.facts) == {*INPUTS, *MARKS}


def test_the_machine_has_a_rule_for_every_fact_that_it_cannot_pass_over() -> None:
    critical = {kind for kind in CODEC.facts if kind.CRITICAL}
    assert {*critical, UnknownEvent} <= set(EVOLVE) <= {*CODEC.facts, UnknownEvent}


@pytest.mark.parametrize("kind", CODEC.facts, ids=type_name)
def test_an_event_says_what_it_is_without_being_decoded(kind: type[Fact]) -> None:
    event = CODEC.encode(_least(kind), b"body")
    assert (event.type, event.schema) == (type_name(kind), kind.SCHEMA)
    assert event.critical is kind.CRITICAL
    assert event.body == b"body"


def _least(kind: type[Fact]) -> Fact:
    known: dict[str, Any] = {
        "uid": bytes(16),
        "name": "",
        "shapes": (),
        "indexes": (),
        "queues": (),
        "queue": "steering",
        "items": (),
        "stop_reason": "stop",
        "model": "",
        "hook": "",
    }
    required = [field.name for field in msgspec.structs.fields(kind) if field.required]
    return kind(**{name: known.get(name, 0) for name in required})


@pytest.mark.parametrize(
    ("name", "expected"),
    [("MessageEnd", "message_end"), ("Created", "created"), ("HTTPFailed", "httpfailed")],
)
def test_a_type_name_is_the_class_name_in_small_letters(name: str, expected: str) -> None:
    assert type_name(type(name, (), {})) == expected


# What another release wrote


def test_an_event_of_an_unknown_type_is_kept_byte_by_byte() -> None:
    event = EventData("sent_by_carrier_pigeon", 3, False, b"\xc1 no msgpack", b"body")
    unknown = CODEC.decode(event)
    assert isinstance(unknown, UnknownEvent)
    assert CODEC.encode(unknown, b"body") == event


def test_an_event_of_a_newer_schema_is_kept_byte_by_byte() -> None:
    event = EventData("prompted", 2, True, pack({"shapes": "are other things now"}))
    unknown = CODEC.decode(event)
    assert unknown == UnknownEvent(
        type="prompted", schema=2, critical=True, skeleton=event.skeleton
    )
    assert CODEC.encode(unknown) == event


def test_fields_that_a_later_release_added_are_passed_over() -> None:
    event = EventData("cancelled", 1, True, pack({"item": 4, "why": "because"}))
    assert type(CODEC.decode(event)).__name__ == "Cancelled"


def test_an_unknown_critical_event_makes_a_state_unreadable_and_names_the_type() -> None:
    unknown = UnknownEvent(type="moved", schema=1, critical=True, skeleton=b"")
    later = UnknownEvent(type="moved_again", schema=1, critical=True, skeleton=b"")
    state = AGENT.evolve(AGENT.evolve(AGENT.initial(), unknown), later)
    assert state.unreadable == "moved"
    assert state.version == 2


def test_an_unknown_event_that_is_not_critical_is_counted_and_nothing_else() -> None:
    unknown = UnknownEvent(type="waved", schema=1, critical=False, skeleton=b"")
    before = AGENT.initial()
    assert AGENT.evolve(before, unknown) == msgspec.structs.replace(before, version=1)


class Weighed(Fact):
    """In schema 1 it was `pounds`, in schema 2 `grams`; since schema 3 there is a scale."""

    SCHEMA: ClassVar[int] = 3
    grams: int
    scale: str


UPCASTERS = {
    ("weighed", 1): lambda old: {"grams": old["pounds"] * 454},
    ("weighed", 2): lambda old: {**old, "scale": "kitchen"},
}


@pytest.mark.parametrize(
    ("schema", "fields"),
    [
        (1, {"pounds": 2}),
        (2, {"grams": 908}),
        (3, {"grams": 908, "scale": "kitchen"}),
    ],
)
def test_old_schemas_pass_through_every_step_up_to_the_present_one(
    schema: int, fields: dict[str, Any]
) -> None:
    event = EventData("weighed", schema, True, pack(fields))
    assert Codec([Weighed], UPCASTERS).decode(event) == Weighed(grams=908, scale="kitchen")


# What cannot be read


@pytest.mark.parametrize(
    "skeleton",
    [b"", b"\xc1", pack("text"), pack({"item": "four"}), pack({})],
    ids=["empty", "no msgpack", "no map", "a wrong field", "a field missing"],
)
def test_a_damaged_skeleton_is_refused_with_type_and_schema(skeleton: bytes) -> None:
    with pytest.raises(CorruptError, match="type cancelled, schema 1, cannot be read"):
        CODEC.decode(EventData("cancelled", 1, True, skeleton))


@pytest.mark.parametrize("skeleton", [b"\xc1", pack({"grams": 1})], ids=["damaged", "incomplete"])
def test_a_damaged_old_skeleton_is_refused_with_its_own_schema(skeleton: bytes) -> None:
    with pytest.raises(CorruptError, match="type weighed, schema 1, cannot be read"):
        Codec([Weighed], UPCASTERS).decode(EventData("weighed", 1, True, skeleton))


def test_a_schema_without_its_upcaster_is_refused() -> None:
    with pytest.raises(CorruptError, match="type weighed, schema 1"):
        Codec([Weighed]).decode(EventData("weighed", 1, True, pack({"pounds": 1})))
