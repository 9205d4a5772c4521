"""Restoring what a log keeps beside its records: index, ends of streams, names."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from refold.events.errors import CorruptError
from refold.events.record import hash_of
from refold.store.appending import name_of
from refold.store.reading import ReadableLog
from refold.store.tables import NO_ROW, Draft, Row, View
from refold.store.unsealing import Unsealed, unseal


def rebuild(log: ReadableLog, *, accept_loss: bool = False) -> int:
    """Make index, ends and names of `log` anew from its records; returns how many there are.

    Who has claimed a stream stands in its end only. Where that is lost, the stream's epoch moves
    on, so that whoever drove it must claim it again.

    Args:
        accept_loss: go on where the ends prove that records were cut off or changed. That proof
            is gone afterwards.

    Raises:
        CorruptError: the records are damaged; nothing is changed. `verify` says where.
    """
    return log._rewrite(lambda view, draft: _rebuild(view, draft, accept_loss))


def _rebuild(view: View, draft: Draft, accept_loss: bool) -> int:
    known = _known(view)
    rows: dict[bytes, Row] = {}
    names: dict[str, bytes] = {}
    position = 0
    draft.clear_caches()
    for position, data in all_records(view):
        unsealed = unseal(data)
        stream = unsealed.header.stream
        before = rows.get(stream, NO_ROW)
        _check_follows(before, unsealed)
        row = rows[stream] = row_after(before, position, unsealed)
        draft.put_index(stream, unsealed.header.first, position)
        if row.name != before.name:
            names.pop(before.name, None)
            if row.name:
                names[row.name] = stream
    for stream in rows.keys() | known.keys():
        row, kept = rows.get(stream, NO_ROW), known.get(stream)
        if kept is not None and not accept_loss:
            _check_end(stream, row, kept)
        draft.put_row(stream, _claimed(row, kept))
    for name, stream in names.items():
        draft.put_name(name, stream)
    return position


def all_records(view: View) -> Iterator[tuple[int, bytes]]:
    """All records of a view in their order.

    Raises:
        CorruptError: one is missing.
    """
    position, end = 0, view.end()
    while position < end:
        for found, data in view.records(position, end):
            if found != position + 1:
                raise CorruptError(f"record {position + 1} of the log is missing")
            position = found
            yield position, data


def row_after(row: Row, position: int, unsealed: Unsealed) -> Row:
    """What the end of a stream becomes by one more record.

    Its epoch is the highest that a record of the stream was written under.
    """
    header, name = unsealed.header, row.name
    for event in unsealed.events:
        given = name_of(event.type, event.skeleton)
        name = name if given is None else given
    return Row(
        version=unsealed.last,
        record=header.record,
        hash=hash_of(unsealed.encoded),
        epoch=max(row.epoch, header.epoch),
        name=name,
        born=row.born or position,
        created=row.created if row.born else header.time,
        updated=header.time,
    )


def _known(view: View) -> dict[bytes, Row]:
    try:
        return dict(view.rows())
    except CorruptError:
        return {}


def _check_follows(row: Row, unsealed: Unsealed) -> None:
    header = unsealed.header
    follows = (row.record + 1, row.version + 1, row.hash)
    if (header.record, header.first, header.previous) != follows:
        raise CorruptError(
            f"record {header.record} of stream {header.stream.hex()} does not follow from the one "
            "before it: `refold verify` says what is damaged"
        )


def _check_end(stream: bytes, made: Row, kept: Row) -> None:
    if kept.version > made.version or (kept.version == made.version and kept.hash != made.hash):
        raise CorruptError(
            f"stream {stream.hex()} ended with another record at version {kept.version} once: "
            "`refold verify` says what was cut off or changed"
        )


def _claimed(row: Row, kept: Row | None) -> Row:
    """`row` with the claims that stand in the end of its stream, or behind those that are lost."""
    if kept is None:
        return replace(row, epoch=row.epoch + 1)
    return replace(row, epoch=max(row.epoch, kept.epoch), owner=kept.owner)
