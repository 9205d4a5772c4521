"""Which environments this process has open, and what a fork does to them."""

from __future__ import annotations

import os
from threading import RLock

from refold.store.lmdb.environment import Environment
from refold.store.lmdb.files import identity

_lock = RLock()
_open: dict[tuple[int, int], Environment] = {}


def share(path: str, writable: bool, durable: bool, map_size: int) -> Environment:
    """The environment of the log at `path`: the one that is open already, or a new one."""
    with _lock:
        key = identity(path)
        environment = _open.get(key)
        if environment is None:
            environment = _open[key] = Environment(path, writable, durable, map_size)
        else:
            environment.strengthen(writable, durable)
        environment.users += 1
        return environment


def give_back(environment: Environment) -> None:
    """One user less; the last one closes it."""
    with _lock:
        environment.users -= 1
        if environment.users == 0:
            for key in [key for key, shared in _open.items() if shared is environment]:
                del _open[key]
            environment.close()


_quiet: dict[int, bool] = {}


def _before_fork() -> None:
    _lock.acquire()
    for environment in _open.values():
        _quiet[id(environment)] = environment.before_fork()


def _after_fork_in_parent() -> None:
    for environment in _open.values():
        if _quiet.pop(id(environment), False):
            environment.after_fork_in_parent()
    _lock.release()


def _after_fork_in_child() -> None:
    # Locked by this very thread, just before.
    for environment in _open.values():
        environment.after_fork_in_child(_quiet.pop(id(environment), False))
    _lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
