"""Everything that refold promises, arranged like the code."""
