"""Faults that people met in other agents, each with an input that shows it, from public reports.

`corpus/` is a copy of the inputs that can be run by now, and `corpus/FORMAT.md` says how to read
one. `python -m tests.bugs DIR` runs any folder of that format, as far as a machine can check it.
What an input states in words is a test of its own beside this file.
"""
