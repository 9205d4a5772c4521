"""Tools out of Python files: `--tool FILE:NAME`."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from refold.actors.cli.failures import FailedError
from refold.actors.tool import Tool
from refold.events.errors import InvalidArgumentError


def load_tools(given: Iterable[str]) -> tuple[Tool, ...]:
    """The tools named by `FILE:NAME`, or all tools of a `FILE`; each file is run once.

    Raises:
        FailedError: one cannot be had; the message says which, and why.
    """
    files: dict[Path, ModuleType] = {}
    found: dict[str, Tool] = {}
    for word in given:
        path, name = _parts(word)
        if path not in files:
            files[path] = _run(path)
        for tool in _tools(files[path], path, name):
            if found.setdefault(tool.name, tool) is not tool:
                raise FailedError(f"two tools have the name {tool.name!r}: rename one")
    return tuple(found.values())


def _parts(word: str) -> tuple[Path, str]:
    file, colon, name = word.rpartition(":")
    if not colon or name.endswith(".py"):
        file, name = word, ""
    path = Path(file).absolute()
    if not path.is_file():
        raise FailedError(
            f"there is no file {file}: give --tool FILE:NAME, a Python file and a function in it"
        )
    return path, name


def _run(path: Path) -> ModuleType:
    """Run a file as a module; modules beside it can be imported, as when it is run by itself."""
    name = f"refold_tools_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise FailedError(f"{path} is not a Python file: its name must end with .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # annotations are looked up there
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise FailedError(f"{error.filename}, line {error.lineno}: {error.msg}") from error
    except InvalidArgumentError as error:  # a tool that cannot be one
        raise FailedError(f"{_place(path, error)}: {error}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also what a file says by sys.exit()
        raise FailedError(f"{_place(path, error)}: {type(error).__name__}: {error}") from error
    return module


def _place(path: Path, error: BaseException) -> str:
    """The last line of the file that led to the error."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{path}, line {line}" if line else str(path)


def _tools(module: ModuleType, path: Path, name: str) -> list[Tool]:
    if not name:
        tools = [value for value in vars(module).values() if isinstance(value, Tool)]
        if not tools:
            raise FailedError(
                f"{path} has no tools: decorate functions with @refold.tool, or name one, "
                f"--tool {path.name}:NAME"
            )
        return tools
    value = getattr(module, name, None)
    if isinstance(value, Tool):
        return [value]
    if callable(value) and not isinstance(value, type):
        return [_made(value, path, name)]
    names = [key for key, item in vars(module).items() if callable(item) and key[:1] != "_"]
    near = get_close_matches(name, names, n=1)
    hint = f": did you mean {near[0]!r}?" if near else ""
    if value is not None:
        hint = f", and a tool is a function, not a {type(value).__name__}"
        raise FailedError(f"{path} has {name!r}{hint}")
    raise FailedError(f"{path} has no function {name!r}{hint}")


def _made(function: Any, path: Path, name: str) -> Tool:
    try:
        return Tool(function)
    except InvalidArgumentError as error:
        raise FailedError(f"{path}:{name}: {error}") from error
