"""What the model is told about a call that did not run."""

from __future__ import annotations

from typing import Final

OUTCOME_TEXTS: Final = {
    "unknown": "There is no tool named {name}.",
    "blocked": "The call of {name} was not allowed.",
    "cut_off": (
        "The call of {name} was not run: the reply reached its length limit, so the arguments may "
        "be incomplete."
    ),
    "aborted": "The call of {name} was not run: the run was aborted.",
    "interrupted": (
        "The run of {name} was interrupted when the program stopped; whether it took effect is "
        "not known."
    ),
    "unanswered": "The call of {name} was not run.",
}
