"""The README and the docs: every example is run, and what is generated is fresh.

`python -m tests.docs.generate` (`make docs`) writes the generated parts anew.
"""
