"""The driver `functions`: pure functions, of which only the check of arguments is there yet."""

from __future__ import annotations

from typing import Any

from refold import Json
from refold.actors.arguments import fitted
from refold.events.errors import ToolArgumentsError
from tests.conformance.observation import Item, Observation

FUNCTIONS = frozenset({"validateArguments"})
"""The functions that are there."""


def play(given: dict[str, Any]) -> Observation:
    """Call the functions of a scenario."""
    observation = Observation()
    for step in given["commands"]:
        op = observation.op(step["do"], "")
        op |= _validate_arguments(step)
    return observation


def _validate_arguments(step: dict[str, Any]) -> Item:
    name = step.get("tool", "t")
    try:
        arguments = fitted(name, Json.of(step["parameters"]), Json.of(step["arguments"])).value
    except ToolArgumentsError as error:
        return {
            "error": {
                "type": type(error).__name__,
                "code": "invalid_arguments",
                "message": str(error),
                "paths": list(error.paths),
            }
        }
    return {"ok": True, "result": {"arguments": arguments}}
