"""The log on LMDB. No other package imports `lmdb`."""

from refold.store.lmdb.log import LmdbLog

__all__ = ["LmdbLog"]
