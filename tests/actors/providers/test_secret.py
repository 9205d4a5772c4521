"""Keys are read at the call and shown nowhere."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from refold.actors.providers.failure import ReplyError
from refold.actors.providers.secret import Secret, redacted, secrets_of
from tests.actors.providers.replies import run

KEY = "sk-very/secret+key"


def test_a_variable_is_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = Secret("$A_KEY")
    monkeypatch.setenv("A_KEY", "one")
    assert run(secret.read()) == "one"
    monkeypatch.setenv("A_KEY", "two\n")
    assert run(secret.read()) == "two"
    monkeypatch.delenv("A_KEY")
    assert run(secret.read()) == ""


async def later() -> str:
    await asyncio.sleep(0)
    return KEY


@pytest.mark.parametrize("source", [KEY, lambda: KEY, later])
def test_each_kind_of_source_gives_the_key(source: Any) -> None:
    assert run(Secret(source).read()) == KEY


@pytest.mark.parametrize("source", [KEY, lambda: KEY, "$A_KEY"])
def test_no_source_shows_the_key(source: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    secret = Secret(source)
    assert KEY not in f"{secret!r} {secret} {secret.origin} {secret.advice}"


@pytest.mark.parametrize(
    ("source", "missing"),
    [(None, True), ("", True), ("$A_KEY", True), (KEY, False), (lambda: "", False)],
)
def test_a_key_is_missing_if_there_certainly_is_none(
    source: Any, missing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("A_KEY", raising=False)
    assert Secret(source).missing is missing


def raising() -> str:
    raise RuntimeError(f"half of it was {KEY}")


@pytest.mark.parametrize("source", [f"{KEY}\nX: y", f"{KEY}\N{SNOWMAN}", raising, lambda: 3])
def test_a_key_that_cannot_be_used_is_an_error_without_the_key(source: Any) -> None:
    with pytest.raises(ReplyError) as refused:
        run(Secret(source).read())
    assert refused.value.kind == "auth"
    assert "secret" not in refused.value.message
    assert refused.value.__cause__ is None


def test_all_forms_of_a_secret_are_taken_out() -> None:
    secrets = secrets_of(KEY, {"X-Api-Key": "other-secret", "Accept": "text/plain"})
    told = f"{KEY}, Bearer {KEY}, sk-very%2Fsecret%2Bkey, other-secret, text/plain"
    assert redacted(told, secrets) == "***, Bearer ***, ***, ***, text/plain"


def test_without_a_secret_nothing_is_taken_out() -> None:
    assert redacted("as it is", secrets_of("", {})) == "as it is"
