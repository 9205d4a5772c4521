"""What must hold after every test that drove a session, whatever the test was about.

Every engine that a test makes is watched, however it was made. When its log is closed (and at the
end of the test at the latest) all its streams are executed again from their recorded inputs, and
each decision is compared with the recorded one. And at every boundary the effects that a state
owes must have been those under way.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from refold.actors.engine import Engine, Options
from refold.events.agent.agent import AGENT
from refold.events.errors import ClosedError
from refold.events.fold import reexecute
from refold.store import LmdbLog, MemoryLog
from refold.store.log import Log


class Soundness:
    """Watches the engines of one test.

    Attributes:
        differences: what did not hold, in words.
    """

    def __init__(self) -> None:
        self.differences: list[str] = []
        self._engines: list[Engine] = []
        self._excused: set[bytes] = set()

    def excuse(self, stream: bytes) -> None:
        """This stream holds what no session would write: the test put it there."""
        self._excused.add(stream)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch all engines that are made meanwhile; those left open are closed at the end."""
        with pytest.MonkeyPatch.context() as patch:
            self._watch_engines(patch)
            for kind in (MemoryLog, LmdbLog):
                self._watch_closing(patch, kind)
            try:
                yield
            finally:
                for engine in self._engines:
                    engine.close()

    def _watch_engines(self, patch: pytest.MonkeyPatch) -> None:
        begin = Engine.__init__

        def watched(engine: Engine, *args: Any, **given: Any) -> None:
            options: Options = given.get("options") or Options()
            given["options"] = replace(options, audit=self._audit(options))
            begin(engine, *args, **given)
            self._engines.append(engine)

        patch.setattr(Engine, "__init__", watched)

    def _audit(self, options: Options) -> Any:
        def audit(difference: str) -> None:
            self.differences.append(f"the audit: {difference}")
            if options.audit is not None:
                options.audit(difference)

        return audit

    def _watch_closing(self, patch: pytest.MonkeyPatch, kind: Any) -> None:
        close = kind.close

        def watched(log: Log) -> None:
            for engine in self._engines:
                if engine.log is log:
                    self._examine(engine)
            close(log)

        patch.setattr(kind, "close", watched)

    def _examine(self, engine: Engine) -> None:
        try:
            streams = [info.stream for info in engine.log.streams()]
        except ClosedError:
            return  # examined before
        for stream in streams:
            if stream in self._excused:
                continue
            behaviour = engine._behaviours.get(stream, AGENT)
            decode = behaviour.codec.decode
            recorded = engine.log.read(stream, bodies=False)
            different = reexecute(behaviour, (decode(read.event) for read in recorded))
            if different is not None:
                self.differences.append(f"executed again, {different}")
