"""Which provider a model's name means."""

from __future__ import annotations

import pytest

from refold.actors.providers.local import Local
from refold.actors.providers.openai_chat import OpenAIChat
from refold.actors.providers.provider import Provider
from refold.actors.providers.registry import full_name, resolve
from refold.actors.providers.scripted import Scripted
from refold.events.errors import InvalidArgumentError


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("local", "local/smollm2-135m-instruct"),
        ("local/smollm2-135m-instruct", "local/smollm2-135m-instruct"),
        (" openai/gpt-x ", "openai/gpt-x"),
        ("openai/org/model", "openai/org/model"),
        ("scripted", "scripted/script"),
        ("never-heard-of/x", "never-heard-of/x"),
    ],
)
def test_full_names(model: str, name: str) -> None:
    assert full_name(model, [Scripted()]) == name


@pytest.mark.parametrize("model", ["", "gpt-x", "local/", "/x", "/"])
def test_what_names_no_model_is_refused_with_what_there_is(model: str) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        full_name(model, [Scripted(name="mine")])
    assert "local, mine, openai" in str(refused.value)
    assert "providers=" in str(refused.value)


def test_a_provider_without_a_default_model_asks_for_one() -> None:
    with pytest.raises(InvalidArgumentError, match="openai/MODEL"):
        full_name("openai", [])


def test_built_in_providers_are_made_once_when_they_are_first_asked_for() -> None:
    providers: list[Provider] = []
    local = resolve("local/smollm2-135m-instruct", providers)
    assert isinstance(local, Local)
    assert resolve("local/smollm2-135m-instruct", providers) is local
    openai = resolve("openai/gpt-x", providers)
    assert isinstance(openai, OpenAIChat)
    assert providers == [local, openai]


def test_a_provider_of_the_callers_goes_before_a_built_in_one() -> None:
    mine = Scripted(name="openai")
    assert resolve("openai/gpt-x", [mine]) is mine


def test_an_unknown_provider_is_refused_with_what_there_is() -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        resolve("nowhere/x", [Scripted(name="mine")])
    assert "'nowhere'" in str(refused.value)
    assert "local, mine, openai" in str(refused.value)
    assert "providers=" in str(refused.value)
