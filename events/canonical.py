"""Values in one declared form, before anything else sees them.

What users hand in is brought here into a form that survives storage unchanged, so that a live state
and a refolded one are the same by construction. The declared form:

* text is valid Unicode without NUL: a lone surrogate or a NUL becomes U+FFFD;
* numbers: NaN and infinities become `null`; integers beyond 64 bits become their decimal text;
* bytes become base64 text (RFC 4648); tuples and sets become arrays; dataclasses, msgspec structs,
  dates, UUIDs, decimals and enums become what msgspec makes of them;
* keys that are numbers, booleans or `None` become the text JSON gives them.

Anything else is refused with an `InvalidArgumentError` that names the place and the type.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence, Set
from math import isfinite
from typing import Any

import msgspec

from refold.events.errors import InvalidArgumentError

REPLACEMENT = "\ufffd"
INT_MIN, INT_MAX = -(2**63), 2**64 - 1
_encoder = msgspec.json.Encoder()


class Json(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A JSON value, frozen as its text (compact, keys in the order they were given)."""

    text: str = "null"

    @classmethod
    def of(cls, value: Any, where: str = "value") -> Json:
        """Freeze `value` in its canonical form.

        Raises:
            InvalidArgumentError: `value` holds something that is not JSON; `where` names the place.
        """
        return cls(_encoder.encode(canonical(value, where)).decode())

    @property
    def value(self) -> Any:
        """A fresh copy of the value; changing it changes nothing else."""
        return msgspec.json.decode(self.text)


EMPTY_OBJECT = Json("{}")


def canonical_text(text: str) -> str:
    """`text` without lone surrogates and NUL."""
    if text.isascii():
        return text.replace("\0", REPLACEMENT) if "\0" in text else text
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", REPLACEMENT)


def canonical(value: Any, where: str = "value") -> Any:
    """`value` as plain JSON data in the declared form (a new object wherever it is a container).

    Raises:
        InvalidArgumentError: it holds something that is not JSON, or itself; `where` names the
            place.
    """
    try:
        return _plain(value, where)
    except RecursionError:
        raise InvalidArgumentError(
            f"{where} holds itself, or is nested too deeply: give data of fewer levels"
        ) from None


def _plain(value: Any, where: str) -> Any:
    if isinstance(value, str):
        return canonical_text(str(value))
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if INT_MIN <= value <= INT_MAX else str(int(value))
    if isinstance(value, float):
        return float(value) if isfinite(value) else None
    if isinstance(value, Json):
        return value.value
    if isinstance(value, bytes | bytearray | memoryview):
        return b64encode(bytes(value)).decode()
    if isinstance(value, Mapping):
        return {_key(k, where): _plain(v, f"{where}.{k}") for k, v in value.items()}
    if isinstance(value, Sequence | Set):
        return [_plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
    try:
        plain = msgspec.to_builtins(value)
    except (TypeError, ValueError):
        plain = value
    if plain is value or type(plain) is type(value):
        raise InvalidArgumentError(
            f"{where} is a {type(value).__module__}.{type(value).__qualname__}, which is not JSON: "
            "give text, numbers, lists, dicts, a dataclass or a msgspec struct"
        )
    return _plain(plain, where)


def _key(key: Any, where: str) -> str:
    if isinstance(key, str):
        return canonical_text(str(key))
    if key is None:
        return "null"
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int | float):
        return str(key)
    raise InvalidArgumentError(
        f"{where} has the key {key!r} of type {type(key).__qualname__}: keys must be text"
    )
