"""Values of refold's own types, made from their annotations."""

from __future__ import annotations

import types
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from hypothesis import strategies as st

from refold.events.canonical import INT_MAX, INT_MIN

_LEAVES: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(INT_MIN, INT_MAX),
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    str: st.text(),
    bytes: st.binary(max_size=40),
    type(None): st.none(),
    msgspec.UnsetType: st.just(msgspec.UNSET),
}


@cache
def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Values of an annotated type; of a struct, with some of its fields left at their defaults."""
    if kind in _LEAVES:
        return _LEAVES[kind]
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, types.UnionType):
        return st.one_of(*map(values_of, arguments))
    if origin is tuple:
        if arguments[1:] == (...,):
            return st.lists(values_of(arguments[0]), max_size=3).map(tuple)
        return st.tuples(*map(values_of, arguments))
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _structs(kind)
    raise TypeError(f"no values of {kind!r} are known")


def _structs(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    hints = get_type_hints(kind)
    fields = msgspec.structs.fields(kind)
    required = {field.name: values_of(hints[field.name]) for field in fields if field.required}
    optional = {field.name: values_of(hints[field.name]) for field in fields if not field.required}
    given = st.fixed_dictionaries(required, optional=optional)
    return given.map(lambda values: kind(**values))
