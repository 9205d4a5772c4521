"""Errors by kind, from what servers say."""

from __future__ import annotations

from typing import Any

import pytest

from refold.actors.providers.failure import EXCERPT, error_in, excerpt, kind_of


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request"),
        (401, "auth"),
        (403, "auth"),
        (404, "invalid_request"),
        (408, "timeout"),
        (413, "context_overflow"),
        (429, "rate_limit"),
        (500, "unknown"),
        (502, "unknown"),
        (503, "overloaded"),
        (504, "timeout"),
        (529, "overloaded"),
    ],
)
def test_the_kind_of_a_status(status: int, kind: str) -> None:
    assert kind_of(status, "") == kind


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 8192 tokens, however you requested 9000",
        "context_length_exceeded",
        "the request exceeds the available context size (4096 tokens)",
        "Your input exceeds the context window of this model",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "Please reduce the length of the messages or completion",
    ],
)
def test_a_context_that_is_too_long_is_told_by_its_words(words: str) -> None:
    assert kind_of(400, words) == "context_overflow"


def test_too_many_tokens_a_minute_is_no_overflow() -> None:
    assert kind_of(429, "reduce the length of the messages or wait") == "rate_limit"


def test_an_account_without_money_is_not_a_matter_of_waiting() -> None:
    assert kind_of(429, '{"error":{"code":"insufficient_quota"}}') == "auth"


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("rate_limit_exceeded Slow down", "rate_limit"),
        ("overloaded_error", "overloaded"),
        ("authentication_error", "auth"),
        ("invalid_request_error", "invalid_request"),
        ("something else", "unknown"),
    ],
)
def test_the_kind_without_a_status_is_told_by_words(words: str, kind: str) -> None:
    assert kind_of(None, words) == kind


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        ({"error": {"message": "no", "code": 503}}, "overloaded", "no"),
        ({"error": {"message": "no", "code": "rate_limit_exceeded"}}, "rate_limit", "no"),
        ({"error": {"message": "no", "type": "overloaded_error"}}, "overloaded", "no"),
        ({"error": "no"}, "unknown", "no"),
        ([{"error": {"message": "no"}}], "unknown", "no"),
        ({"object": "error", "message": "no", "code": 401}, "auth", "no"),
        ({"detail": "no"}, "unknown", "no"),
        ({"error": {"message": "no"}, "choices": [{}]}, "unknown", "no"),
        ({"error": {"odd": 1}}, "unknown", "{'odd': 1}"),
    ],
)
def test_an_error_is_found_in_each_shape(value: Any, kind: str, message: str) -> None:
    error = error_in(value)
    assert error is not None
    assert (error.kind, error.message) == (kind, message)


@pytest.mark.parametrize(
    "value",
    [
        {"choices": [], "message": "fine"},
        {"choices": []},
        {"choices": [], "error": None},
        {"usage": {}},
        {},
        [],
        None,
        "error",
    ],
)
def test_what_holds_no_error_has_none(value: Any) -> None:
    assert error_in(value) is None


def test_an_excerpt_is_one_short_line() -> None:
    assert excerpt("<html>\n  no\n</html>") == "<html> no </html>"
    assert len(excerpt("x" * 10_000)) == EXCERPT + 2
