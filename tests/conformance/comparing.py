"""Comparing what was observed with what the scenario expects (`corpus/FORMAT.md`, section 10)."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from tests.conformance.values import ABSENT


class Difference(msgspec.Struct, frozen=True):
    """A place where expectation and observation differ. `ABSENT` stands for nothing there."""

    path: str
    expected: Any
    got: Any

    def __str__(self) -> str:
        return f"{self.path or 'top'}: expected {_short(self.expected)}, got {_short(self.got)}"


def first_difference(expected: Any, got: Any, *, at: bool = True) -> Difference | None:
    """The first difference, in the order of the expectation; None if there is none.

    Args:
        at: the fields `at` count.
    """
    return _Comparison(at).of("", _one_form(expected), _one_form(got))


def _one_form(value: Any) -> Any:
    """Both sides in one form: refold has text content of a user message as a block, always."""
    match value:
        case {"role": "user", "content": str(text), **rest}:
            return {"role": "user", "content": [{"type": "text", "text": text}], **rest}
        case dict():
            return {key: _one_form(item) for key, item in value.items()}
        case list():
            return [_one_form(item) for item in value]
    return value


class _Comparison:
    def __init__(self, at: bool) -> None:
        self._at = at

    def of(self, path: str, expected: Any, got: Any) -> Difference | None:
        match expected:
            case {"$text": _}:
                right = isinstance(got, str) and _is_such_a_text(expected, got)
                return None if right else Difference(path, expected, got)
            case {"code": str()} if path.endswith(("rror", ".cause")) and isinstance(got, dict):
                return self._of_errors(path, expected, got)
            case dict() if isinstance(got, dict):
                return self._of_objects(path, expected, got)
            case list() if isinstance(got, list):
                return self._of_lists(path, expected, got)
            case bool() | None | str():
                same = type(expected) is type(got) and expected == got
            case int() | float():
                same = not isinstance(got, bool) and expected == got
            case _:
                same = False
        return None if same else Difference(path, expected, got)

    def _of_objects(self, path: str, expected: Any, got: Any) -> Difference | None:
        for key in (*expected, *(key for key in got if key not in expected)):
            if key == "at" and not self._at:
                continue
            if key == "timestamp" and key not in expected:
                continue
            where = f"{path}.{key}" if path else key
            found = self._of_parts(where, expected.get(key, ABSENT), got.get(key, ABSENT))
            if found:
                return found
        return None

    def _of_lists(self, path: str, expected: Any, got: Any) -> Difference | None:
        for index in range(max(len(expected), len(got))):
            found = self._of_parts(
                f"{path}[{index}]",
                expected[index] if index < len(expected) else ABSENT,
                got[index] if index < len(got) else ABSENT,
            )
            if found:
                return found
        return None

    def _of_parts(self, path: str, expected: Any, got: Any) -> Difference | None:
        if expected is ABSENT or got is ABSENT:
            return Difference(path, expected, got)
        return self.of(path, expected, got)

    def _of_errors(self, path: str, expected: Any, got: Any) -> Difference | None:
        """The code is what counts; the message where the scenario wrote it, paths where both have
        them.
        """
        for key in ("code", "message"):
            if key in expected and expected[key] != got.get(key):
                return Difference(f"{path}.{key}", expected[key], got.get(key, ABSENT))
        message = got.get("message", "")
        for mention in expected.get("mentions", []):
            if mention not in message:
                return Difference(f"{path}.mentions", mention, message)
        if "paths" in expected and "paths" in got and set(expected["paths"]) != set(got["paths"]):
            return Difference(f"{path}.paths", expected["paths"], got["paths"])
        return None


def _is_such_a_text(expected: dict[str, Any], got: str) -> bool:
    if not got:
        return False
    if expected["$text"] == "summary_request":
        return _is_summary_request(expected, got)
    return all(mention in got for mention in expected.get("mentions", []))


def _is_summary_request(expected: dict[str, Any], got: str) -> bool:
    start = 0
    for part in expected.get("conversation", []):
        for text in [part["text"]] if "text" in part else part.get("mentions", []):
            found = got.find(text, start)
            if found < 0:
                return False
            start = found + len(text)
    anywhere = (expected.get(key) for key in ("previousSummary", "focus", "instructions"))
    return all(text in got for text in anywhere if isinstance(text, str))


def _short(value: Any, limit: int = 160) -> str:
    if value is ABSENT:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
