"""The models that a runtime can call."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from refold.actors.providers.provider import Provider
from refold.actors.providers.registry import full_name, resolve


class Catalog:
    """Finds providers by model names. Thread-safe.

    Args:
        providers: the user's own; the built-in ones are added when they are first asked for.
    """

    def __init__(self, providers: Sequence[Provider] = ()) -> None:
        self._lock = threading.Lock()
        self._providers = list(providers)

    def full_name(self, model: str, *, check: bool = True) -> str:
        """The name with its provider: `local` is `local/smollm2-135m-instruct`.

        Args:
            check: have the provider say now whether the model can be called.

        Raises:
            InvalidArgumentError: no such provider or model.
        """
        with self._lock:
            name = full_name(model, self._providers)
            provider = resolve(name, self._providers)
            if check:
                provider.check(name.partition("/")[2])
        return name

    def resolve(self, model: str) -> Provider:
        """The provider of a model.

        Raises:
            InvalidArgumentError: there is none of this name.
        """
        with self._lock:
            return resolve(model, self._providers)

    async def close(self) -> None:
        """Close all providers."""
        for provider in self._providers:
            await provider.close()
