"""Which environments this process has open, and what a fork does to them."""

from __future__ import annotations

import os
from threading import RLock

from refold.store.lmdb.environment import Environment
from refold.store.lmdb.files import check_place, create_log, identity

# Always taken last: nobody waits for a batch to end while holding it.
_lock = RLock()
_open: dict[tuple[int, int] | None, Environment] = {}


def share(path: str, *, create: bool, writable: bool, durable: bool, map_size: int) -> Environment:
    """The environment of the log at `path`: the one that is open already, or a new one.

    Args:
        create: make a log if there is none.

    Raises:
        NotALogError, NewerFormatError, LogAccessError: see `LmdbLog.open`.
    """
    with _lock:
        environment = _open.get(identity(path))
        if environment is None:
            if not check_place(path, create):
                create_log(path)
            environment = Environment(path, writable, durable, map_size)
            _open[identity(path)] = environment
        environment.users += 1
    try:
        environment.strengthen(writable, durable)
    except BaseException:
        give_back(environment)
        raise
    return environment


def give_back(environment: Environment) -> None:
    """One user less; the last one closes it, when the last transaction of any thread is over."""
    with _lock:
        environment.users -= 1
        if environment.users:
            return
    with environment.alone(), _lock:
        if environment.users == 0:
            for key in [key for key, shared in _open.items() if shared is environment]:
                del _open[key]
            environment.close_handle()


_quiet: dict[int, bool] = {}


def _before_fork() -> None:
    for environment in list(_open.values()):
        _quiet[id(environment)] = environment.before_fork()
    _lock.acquire()


def _after_fork_in_parent() -> None:
    _lock.release()
    for environment in list(_open.values()):
        if _quiet.pop(id(environment), False):
            environment.after_fork_in_parent()


def _after_fork_in_child() -> None:
    # The lock belongs to this very thread, as it did in the parent.
    _lock.release()
    for environment in _open.values():
        environment.after_fork_in_child(_quiet.pop(id(environment), False))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
