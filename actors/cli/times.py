"""Times as people read them: local, to the millisecond."""

from __future__ import annotations

from datetime import datetime


def local(time: int) -> datetime:
    """A time of the log (ms since 1970, UTC) on the clock of this machine."""
    return datetime.fromtimestamp(time / 1000).astimezone()


def day(time: int) -> str:
    """Such as `2026-11-30`."""
    return f"{local(time):%Y-%m-%d}"


def clock(time: int) -> str:
    """Such as `10:15:30.250`."""
    return f"{local(time):%H:%M:%S}.{time % 1000:03}"


def minute(time: int) -> str:
    """Such as `2026-11-30 10:15`."""
    return f"{local(time):%Y-%m-%d %H:%M}"


def moment(time: int) -> str:
    """Such as `2026-11-30 10:15:30.250`."""
    return f"{day(time)} {clock(time)}"
