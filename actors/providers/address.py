"""The address of a server."""

from __future__ import annotations

import httpx

from refold.events.errors import InvalidArgumentError


def checked_url(url: str) -> str:
    """A base address, without its last slash.

    Raises:
        InvalidArgumentError: it is none, or holds what must not be shown wherever it is.
    """
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        parsed = httpx.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise InvalidArgumentError(
            f"base_url is {url!r}: give an address such as https://api.example.com/v1"
        )
    if parsed.userinfo or parsed.query or parsed.fragment:
        raise InvalidArgumentError(
            f"base_url of {parsed.host} holds more than an address: give keys as api_key"
        )
    return url.rstrip("/")
