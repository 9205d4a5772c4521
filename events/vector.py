"""An immutable sequence whose append does not copy what came before.

A persistent vector (a trie of nodes of 32 with a tail, as in Clojure): append copies at most one
node a level and shares all else, so a state keeps every message of a session and every earlier
state stays what it was. Appending 100,000 items one by one is linear.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")

BITS = 5
WIDTH = 1 << BITS
MASK = WIDTH - 1


class Vector(Sequence[T], Generic[T]):
    """An immutable sequence with cheap `append`; equal to another by its items."""

    __slots__ = ("_length", "_root", "_shift", "_tail")

    _length: int
    _root: tuple[Any, ...]
    _shift: int
    _tail: tuple[Any, ...]

    def __init__(self, items: Iterable[T] = ()) -> None:
        built = _from(items)
        self._length, self._root = built._length, built._root
        self._shift, self._tail = built._shift, built._tail

    def append(self, item: T) -> Vector[T]:
        """A vector with `item` behind all the items of this one."""
        if len(self._tail) < WIDTH:
            return _make(self._length + 1, self._root, self._shift, (*self._tail, item))
        root, shift = self._root, self._shift
        if (self._length - WIDTH) >> BITS >= 1 << shift:
            root, shift = (root,), shift + BITS
        grown = _push(root, shift, self._length - WIDTH, self._tail)
        return _make(self._length + 1, grown, shift, (item,))

    def extend(self, items: Iterable[T]) -> Vector[T]:
        """A vector with `items` behind all the items of this one."""
        grown: Vector[T] = self
        for item in items:
            grown = grown.append(item)
        return grown

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._length)
            if step == 1:
                return tuple(self.between(start, stop))
            return tuple(self[i] for i in range(start, stop, step))
        if index < 0:
            index += self._length
        if not 0 <= index < self._length:
            raise IndexError(f"index {index} is outside a vector of {self._length} items")
        return self._leaf(index)[index & MASK]  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[T]:
        return self.between(0, self._length)

    def between(self, start: int, stop: int) -> Iterator[T]:
        """The items from `start` up to but without `stop`, a leaf at a time."""
        while start < stop:
            leaf = self._leaf(start)
            taken = min(stop - start, WIDTH - (start & MASK))
            yield from islice(leaf, start & MASK, (start & MASK) + taken)
            start += taken

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Vector):
            return NotImplemented
        return self._length == other._length and all(
            mine == theirs for mine, theirs in zip(self, other, strict=True)
        )

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        shown = ", ".join(repr(item) for item in islice(self, 4))
        return f"Vector([{shown}{', ...' if self._length > 4 else ''}], length={self._length})"

    def _leaf(self, index: int) -> tuple[Any, ...]:
        if index >= self._length - len(self._tail):
            return self._tail
        node = self._root
        level = self._shift
        while level > 0:
            node = node[(index >> level) & MASK]
            level -= BITS
        return node


def _make(length: int, root: tuple[Any, ...], shift: int, tail: tuple[Any, ...]) -> Vector[Any]:
    vector: Vector[Any] = object.__new__(Vector)
    vector._length, vector._root, vector._shift, vector._tail = (
        length,
        root,
        shift,
        tail,
    )
    return vector


def _from(items: Iterable[Any]) -> Vector[Any]:
    if isinstance(items, Vector):
        return items
    return _make(0, (), BITS, ()).extend(items)


def _push(node: tuple[Any, ...], level: int, index: int, leaf: tuple[Any, ...]) -> tuple[Any, ...]:
    slot = (index >> level) & MASK
    if level == BITS:
        return (*node[:slot], leaf)
    child = node[slot] if slot < len(node) else ()
    return (*node[:slot], _push(child, level - BITS, index, leaf))
