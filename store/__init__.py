"""Where it is kept: the ``Log`` protocol, LMDB, and its twin in memory."""

from refold.store.lmdb import LmdbLog
from refold.store.log import ANY, START, Appended, Batch, Cursor, Head, Log, StreamInfo
from refold.store.memory import MemoryLog

__all__ = [
    "ANY",
    "START",
    "Appended",
    "Batch",
    "Cursor",
    "Head",
    "LmdbLog",
    "Log",
    "MemoryLog",
    "StreamInfo",
]
