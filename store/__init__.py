"""Where it is kept: the ``Log`` protocol, LMDB, and its twin in memory."""

from refold.store.lmdb import LmdbLog
from refold.store.log import ANY, START, Appended, Batch, Cursor, Head, Log, StreamInfo
from refold.store.memory import MemoryLog
from refold.store.rebuild import rebuild
from refold.store.report import Problem, Report
from refold.store.verify import verify

__all__ = [
    "Log",
    "Batch",
    "LmdbLog",
    "MemoryLog",
    "ANY",
    "START",
    "Cursor",
    "Appended",
    "Head",
    "StreamInfo",
    "verify",
    "rebuild",
    "Report",
    "Problem",
]
