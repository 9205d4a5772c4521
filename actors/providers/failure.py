"""What went wrong with a model call: the kinds of errors, and the servers' words for them."""

from __future__ import annotations

import re
from typing import Any

from refold.events.agent.messages import ErrorKind

EXCERPT = 400
"""How many characters of a server's own words are shown."""


class ReplyError(Exception):
    """A reply that failed, by kind. Never leaves the providers: it becomes a `Finish`.

    Attributes:
        retry_after: seconds that the server asks to be left alone for.
    """

    def __init__(self, kind: ErrorKind, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.message = message
        self.retry_after = retry_after


_BY_STATUS: dict[int, ErrorKind] = {
    401: "auth",
    402: "auth",
    403: "auth",
    408: "timeout",
    413: "context_overflow",
    429: "rate_limit",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}

# An account without money answers 429 as well, but waiting does not help it.
_QUOTA = re.compile(r"insufficient_quota|insufficient (credits|balance)|billing", re.IGNORECASE)

# There is no common code for this one, so it is told by the words of the servers that are known.
_OVERFLOW = re.compile(
    r"context[_ ]length[_ ]exceeded|exceed_context_size|model_context_window_exceeded"
    r"|exceeds the (available )?context (size|window)|context window exceeds"
    r"|maximum context length|greater than the context length|exceeded (max )?context length"
    r"|prompt is too long|prompt too long|input is too long|maximum prompt length"
    r"|input token count.*exceeds|reduce the length of the messages|exceeded model token limit",
    re.IGNORECASE,
)

_WORDS: tuple[tuple[str, ErrorKind], ...] = (
    (r"rate.?limit|too many requests", "rate_limit"),
    (r"overloaded|unavailable|at capacity", "overloaded"),
    (r"authentication|api.?key|unauthorized|permission|forbidden", "auth"),
    (r"timed? ?out", "timeout"),
    (r"invalid_request|not_found|bad.?request", "invalid_request"),
)


def kind_of(status: int | None, words: str) -> ErrorKind:
    """The kind of an error, from its HTTP status (None where there is none) and its words.

    A server's fault that says no more (500, 502) is `unknown`; see `refusal`.
    """
    if _QUOTA.search(words):
        return "auth"
    if status != 429 and _OVERFLOW.search(words):
        return "context_overflow"
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status is not None:
        return "invalid_request" if status < 500 else "unknown"
    for pattern, kind in _WORDS:
        if re.search(pattern, words, re.IGNORECASE):
            return kind
    return "unknown"


def error_in(value: Any) -> ReplyError | None:
    """The error that a server's JSON holds, or None if it holds none.

    Shapes met: `{"error": {"message", "type", "code"}}`, `{"error": "text"}`, the same in a list,
    `{"object": "error", "message"}` and `{"detail": …}`.
    """
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return None
    error = value.get("error")
    if not error and ("choices" in value or "usage" in value):
        return None
    if not error:
        error = value if "message" in value else value.get("detail")
    if not error:
        return None
    fields: dict[str, Any] = error if isinstance(error, dict) else {"message": error}
    message = fields.get("message") or fields.get("detail") or fields
    code = fields.get("code") or fields.get("status")
    words = f"{code} {fields.get('type')} {message}"
    return ReplyError(kind_of(_status(code), words), excerpt(str(message)))


def _status(code: Any) -> int | None:
    try:
        status = int(code)
    except (TypeError, ValueError):
        return None
    return status if 400 <= status < 600 else None


def excerpt(text: str) -> str:
    """The beginning of a text, on one line."""
    text = " ".join(text[: 4 * EXCERPT].split())
    return text if len(text) <= EXCERPT else text[:EXCERPT] + " …"
