"""Recorded scenarios of the peer that fixes behaviour (pi 0.82.0), run through the public API and
the real actors.

`corpus/` is a copy of the scenarios, and `corpus/FORMAT.md` says how to read one. `python -m
tests.conformance DIR` runs any folder of that format.
"""
