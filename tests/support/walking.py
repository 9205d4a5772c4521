"""Walking the annotations of structs, and what values really hold, in search of what can change."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from refold.events.vector import Vector

SCALARS = {int, float, str, bytes, bool, type(None), msgspec.UnsetType}


def mutable_places(
    struct: type[msgspec.Struct], opaque: Mapping[Any, str], places: Mapping[str, str]
) -> Iterator[str]:
    """What can be changed in a struct or in anything below it, as dotted places.

    Args:
        opaque: types that are not looked into, with the reason.
        places: fields (`Struct.field`) whose type says nothing, with the reason why that is well.
    """
    yield from _Walk(opaque, places).struct(struct)


class _Walk:
    def __init__(self, opaque: Mapping[Any, str], places: Mapping[str, str]) -> None:
        self._opaque = opaque
        self._places = places
        self._seen: set[type] = set()

    def struct(self, struct: type[msgspec.Struct]) -> Iterator[str]:
        if struct in self._seen:
            return
        self._seen.add(struct)
        if not struct.__struct_config__.frozen:
            yield f"{struct.__name__} is not frozen"
        hints = get_type_hints(struct)
        for field in struct.__struct_fields__:
            place = f"{struct.__name__}.{field}"
            if place not in self._places:
                yield from self.annotation(hints[field], place)
        # A field that holds this type may hold any that is made from it.
        for kind in struct.__subclasses__():
            yield from self.struct(kind)

    def annotation(self, hint: Any, place: str) -> Iterator[str]:
        origin, arguments = get_origin(hint), get_args(hint)
        if hint in SCALARS or hint in self._opaque or origin is Literal:
            return
        if origin in (Union, types.UnionType, tuple, frozenset) or origin in self._opaque:
            for argument in arguments:
                if argument is not Ellipsis:
                    yield from self.annotation(argument, place)
        elif isinstance(hint, type) and issubclass(hint, msgspec.Struct):
            yield from self.struct(hint)
        elif isinstance(hint, type) and issubclass(hint, Enum):
            return
        elif isinstance(hint, TypeVar):
            yield f"{place} is of any type"
        else:
            yield f"{place} is {typing.get_origin(hint) or hint}"


def changeable(value: Any, place: str) -> Iterator[str]:
    """What can be changed in a value or in anything that it holds."""
    if isinstance(value, int | float | str | bytes | msgspec.UnsetType | None):
        return
    if isinstance(value, msgspec.Struct):
        if not value.__struct_config__.frozen:
            yield f"{place} is a {type(value).__name__}"
        for field in value.__struct_fields__:
            yield from changeable(getattr(value, field), f"{place}.{field}")
    elif isinstance(value, tuple | frozenset | Vector):
        for index, item in enumerate(value):
            yield from changeable(item, f"{place}[{index}]")
    else:
        yield f"{place} is a {type(value).__name__}"
