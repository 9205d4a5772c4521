"""API keys: read when they are needed, shown nowhere."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from urllib.parse import quote

from refold.actors.providers.failure import ReplyError

KeySource = str | Callable[[], str | Awaitable[str]] | None
"""A key; `$NAME` for an environment variable; a function, asked at every call; None for no key."""

MASK = "***"
_TELLING = ("auth", "key", "token", "secret", "cookie")


class Secret:
    """Where a key comes from."""

    __slots__ = ("_source",)

    def __init__(self, source: KeySource) -> None:
        self._source = source

    def __repr__(self) -> str:
        return f"<Secret {self.origin}>"

    @property
    def origin(self) -> str:
        """Where the key comes from, in words that do not give it away."""
        if self.variable:
            return f"${self.variable}"
        if self._source is None:
            return "none"
        return "given as text" if isinstance(self._source, str) else "given by a function"

    @property
    def variable(self) -> str:
        """The name of the environment variable that holds the key; empty if it is not in one."""
        source = self._source
        return source[1:] if isinstance(source, str) and source.startswith("$") else ""

    @property
    def missing(self) -> bool:
        """True if there is certainly no key now."""
        if self.variable:
            return not os.environ.get(self.variable, "").strip()
        return not self._source

    @property
    def advice(self) -> str:
        """What to do where the key is missing or wrong."""
        if self.variable:
            return f"Set {self.origin} to a valid key, or give the provider another api_key"
        return f"Give the provider a valid api_key (now: {self.origin})"

    async def read(self) -> str:
        """The key as it is now; empty if there is none.

        Raises:
            ReplyError: of kind `auth`, if it cannot be had or cannot go into a header.
        """
        source = self._source
        if self.variable:
            key = os.environ.get(self.variable, "")
        elif callable(source):
            key = await _asked(source)
        else:
            key = source or ""
        key = key.strip()  # a key read from a file brings its line's end along
        if not key.isascii() or not key.isprintable():
            # Sent on, it would come back quoted in the HTTP library's error message.
            raise ReplyError(
                "auth",
                f"the API key ({self.origin}) holds characters that cannot go into an HTTP "
                "header: give the key alone",
            )
        return key


async def _asked(source: Callable[[], str | Awaitable[str]]) -> str:
    try:
        # In a thread, for it may read a file or run a program.
        key = await asyncio.to_thread(source)
        if inspect.isawaitable(key):
            key = await key
    except Exception as error:
        # Without its message: that may hold what the function had got so far.
        raise ReplyError(
            "auth", f"the function that gives the API key raised {type(error).__name__}"
        ) from None
    if not isinstance(key, str):
        raise ReplyError(
            "auth", f"the function that gives the API key returned {type(key).__name__}, not text"
        )
    return key


def secrets_of(key: str, headers: Mapping[str, str]) -> tuple[str, ...]:
    """All that must not be shown: the key, and the values of headers that sound like one."""
    values = [key, *(v for k, v in headers.items() if any(t in k.lower() for t in _TELLING))]
    forms = {form for v in values if v for form in (v, json.dumps(v)[1:-1], quote(v, safe=""))}
    return tuple(sorted(forms, key=len, reverse=True))  # a longer one may hold a shorter one


def redacted(text: str, secrets: Iterable[str]) -> str:
    """`text` with every secret replaced by `***`."""
    for secret in secrets:
        text = text.replace(secret, MASK)
    return text
