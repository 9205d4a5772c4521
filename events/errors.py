"""One tree of errors, split by who is to blame.

``CallerError``  the call was wrong: change the call.
``LogError``     what the log says: someone else wrote, or the file is not what it should be.
``OutsideError`` what the outside did: a model, a tool, a hook.
``BugError``     what refold did wrong.

Every message says what failed, with which value, why, and the next thing to do.
"""

from __future__ import annotations


class RefoldError(Exception):
    """The base of every error that refold raises."""


class CallerError(RefoldError):
    """The call was wrong; nothing was written."""


class InvalidArgumentError(CallerError):
    """A value that cannot be used, named in the message."""


class BusyError(CallerError):
    """A run is active, and this call would start another one."""


class QueueFullError(CallerError):
    """So many messages wait in the session's queues that it takes no more."""


class NothingToContinueError(CallerError):
    """`continue` has no message to answer: there is none, or the last one is an answer already."""


class UnknownSessionError(CallerError):
    """No session has this name."""


class LaggedError(CallerError):
    """A watcher fell too far behind, and was cut off.

    Attributes:
        version: of the last event it got; it goes on behind that.
    """

    def __init__(self, message: str, version: int) -> None:
        super().__init__(message)
        self.version = version


class InvalidPointError(CallerError):
    """A point in a session's past that does not exist; the message names the valid range."""


class ClosedError(CallerError):
    """The runtime, or the log behind a state, has been closed."""


class LogError(RefoldError):
    """The log refused, or is not what it should be."""


class ConflictError(LogError):
    """The stream has moved on: somebody else appended first.

    Attributes:
        actual: the version the stream is really at.
    """

    def __init__(self, message: str, actual: int) -> None:
        super().__init__(message)
        self.actual = actual


class FencedError(LogError):
    """A newer owner has claimed the stream; this one may no longer drive it."""


class CorruptError(LogError):
    """A record, body or blob is not what its hash says, or is missing."""


class NotALogError(LogError):
    """The path exists and is not a refold log."""


class NewerFormatError(LogError):
    """Written by a later release of refold, in a format this one does not know."""


class LogAccessError(LogError):
    """The operating system refused: no rights, no room, a read-only file system."""


class UnknownEventError(LogError):
    """The stream holds a critical event that this release does not know: look, but do not run."""


class OutsideError(RefoldError):
    """Something outside refold failed: a model, a tool or a hook."""


class ModelError(OutsideError):
    """A model call failed.

    Attributes:
        kind: one of `auth`, `rate_limit`, `overloaded`, `context_overflow`, `invalid_request`,
            `network`, `timeout`, `protocol`, `aborted`, `unknown`.
    """

    def __init__(self, message: str, kind: str = "unknown") -> None:
        super().__init__(message)
        self.kind = kind


class ToolError(OutsideError):
    """A tool failed; the message is what the model is told."""


class ToolArgumentsError(ToolError):
    """The model's arguments do not fit the tool's schema.

    Attributes:
        paths: dotted paths of the places that do not fit; `""` is the top.
    """

    def __init__(self, message: str, paths: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.paths = paths


class BugError(RefoldError):
    """Refold broke its own rules."""

    def __init__(self, message: str) -> None:
        super().__init__(
            f"{message}. This is a bug in refold: please report it with the output of "
            "`refold verify` and, if you can share it, the log"
        )
