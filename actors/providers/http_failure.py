"""Failures below the reply: what HTTP, the network and the clock say."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from math import inf

import httpx
import msgspec

from refold.actors.providers.failure import ReplyError, error_in, excerpt, kind_of

BODY_LIMIT = 64 * 1024
"""How many bytes of an error's body are read."""


async def refusal(response: httpx.Response) -> ReplyError:
    """The error behind a status other than 200, with the server's words where it has some."""
    status = response.status_code
    if 300 <= status < 400:
        to = response.headers.get("location", "an address that it does not name")
        return ReplyError(
            "invalid_request", f"HTTP {status}: the server redirects to {to}. Set base_url to it"
        )
    text = await _text(response)
    try:
        told = error_in(msgspec.json.decode(text))
    except (msgspec.DecodeError, RecursionError):
        told = None
    words = told.message if told else excerpt(text)
    message = f"HTTP {status}" + (f": {words}" if words else "")
    if response.headers.get("retry-after"):
        message += f" (retry after: {response.headers['retry-after']})"
    if status == 404 and told is None:
        message += f". Nothing answers at {response.request.url}: is base_url right?"
    return ReplyError(kind_of(status, text), message, retry_after(response.headers))


def retry_after(headers: httpx.Headers) -> float | None:
    """The seconds that a server asks to be left alone for; None if it does not say.

    `Retry-After` holds seconds or a date, which is looked at by the server's own clock.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if 0 <= seconds < inf:
            return seconds
    try:
        until = parsedate_to_datetime(headers["retry-after"])
        since = parsedate_to_datetime(headers["date"])
        return max(0.0, (until - since).total_seconds())
    except (KeyError, ValueError, TypeError):  # TypeError: one of them is without a zone
        return None


async def _text(response: httpx.Response) -> str:
    body = bytearray()
    try:
        async for data in response.aiter_bytes():
            body += data
            if len(body) >= BODY_LIMIT:
                break
    except httpx.TransportError:
        pass  # the status is known, and what came of the body is enough
    return body[:BODY_LIMIT].decode("utf-8", "replace")


def no_answer(error: httpx.TransportError, url: str, timeout: float) -> ReplyError:
    """The error behind a call that got no answer, or none in time."""
    if isinstance(error, httpx.ConnectTimeout):
        return ReplyError("timeout", f"{url} could not be reached in time")
    if isinstance(error, httpx.TimeoutException):
        return ReplyError("timeout", f"{url} sent nothing for {timeout:g} s")
    why = str(error) or type(error).__name__
    if isinstance(error, httpx.ConnectError):
        return ReplyError("network", f"cannot reach {url}: {why}. Is the server running?")
    return ReplyError("network", f"the connection to {url} broke: {why}")


def broken_off(error: httpx.TransportError) -> ReplyError:
    """The error behind a reply whose connection broke."""
    why = str(error) or type(error).__name__
    return ReplyError("network", f"the reply is cut off: the connection broke ({why})")
