"""Programs for type checkers, which nobody runs: the public API as its users see it."""
