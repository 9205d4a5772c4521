"""The borders that import-linter cannot see; its own contracts stand in pyproject.toml."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = ("actors", "store", "events")
OTHERS = ("tests", "benchmarks", "demo")

# What reaches outside, or differs from process to process, without an import.
IMPURE_BUILTINS = {"open", "print", "input", "id", "breakpoint", "__import__"}


def python_files(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


def bare_layer_imports(source: str) -> Iterator[str]:
    """Imports of a layer by the name of its folder, as ``line: name``."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=aliases):
                names = [alias.name for alias in aliases]
            case ast.ImportFrom(module=str(module), level=0):
                names = [module]
            case _:
                continue
        for name in names:
            if name.partition(".")[0] in LAYERS:
                yield f"{node.lineno}: {name}"


def impure_calls(source: str) -> Iterator[str]:
    """Calls of impure builtins, as ``line: name``."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in IMPURE_BUILTINS:
                yield f"{node.lineno}: {name}"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import events", ["1: events"]),
        ("import sys, store.log as log", ["1: store.log"]),
        ("def f():\n    from actors.journal import Journal", ["2: actors.journal"]),
        ("from refold.events import fold\nimport refold.store", []),
        ("import eventsourcing", []),
    ],
)
def test_a_bare_import_is_seen_anywhere_in_a_file(source: str, found: list[str]) -> None:
    assert list(bare_layer_imports(source)) == found


def test_nobody_imports_a_layer_by_its_bare_name() -> None:
    # A user's program may have a package `events` of its own, and a module known by two names
    # is two modules, whose classes are not each other's.
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in [*python_files(*LAYERS, *OTHERS), *(ROOT / "refold").glob("*.py")]
        for line in bare_layer_imports(path.read_text())
    ]
    assert found == []


def test_an_impure_builtin_is_seen() -> None:
    assert list(impure_calls("x = 1\nprint(x)\nself.open(x)")) == ["2: print"]


def test_events_reaches_outside_by_no_builtin() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in python_files("events")
        for line in impure_calls(path.read_text())
    ]
    assert found == []


@pytest.mark.parametrize("layer", LAYERS)
def test_every_folder_of_a_layer_is_a_package(layer: str) -> None:
    # import-linter passes over a folder without __init__.py, with all that is in it.
    folders = {path.parent for path in python_files(layer)}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


@pytest.mark.parametrize("layer", LAYERS)
def test_the_import_name_is_a_link_to_the_layer(layer: str) -> None:
    link = ROOT / "refold" / layer
    assert link.is_symlink()
    assert link.readlink() == Path("..", layer)
