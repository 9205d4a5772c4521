"""Arguments of tool calls between a model's own text and the form that is kept."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from refold.events.canonical import Json, canonical

INVALID = "invalid_arguments"
"""Under this key a model sees its own text again where that was not JSON."""


def sound_arguments(raw: str) -> str:
    """What to keep in place of a model's argument text; empty if the text can be kept as it is.

    No text means no arguments. What is not JSON is kept as a JSON string, so that what is kept is
    JSON always; a schema then refuses it, and the model is told. What is JSON but not in canonical
    form (NaN, lone surrogates, integers beyond 64 bits) is brought into it.
    """
    if raw.strip() in ("", "null"):
        return "{}"
    try:
        value = msgspec.json.decode(raw)
        if canonical(value) == value:
            return ""
    except (msgspec.DecodeError, UnicodeEncodeError):
        value = _leniently(raw)
    except RecursionError:  # nested a thousand deep
        value = raw
    return Json.of(value).text


def _leniently(raw: str) -> Any:
    try:
        return json.loads(raw)  # takes NaN and lone surrogates
    except (ValueError, RecursionError):
        return raw


def arguments_object(arguments: Json) -> str:
    """Kept arguments as the JSON text of an object, which is what servers take back.

    Some parse what they are sent, and answer every later request of a conversation with an error
    if it is not an object.
    """
    text = arguments.text
    if text.startswith("{"):
        try:
            msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        except msgspec.DecodeError:
            return _wrapped(text)
        return text
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        value = text
    return _wrapped(value)


def _wrapped(value: Any) -> str:
    return Json.of({INVALID: value}).text
