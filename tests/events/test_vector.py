"""A vector is to its users what a tuple is, and appending to it shares what came before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refold.events.vector import WIDTH, Vector

BORDERS = [
    0,
    1,
    WIDTH - 1,
    WIDTH,
    WIDTH + 1,
    2 * WIDTH,
    WIDTH**2 - 1,
    WIDTH**2,
    WIDTH**2 + WIDTH,
    WIDTH**2 + WIDTH + 1,
]
lengths = st.one_of(st.sampled_from(BORDERS), st.integers(0, 3 * WIDTH**2))


@given(st.lists(st.integers()))
def test_it_holds_what_a_list_holds(items: list[int]) -> None:
    vector = Vector(items)
    assert list(vector) == items
    assert len(vector) == len(items)


@given(lengths)
def test_each_item_is_where_it_was_put(length: int) -> None:
    vector = Vector(range(length))
    assert [vector[index] for index in range(length)] == list(range(length))


@given(lengths, st.integers(), st.integers())
def test_an_index_means_what_it_means_to_a_list(length: int, index: int, spread: int) -> None:
    for place in (index, index % (length + 1), -(spread % (length + 2))):
        items, vector = list(range(length)), Vector(range(length))
        try:
            expected = items[place]
        except IndexError:
            with pytest.raises(IndexError):
                vector[place]
        else:
            assert vector[place] == expected


@given(lengths, st.slices(3 * WIDTH**2))
def test_a_slice_means_what_it_means_to_a_tuple(length: int, piece: slice) -> None:
    assert Vector(range(length))[piece] == tuple(range(length))[piece]


@given(lengths, st.integers(0, 3 * WIDTH**2), st.integers(0, 3 * WIDTH**2))
def test_between_gives_a_stretch(length: int, start: int, stop: int) -> None:
    stop = min(stop, length)
    assert list(Vector(range(length)).between(start, stop)) == list(range(start, stop))


@given(st.lists(st.integers()), st.lists(st.integers()))
def test_extending_is_appending_each(items: list[int], more: list[int]) -> None:
    vector = Vector(items)
    for item in more:
        vector = vector.append(item)
    assert vector == Vector(items).extend(more)
    assert list(vector) == items + more


@pytest.mark.parametrize("length", BORDERS)
def test_two_branches_from_one_vector_do_not_disturb_it_or_each_other(length: int) -> None:
    trunk = Vector(range(length))
    left = trunk.extend(["left"] * (WIDTH + 1))
    right = trunk.extend(["right"] * (WIDTH + 1))
    assert list(trunk) == list(range(length))
    assert list(left) == [*range(length), *["left"] * (WIDTH + 1)]
    assert list(right) == [*range(length), *["right"] * (WIDTH + 1)]


@given(st.lists(st.integers(0, 2), max_size=4), st.lists(st.integers(0, 2), max_size=4))
def test_it_equals_another_with_the_same_items(mine: list[int], theirs: list[int]) -> None:
    assert (Vector(mine) == Vector(theirs)) is (mine == theirs)
    if mine == theirs:
        assert hash(Vector(mine)) == hash(Vector(theirs))


@pytest.mark.parametrize("other", [[1], (1,), 1, None])
def test_it_equals_nothing_else(other: Any) -> None:
    assert Vector([1]) != other


def test_a_vector_of_a_vector_is_the_same_one() -> None:
    vector = Vector(range(100))
    assert Vector(vector) == vector
    assert Vector(vector)._root is vector._root


def test_an_append_makes_at_most_one_new_node_a_level() -> None:
    before = Vector(range(WIDTH**2 + WIDTH))  # the tail is full, so the next append moves it
    after = before.append("new")
    known = set(map(id, _nodes(before._root)))
    assert sum(id(node) not in known for node in _nodes(after._root)) <= 3


def _nodes(node: Any) -> Iterator[Any]:
    if isinstance(node, tuple):
        yield node
        for child in node:
            yield from _nodes(child)


def test_its_text_tells_its_length_and_stays_short() -> None:
    assert repr(Vector(range(3))) == "Vector([0, 1, 2], length=3)"
    assert repr(Vector(range(1000))) == "Vector([0, 1, 2, 3, ...], length=1000)"
