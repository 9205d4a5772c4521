"""Comparing what came of an input with what it expects (`corpus/FORMAT.md`)."""

from __future__ import annotations

import json
from typing import Any


def first_difference(wanted: Any, got: Any, path: str = "") -> str | None:
    """The first place where they differ, in words; None if there is none.

    A key that is not wanted is not looked at; `any`, `contains`, `nonempty` and `set` widen what
    is allowed. A list may be known by its `length`, `first` and `last` only.
    """
    match wanted:
        case {"any": list(choices)}:
            if any(first_difference(choice, got) is None for choice in choices):
                return None
        case {"contains": str(part)}:
            if isinstance(got, str) and part in got:
                return None
        case {"nonempty": bool(wish)}:
            if bool(got) is wish:
                return None
        case {"set": list(items)}:
            if isinstance(got, list | tuple) and _same_set(items, list(got)):
                return None
        case {"length": int()} if isinstance(got, list):
            ends = {"length": len(got), "first": got[0], "last": got[-1]} if got else {"length": 0}
            return _in_object(wanted, ends, path)
        case dict():
            return _in_object(wanted, got, path)
        case list():
            return _in_list(wanted, got, path)
        case _:
            if wanted == got and isinstance(wanted, bool) == isinstance(got, bool):
                return None
    return f"{path or 'top'}: expected {_short(wanted)}, got {_short(got)}"


def within(wanted: dict[str, Any], accept: list[dict[str, Any]], got: Any) -> str | None:
    """As `first_difference`; `accept` holds outcomes that are allowed besides, each by what is
    other in it.
    """
    first = first_difference(wanted, got)
    if first is None or any(first_difference({**wanted, **other}, got) is None for other in accept):
        return None
    return first


def _in_object(wanted: dict[str, Any], got: Any, path: str) -> str | None:
    if not isinstance(got, dict):
        return f"{path or 'top'}: expected {_short(wanted)}, got {_short(got)}"
    for key, value in wanted.items():
        place = f"{path}.{key}" if path else key
        if key not in got:
            return f"{place}: expected {_short(value)}, got nothing"
        if found := first_difference(value, got[key], place):
            return found
    return None


def _in_list(wanted: list[Any], got: Any, path: str) -> str | None:
    if not isinstance(got, list | tuple):
        return f"{path or 'top'}: expected {_short(wanted)}, got {_short(got)}"
    for place, (value, there) in enumerate(zip(wanted, got, strict=False)):
        if found := first_difference(value, there, f"{path}[{place}]"):
            return found
    if len(wanted) == len(got):
        return None
    more, less = (wanted, "expected") if len(wanted) > len(got) else (got, "got")
    place = min(len(wanted), len(got))
    return (
        f"{path or 'top'}: expected {len(wanted)} items, got {len(got)}; the first that only was "
        f"{less} is {_short(more[place])}"
    )


def _same_set(wanted: list[Any], got: list[Any]) -> bool:
    if len(wanted) != len(got):
        return False
    left = list(got)
    for item in wanted:
        place = next(
            (n for n, other in enumerate(left) if first_difference(item, other) is None), None
        )
        if place is None:
            return False
        del left[place]
    return True


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 200 else f"{text[:200]}…"
