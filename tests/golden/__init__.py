"""Logs as released versions wrote them: they must be read, verified and executed again for ever."""
