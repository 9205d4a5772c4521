"""The comparison finds what differs, and lets through only what the format says."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.comparing import first_difference

pytestmark = pytest.mark.conformance


def difference(expected: Any, got: Any) -> str | None:
    found = first_difference(expected, got)
    return None if found is None else found.path


@pytest.mark.parametrize(
    ("expected", "got", "path"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "a.b"),
        ({"a": 1}, {}, "a"),
        ({}, {"a": None}, "a"),
        ({"a": None}, {}, "a"),
        ({"a": [1, 2]}, {"a": [2, 1]}, "a[0]"),
        ({"a": [1]}, {"a": [1, 2]}, "a[1]"),
        ({"a": [1, 2]}, {"a": [1]}, "a[1]"),
        ({"a": 1}, {"a": True}, "a"),
        ({"a": False}, {"a": 0}, "a"),
        ({"a": "1"}, {"a": 1}, "a"),
        ({"at": 1}, {"at": 2}, "at"),
        ({"timestamp": 1}, {"timestamp": 2}, "timestamp"),
    ],
)
def test_what_differs_is_found(expected: Any, got: Any, path: str) -> None:
    assert difference(expected, got) == path


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": {}}, {"a": {"timestamp": 1}}),
        (
            {"role": "user", "content": "x"},
            {"role": "user", "content": [{"type": "text", "text": "x"}]},
        ),
    ],
)
def test_what_the_format_lets_through_is_no_difference(expected: Any, got: Any) -> None:
    assert difference(expected, got) is None


def test_a_wording_matches_any_text_that_mentions_what_it_should() -> None:
    wording = {"text": {"$text": "tool_not_found", "mentions": ["nope"]}}
    assert difference(wording, {"text": "There is no tool named nope."}) is None
    assert difference(wording, {"text": "There is no such tool."}) == "text"
    assert difference({"text": {"$text": "tool_aborted"}}, {"text": ""}) == "text"


def test_a_summary_request_holds_its_conversation_in_order() -> None:
    parts = [{"part": "user", "text": "one"}, {"part": "assistant", "mentions": ["two", "three"]}]
    wording = {"$text": "summary_request", "kind": "history", "conversation": parts, "focus": "F"}
    assert difference(wording, "F: one, then two, then three") is None
    assert difference(wording, "F: two, then three, then one") == ""
    assert difference(wording, "one, then two, then three") == ""


def test_of_an_error_the_code_counts_and_the_paths_are_a_set() -> None:
    error = {"error": {"type": "Error", "code": "c", "mentions": ["v"], "paths": ["a", "b"]}}
    got = {"type": "Other", "code": "c", "message": "v", "paths": ["b", "a"]}
    assert difference(error, {"error": got}) is None
    assert difference(error, {"error": got | {"code": "d"}}) == "error.code"
    assert difference(error, {"error": got | {"message": "w"}}) == "error.mentions"
    assert difference(error, {"error": got | {"paths": ["a"]}}) == "error.paths"
    assert difference({"error": {"code": "c", "message": "m"}}, {"error": got}) == "error.message"
    assert difference(error, {"ok": True}) == "error"


def test_without_at_only_the_order_between_lists_is_free() -> None:
    assert first_difference([{"at": 1}], [{"at": 2}], at=False) is None
    assert first_difference([{"at": 1}], [{"at": 1}, {"at": 1}], at=False) is not None
