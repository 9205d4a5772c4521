"""Tokens and money of a model call or a tool run."""

from __future__ import annotations

import msgspec


class Cost(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """US dollars, by kind of token; zero where prices are not known."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0
    total: float = 0.0


class Usage(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Tokens as the provider counted them. `input` leaves out what came from a cache."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total: int = 0
    cost: Cost = Cost()

    @classmethod
    def of(
        cls,
        input: int = 0,
        output: int = 0,
        cache_read: int = 0,
        cache_write: int = 0,
        total: int | None = None,
        cost: Cost | None = None,
    ) -> Usage:
        """Usage whose total, where it is not given, is the sum of the four."""
        summed = input + output + cache_read + cache_write
        return cls(
            input=input,
            output=output,
            cache_read=cache_read,
            cache_write=cache_write,
            total=summed if total is None else total,
            cost=cost or Cost(),
        )


NO_USAGE = Usage()
