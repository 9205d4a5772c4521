"""Sessions that several threads drive by chance, and what must hold of them whatever happens.

A seed decides every choice that is made here; `REFOLD_SEED` sets it. When threads meet is for the
machine to say, so a seed that failed may have to be tried more than once.
"""
