"""Whatever users hand in has one declared form, and keeps it through storage."""

from __future__ import annotations

from collections import OrderedDict, UserDict, UserList
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refold.events.canonical import Json, canonical, canonical_text
from refold.events.errors import InvalidArgumentError

# Texts with lone surrogates and NUL, numbers of all sizes, bytes, tuples and sets.
texts = st.text(st.characters(codec=None, max_codepoint=0x10FFFF, categories=None))
keys = st.one_of(texts, st.integers(), st.booleans(), st.none(), st.floats())
values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        texts,
        st.binary(),
        st.frozensets(st.integers()),
    ),
    lambda inner: st.one_of(
        st.lists(inner), st.lists(inner).map(tuple), st.dictionaries(keys, inner)
    ),
    max_leaves=10,
)


@given(values)
def test_the_canonical_form_of_a_canonical_form_is_itself(value: Any) -> None:
    once = canonical(value)
    assert canonical(once) == once


@given(values)
def test_a_canonical_value_survives_storage_as_it_is(value: Any) -> None:
    form = canonical(value)
    assert msgspec.json.decode(msgspec.json.encode(form)) == form
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(form)) == form


@given(values)
def test_a_frozen_value_gives_it_back(value: Any) -> None:
    frozen = Json.of(value)
    assert frozen.value == canonical(value)
    assert Json.of(frozen) == frozen
    assert Json.of(frozen.value) == frozen


@given(texts)
def test_canonical_text_can_be_encoded_and_has_no_nul(text: str) -> None:
    assert "\0" not in canonical_text(text).encode().decode()


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_sound_text_stays_as_it_is(text: str) -> None:
    assert canonical_text(text) == text


class Colour(Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    tags: tuple[str, ...]


class Struct(msgspec.Struct):
    name: str


class Word(str):
    __slots__ = ()


class Count(int):
    pass


@pytest.mark.parametrize(
    ("given", "form"),
    [
        ("a\0b", "a\ufffdb"),
        ("a\ud800b", "a\ufffdb"),
        ("\ud83d\ude00", "\U0001f600"),  # two halves that belong together
        (float("nan"), None),
        (float("inf"), None),
        (float("-inf"), None),
        (2**64 - 1, 2**64 - 1),
        (2**64, "18446744073709551616"),
        (-(2**63), -(2**63)),
        (-(2**63) - 1, "-9223372036854775809"),
        (True, True),
        (b"\x00\xff", "AP8="),
        (bytearray(b"ab"), "YWI="),
        (memoryview(b"ab"), "YWI="),
        ((1, [2]), [1, [2]]),
        ({1}, [1]),
        (range(3), [0, 1, 2]),
        ({1: "a", None: "b"}, {"1": "a", "null": "b"}),
        ({False: 1, 1.5: 2}, {"false": 1, "1.5": 2}),
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (UserDict({"a": UserList([1])}), {"a": [1]}),
        (Point(1, ("a", "b\0")), {"x": 1, "tags": ["a", "b\ufffd"]}),
        (Struct("n"), {"name": "n"}),
        (Colour.RED, "red"),
        (datetime(2026, 1, 2, 3, 4, tzinfo=UTC), "2026-01-02T03:04:00Z"),
        (date(2026, 1, 2), "2026-01-02"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Decimal("1.50"), "1.50"),
        (Json('{"a": 1}'), {"a": 1}),
    ],
)
def test_each_kind_of_value_has_its_form(given: Any, form: Any) -> None:
    assert canonical(given) == form


@pytest.mark.parametrize(("given", "kind"), [(Word("w"), str), (Count(3), int), (True, bool)])
def test_subclasses_become_plain(given: Any, kind: type) -> None:
    assert type(canonical(given)) is kind


def test_the_order_of_keys_is_kept() -> None:
    assert Json.of({"b": 1, "a": 2}).text == '{"b":1,"a":2}'


def test_a_canonical_value_shares_no_container_with_what_was_given() -> None:
    given: dict[str, Any] = {"a": [1]}
    form = canonical(given)
    given["a"].append(2)
    assert form == {"a": [1]}


def test_a_frozen_value_cannot_be_changed_through_what_it_gives() -> None:
    frozen = Json.of({"a": [1]})
    frozen.value["a"].append(2)
    assert frozen.value == {"a": [1]}


@pytest.mark.parametrize("value", [object(), lambda: None, 1j, object])
def test_what_is_not_json_is_refused_with_its_place_and_type(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"details\.a\[1\] is a .*not JSON"):
        Json.of({"a": [1, value]}, "details")


def test_a_key_that_is_no_text_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidArgumentError, match=r"details\.a has the key \(1, 2\)"):
        Json.of({"a": {(1, 2): 3}}, "details")


def test_a_value_that_contains_itself_is_refused() -> None:
    given: list[Any] = []
    given.append(given)
    with pytest.raises(InvalidArgumentError, match="details holds itself"):
        Json.of(given, "details")
