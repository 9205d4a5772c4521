"""Failures below the reply: what HTTP, the network and the clock say."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite

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
    if status == 404 and told is None:
        message += f". Nothing answers at {response.request.url}: is base_url right?"
    kind = kind_of(status, text)
    if kind == "unknown" and status >= 500:
        kind = "overloaded"  # it cannot now, whatever the reason: later it may
    return ReplyError(kind, message, _wait(response.headers))


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


def _wait(headers: httpx.Headers) -> float | None:
    """The seconds of a `Retry-After`, which gives them, or a date."""
    given = headers.get("retry-after", "").strip()
    try:
        seconds = float(given)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(given) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError):  # no date; or one without a zone
            return None
    return max(seconds, 0.0) if isfinite(seconds) else None


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
