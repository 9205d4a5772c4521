"""Arguments of a model against the schema of a tool: brought into shape, then checked.

Models write `"3"` where a number is wanted; what can be read without doubt is, as the peer does it
(pi 0.82.0; `tests/conformance`, scenario coercion-table). jsonschema has the last word.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from refold.events.canonical import Json
from refold.events.errors import InvalidArgumentError, ToolArgumentsError

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_MISFIT = object()


def check_schema(name: str, schema: Any) -> None:
    """Check the schema of a tool when it is made.

    Raises:
        InvalidArgumentError: it is no JSON schema, or not one of an object.
    """
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        raise InvalidArgumentError(
            f"the parameters of tool {name!r} must be a JSON schema of type object, not {schema!r}"
        )
    from jsonschema.exceptions import SchemaError

    try:
        _draft().check_schema(schema)
    except SchemaError as error:
        where = ".".join(str(part) for part in error.path) or "its top"
        raise InvalidArgumentError(
            f"the parameters of tool {name!r} are not a JSON schema: at {where}, {error.message}"
        ) from error


def fitted(name: str, schema: Json, arguments: Json) -> Json:
    """The arguments as the tool gets them.

    Raises:
        ToolArgumentsError: they do not fit; its message is what the model is told.
    """
    validator, parsed = _compiled(schema.text)
    try:
        value = arguments.value
    except msgspec.DecodeError as error:
        raise ToolArgumentsError(
            f"The arguments of {name} are not valid JSON: {error}", ("",)
        ) from error
    value = _coerced(parsed, value)
    errors = sorted(validator.iter_errors(value), key=lambda error: list(map(str, error.path)))
    if errors:
        places = [_place(error) for error in errors]
        told = "; ".join(
            f"{place or 'the arguments'}: {error.message}"
            for place, error in zip(places, errors, strict=True)
        )
        raise ToolArgumentsError(
            f"The arguments of {name} do not fit its schema. {told}", tuple(dict.fromkeys(places))
        )
    return Json.of(value)


@cache
def _draft() -> type[Validator]:
    """The validator class; imported at the first tool, for that takes 40 ms."""
    from jsonschema import Draft202012Validator

    return Draft202012Validator


@lru_cache(maxsize=512)
def _compiled(schema: str) -> tuple[Validator, Any]:
    parsed = msgspec.json.decode(schema)
    return _draft()(parsed), parsed


def _place(error: ValidationError) -> str:
    path = [str(part) for part in error.absolute_path]
    required: Any = error.validator_value
    if error.validator == "required" and isinstance(required, list):
        instance: Any = error.instance
        missing = [key for key in required if key not in instance]
        path.extend(missing[:1])
    return ".".join(path)


def _coerced(schema: Any, value: Any) -> Any:
    if not isinstance(schema, dict):
        return value
    for union in ("anyOf", "oneOf"):
        if isinstance(schema.get(union), list):
            return _first_that_fits(schema[union], value)
    kinds = schema.get("type")
    if isinstance(kinds, list):
        if any(_is(kind, value) for kind in kinds):
            return value
        return _first_that_fits([{**schema, "type": kind} for kind in kinds], value)
    if kinds == "object" and isinstance(value, dict):
        return _object(schema, value)
    if kinds == "array" and isinstance(value, list):
        return [_coerced(schema.get("items"), item) for item in value]
    if isinstance(kinds, str) and kinds in _SCALARS and not _is(kinds, value):
        coerced = _SCALARS[kinds](value)
        return value if coerced is _MISFIT else coerced
    return value


def _object(schema: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    known = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    return {key: _coerced(known.get(key, others), item) for key, item in value.items()}


def _first_that_fits(schemas: list[Any], value: Any) -> Any:
    for schema in schemas:
        coerced = _coerced(schema, value)
        if _draft()(schema).is_valid(coerced):
            return coerced
    return value


def _is(kind: str, value: Any) -> bool:
    return bool(_draft().TYPE_CHECKER.is_type(value, kind))


def _number(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return int(value or 0)
    if not isinstance(value, str) or not _NUMBER.fullmatch(value.strip()):
        return _MISFIT
    number = float(value)
    if not math.isfinite(number):
        return _MISFIT
    whole = re.fullmatch(r"[+-]?\d+", value.strip())
    return int(value) if whole else int(number) if number.is_integer() else number


def _integer(value: Any) -> Any:
    number = _number(value)
    return number if isinstance(number, int) else _MISFIT


def _boolean(value: Any) -> Any:
    if value is None:
        return False
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value, _MISFIT)
    if isinstance(value, int | float) and value in (0, 1):
        return bool(value)
    return _MISFIT


def _string(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool | int | float):
        return msgspec.json.encode(value).decode()
    return _MISFIT


def _null(value: Any) -> Any:
    return None if value in ("", 0, False) else _MISFIT


_SCALARS: dict[str, Callable[[Any], Any]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "string": _string,
    "null": _null,
}
