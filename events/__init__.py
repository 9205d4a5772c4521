"""The pure core: what can happen, and what it means. No clock, no ids, no I/O, no threads."""
