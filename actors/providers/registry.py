"""Which provider a model's name means."""

from __future__ import annotations

from collections.abc import Callable, MutableSequence, Sequence

from refold.actors.providers.provider import Provider
from refold.events.errors import InvalidArgumentError


def _local() -> Provider:
    from refold.actors.providers.local import Local

    return Local()


def _openai() -> Provider:
    from refold.actors.providers.openai_chat import OpenAIChat

    return OpenAIChat()


BUILT_IN: dict[str, Callable[[], Provider]] = {"local": _local, "openai": _openai}
"""Providers that need no setting up, by name. One of the caller's own goes before."""

_ADD = "others are added with refold.open(..., providers=[refold.OpenAIChat('NAME', 'URL')])"


def full_name(model: str, providers: MutableSequence[Provider]) -> str:
    """A model's name as `provider/model`: a provider's name alone means its default model.

    Args:
        providers: as for `resolve`.

    Raises:
        InvalidArgumentError: nothing is called so.
    """
    word, slash, rest = model.strip().partition("/")
    if word and rest:
        return f"{word}/{rest}"
    if slash or not _known(word, providers):
        raise InvalidArgumentError(
            f"there is no model {model!r}: models are named PROVIDER/MODEL, and the providers are "
            f"{_names(providers)}; {_ADD}"
        )
    default = getattr(resolve(f"{word}/", providers), "default_model", "")
    if not default:
        raise InvalidArgumentError(
            f"{word} has more than one model: write {word}/MODEL, with the name that it knows it by"
        )
    return f"{word}/{default}"


def resolve(model: str, providers: MutableSequence[Provider]) -> Provider:
    """The provider of a model.

    Args:
        model: its name with the provider's, as `full_name` gives it.
        providers: those there are; a built-in one is added when it is first asked for.

    Raises:
        InvalidArgumentError: there is no such provider.
    """
    name = model.partition("/")[0]
    for provider in providers:
        if provider.name == name:
            return provider
    if name not in BUILT_IN:
        raise InvalidArgumentError(
            f"there is no provider {name!r} for the model {model!r}: the providers are "
            f"{_names(providers)}; {_ADD}"
        )
    provider = BUILT_IN[name]()
    providers.append(provider)
    return provider


def _known(name: str, providers: Sequence[Provider]) -> bool:
    return name in BUILT_IN or any(provider.name == name for provider in providers)


def _names(providers: Sequence[Provider]) -> str:
    return ", ".join(sorted({*BUILT_IN, *(provider.name for provider in providers)}))
