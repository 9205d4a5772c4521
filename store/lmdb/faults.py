"""What LMDB and the operating system say, in the words of refold's errors."""

from __future__ import annotations

import errno
import os

import lmdb

from refold.events.errors import BugError, CorruptError, LogAccessError, NotALogError, RefoldError

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
NO_RIGHTS = {errno.EACCES, errno.EPERM}
NO_ADDRESS_SPACE = {errno.ENOMEM, errno.EINVAL, errno.EFBIG, errno.EOVERFLOW}
"""What a system answers that refuses a map of this size."""

_DAMAGED = (
    lmdb.CorruptedError,
    lmdb.PageNotFoundError,
    lmdb.InvalidError,
    lmdb.IncompatibleError,
    lmdb.BadDbiError,
)


def code_of(error: Exception) -> int:
    """The `errno` behind an error, 0 if there is none."""
    if isinstance(error, OSError):
        return error.errno or 0
    code = getattr(error, "code", None)
    if isinstance(code, int):
        return code
    # Before release 3, lmdb's errors have their number in words only.
    text = str(error)
    return next((code for code in errno.errorcode if text.endswith(os.strerror(code))), 0)


def translated(error: Exception, path: str, doing: str) -> RefoldError:
    """The error to raise for `error`.

    Args:
        path: of the log.
        doing: what failed, in the form "append to the log".
    """
    if isinstance(error, RefoldError):
        return error
    code = code_of(error)
    what = f"cannot {doing} {path}: "
    if code in NO_ROOM:
        return LogAccessError(
            f"{what}{os.strerror(code)}. Nothing of it was written, and all that was acknowledged "
            f"is there. Make room (`df -h {path}` shows how much there is) and try again"
        )
    if code == errno.EIO:
        # LMDB's answer to a write of which only a part fitted, too.
        return LogAccessError(
            f"{what}the disk is full, or it fails. Nothing of it was written, and all that was "
            f"acknowledged is there. See which it is with `df -h {path}` and `dmesg`"
        )
    if code in NO_RIGHTS:
        return LogAccessError(
            f"{what}{os.strerror(code)}. Give this user rights to the folder and its files "
            f"(`ls -la {path}` shows them), or open the log for looking only"
        )
    if code == errno.EROFS:
        return LogAccessError(
            f"{what}the file system is read-only. Choose another place, or open the log for "
            "looking only"
        )
    if code == errno.ENOENT:
        return LogAccessError(
            f"{what}the folder it should stand in does not exist: "
            f"`mkdir -p {os.path.dirname(os.path.abspath(path))}` makes it"
        )
    if isinstance(error, lmdb.VersionMismatchError):
        return NotALogError(f"{what}it is an LMDB file of another version ({error})")
    if isinstance(error, _DAMAGED):
        return CorruptError(
            f"{what}the file is damaged ({error}). `refold verify` says what can still be read"
        )
    if isinstance(error, lmdb.ReadersFullError):
        return LogAccessError(
            f"{what}too many readers at the same time. Close some of the programs that read it"
        )
    if code == errno.ENOMEM:
        return LogAccessError(
            f"{what}the system refuses the address space for its map. Raise the limit of the "
            "process (`ulimit -v`)"
        )
    if isinstance(error, lmdb.Error) and code > 0:
        return LogAccessError(f"{what}{os.strerror(code)} (error {code} of the system)")
    return BugError(f"{what}{type(error).__name__}: {str(error).rstrip('.')}")
