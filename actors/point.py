"""Points in a session's past, in one grammar everywhere.

412                    the state after the 412th event
-3                     three events before the end
end                    the last event
turn:7                 the end of the seventh turn
call:12                the twelfth model call, as it went out
2026-11-30T10:15       the last event at or before this time (local time unless it has a zone)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime

from refold.events.errors import InvalidPointError
from refold.events.record import Recorded

Point = int | str
Events = Callable[[], Iterator[Recorded]]

_MARKS = {"turn": "turn_end", "call": "model_called"}


def version_at(point: Point, last: int, events: Events) -> int:
    """The version that a point names in a session of `last` events.

    Args:
        events: the session's events from the first, for points that must be looked for.

    Raises:
        InvalidPointError: there is no such point; the message names the valid range.
    """
    text = str(point).strip()
    if text == "end":
        return last
    if re.fullmatch(r"[+-]?\d+", text):
        version = int(text)
        version = version if version >= 0 else last + version
        if not 0 <= version <= last:
            raise InvalidPointError(f"there is no event {text}: the session has 0 to {last}")
        return version
    if found := re.fullmatch(r"(turn|call):(\d+)", text):
        return _nth(found[1], int(found[2]), events)
    try:
        moment = datetime.fromisoformat(text).astimezone()
    except ValueError:
        raise InvalidPointError(
            f"{text!r} is no point: give a version (0 to {last}), -N, end, turn:N, call:N, or a "
            "time such as 2026-11-30T10:15"
        ) from None
    return _at_time(moment, events)


def _nth(kind: str, number: int, events: Events) -> int:
    seen = 0
    for recorded in events():
        if recorded.event.type == _MARKS[kind]:
            seen += 1
            if seen == number:
                return recorded.version
    there = f"1 to {seen}" if seen else "none yet"
    raise InvalidPointError(f"there is no {kind} {number}: the session has {there}")


def _at_time(moment: datetime, events: Events) -> int:
    wanted, version, first = moment.timestamp() * 1000, 0, None
    for recorded in events():
        first = recorded.time if first is None else first
        if recorded.time > wanted:
            break
        version = recorded.version
    if version == 0 and first is not None:
        begun = datetime.fromtimestamp(first / 1000).astimezone().isoformat(timespec="seconds")
        raise InvalidPointError(f"{moment.isoformat()} is before the session began, at {begun}")
    return version
