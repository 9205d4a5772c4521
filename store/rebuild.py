"""Restoring what a log keeps beside its records: index, ends of streams, names."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from refold.events.errors import CorruptError
from refold.events.record import hash_of
from refold.store.appending import name_of
from refold.store.reading import ReadableLog, Unsealed, unseal
from refold.store.tables import NO_ROW, Draft, Row, View


def rebuild(log: ReadableLog) -> int:
    """Make index, ends and names of `log` anew from its records; returns how many there are.

    Who has claimed a stream stands in its end only. Where that is lost, the stream's epoch moves
    on, so that whoever drove it must claim it again.

    Raises:
        CorruptError: a record cannot be read; nothing is changed. `verify` says which.
    """
    return log._rewrite(_rebuild)


def _rebuild(view: View, draft: Draft) -> int:
    known = dict(view.rows())
    rows: dict[bytes, Row] = {}
    names: dict[str, bytes] = {}
    position = 0
    draft.clear_caches()
    for position, data in all_records(view):
        unsealed = unseal(data)
        stream = unsealed.header.stream
        before = rows.get(stream, NO_ROW)
        row = rows[stream] = row_after(before, position, unsealed)
        draft.put_index(stream, unsealed.header.first, position)
        if row.name != before.name:
            names.pop(before.name, None)
            if row.name:
                names[row.name] = stream
    for stream, row in rows.items():
        draft.put_row(stream, _claimed(row, known.get(stream)))
    for stream in known.keys() - rows.keys():
        if known[stream].epoch:
            draft.put_row(stream, Row(epoch=known[stream].epoch, owner=known[stream].owner))
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
        page = view.records(position, end)
        for found, data in page:
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


def _claimed(row: Row, known: Row | None) -> Row:
    """`row` with the claims that stand in the end of its stream, or behind those that are lost."""
    if known is None:
        return replace(row, epoch=row.epoch + 1)
    return replace(row, epoch=max(row.epoch, known.epoch), owner=known.owner)
