"""Scripted replies out of JSON files: `--script FILE`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from refold.actors.cli.failures import FailedError
from refold.actors.providers.scripted import Scripted
from refold.events.errors import InvalidArgumentError


def load_script(path: Path) -> Scripted:
    """The model that a file describes: a list of replies, or an object with `replies` and `delay`.

    Raises:
        FailedError: it cannot be read, or is no script; the message says where.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FailedError(f"cannot read the script {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FailedError(f"the script {path} is not UTF-8: {error.reason}") from error
    except json.JSONDecodeError as error:
        where = f"{path}, line {error.lineno}, column {error.colno}"
        raise FailedError(f"{where}: the script is not JSON: {error.msg}") from error
    except RecursionError as error:
        raise FailedError(f"the script {path} is nested too deeply") from error
    replies, delay = _parts(data, path)
    try:
        return Scripted(replies, delay=delay)
    except InvalidArgumentError as error:
        raise FailedError(f"the script {path}: {error}") from error


def _parts(data: Any, path: Path) -> tuple[list[Any], float]:
    delay: Any = 0.0
    if isinstance(data, dict):
        unknown = sorted(set(data) - {"replies", "delay"})
        if unknown:
            raise FailedError(
                f"the script {path} has the unknown field {unknown[0]!r}: the fields are replies "
                "(a list) and delay (seconds before each part)"
            )
        data, delay = data.get("replies"), data.get("delay", 0.0)
    if not isinstance(data, list):
        raise FailedError(f"the script {path} is no list of replies, nor an object that has one")
    if isinstance(delay, bool) or not isinstance(delay, int | float) or delay < 0:
        raise FailedError(f"the script {path}: delay is {delay!r}: give seconds")
    return data, float(delay)
