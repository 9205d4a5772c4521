"""The hub of watchers, where whoever watches may be thrown away at any moment."""

from __future__ import annotations

import threading
from typing import Any

from refold.actors.hub import Hub, Published
from tests.support.looking import in_time

STREAM = bytes(16)


def published(first: int) -> Published:
    return Published(STREAM, first, 0, (), ())


def test_a_watcher_gets_what_is_published_until_it_ends_that() -> None:
    hub, got = Hub(), []
    end = hub.watch(STREAM, got.append)
    hub.publish(STREAM, published(1))
    end()
    hub.publish(STREAM, published(2))
    assert got == [published(1)]


def test_ending_twice_ends_no_other_watch() -> None:
    hub, got = Hub(), []
    end = hub.watch(STREAM, lambda _: None)
    hub.watch(STREAM, got.append)
    end()
    end()
    hub.publish(STREAM, published(1))
    assert got == [published(1)]


def test_a_watch_that_is_thrown_away_within_another_one_does_not_block(
    monkeypatch: Any,
) -> None:
    """As the garbage collector may do it: anywhere, also where this thread holds the lock."""
    hub, got = Hub(), []
    ends = [hub.watch(STREAM, got.append)]

    class Collecting(dict[bytes, Any]):
        def get(self, *given: Any) -> Any:
            if hub._lock.locked() and ends:
                ends.pop()()
            return super().get(*given)

    monkeypatch.setattr(hub, "_watchers", Collecting(hub._watchers))
    in_time(hub.watch, STREAM, lambda _: None)
    hub.publish(STREAM, published(1))
    assert got == []


def test_watches_of_many_threads_come_and_go() -> None:
    hub = Hub()

    def come_and_go() -> None:
        for _ in range(500):
            hub.watch(STREAM, lambda _: None)()

    threads = [threading.Thread(target=come_and_go, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        in_time(thread.join)
    assert hub._watchers == {}
