"""The log on LMDB: a folder, conventionally named `runs.refold`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Literal, Self, TypeVar

from refold.events.errors import ClosedError, InvalidArgumentError, LogAccessError
from refold.store.lmdb.batch import LmdbBatch
from refold.store.lmdb.environment import Environment
from refold.store.lmdb.follow import wait_for_commit
from refold.store.lmdb.handle import MAP_SIZE
from refold.store.lmdb.registry import give_back, share
from refold.store.reading import ReadableLog
from refold.store.tables import Draft, View

T = TypeVar("T")

Durability = Literal["durable", "relaxed"]
"""`durable`: what was acknowledged survives power loss. `relaxed`: it survives a crash of the
process; after power loss the log is whole, but may lack its last moments."""


class LmdbLog(ReadableLog):
    """A log in a folder. See `refold.store.log.Log`; made by `LmdbLog.open`."""

    def __init__(self, path: str, environment: Environment, readonly: bool) -> None:
        self._path = path
        self._environment = environment
        self._readonly = readonly
        self._closed = False
        self._batch: LmdbBatch | None = None

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "durable",
        create: bool = True,
        readonly: bool = False,
        map_size: int = MAP_SIZE,
    ) -> Self:
        """Open the log at `path`.

        Logs of a process on the same folder share what they must, also its strongest durability.

        Args:
            create: make one if there is none; its folder must be absent or empty.
            readonly: for looking only, while others write; needs no right to write.
            map_size: address space to begin with, in bytes. Less is taken where the system
                refuses, and more when it is full.

        Raises:
            NotALogError: there is something else, or nothing.
            NewerFormatError: a later release made it.
            LogAccessError: the operating system refused; nothing was left half made.
        """
        if durability not in ("durable", "relaxed"):
            raise InvalidArgumentError(
                f"durability is {durability!r}: it can be 'durable' or 'relaxed'"
            )
        place = os.path.abspath(os.fspath(path))
        environment = share(
            place,
            create=create and not readonly,
            writable=not readonly,
            durable=durability == "durable",
            map_size=map_size,
        )
        return cls(place, environment, readonly)

    @property
    def path(self) -> str:
        """The folder it stands in, absolute."""
        return self._path

    @property
    def key(self) -> bytes:
        """See `refold.store.log.Log.key`."""
        return self._environment.key

    def batch(self) -> LmdbBatch:
        """See `refold.store.log.Log.batch`."""
        self._check_open()
        if self._readonly:
            raise LogAccessError(
                f"the log {self._path} was opened for looking only: open it without `readonly`"
            )
        self._batch = LmdbBatch(self._environment, self._check_open)
        return self._batch

    def close(self) -> None:
        """See `refold.store.log.Log.close`."""
        if not self._closed:
            self._closed = True
            if self._batch is not None and self._batch.is_mine():
                self._batch.abort()
            with self._environment.changed:
                self._environment.changed.notify_all()
            give_back(self._environment)

    def _look(self, question: Callable[[View], T]) -> T:
        self._check_open()
        return self._environment.look(question)

    def _rewrite(self, work: Callable[[View, Draft], T]) -> T:
        with self.batch() as batch:
            return batch.rewrite(work)

    def _tick(self) -> int:
        self._check_open()
        return self._environment.tick()

    def _wait(self, tick: int, deadline: float | None) -> bool:
        return wait_for_commit(self._environment, tick, deadline, self._check_open)

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError(f"the log {self._path} is closed: open it again")

    def __repr__(self) -> str:
        return f"LmdbLog({self._path!r})"
