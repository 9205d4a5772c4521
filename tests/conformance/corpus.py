"""Folders of scenarios: the copy beside this file, and any other."""

from __future__ import annotations

import filecmp
import json
import shutil
from pathlib import Path
from typing import Any

import msgspec

from tests.conformance.values import expanded

CORPUS = Path(__file__).parent / "corpus"
"""The copy that the tests run."""

SOURCE = Path(__file__).parents[3] / "shared" / "conformance"
"""Where the copy came from, if that lies beside the checkout."""


class Scenario(msgspec.Struct, frozen=True):
    """One scenario, its long strings written out. Names are unique within a layer."""

    layer: str
    name: str
    given: dict[str, Any]
    expect: dict[str, Any]


def scenarios(folder: Path) -> list[Scenario]:
    """All scenarios of a folder and the folders in it, by their paths."""
    return [read(path) for path in sorted(folder.rglob("*.json"))]


def read(path: Path) -> Scenario:
    """The scenario of a file."""
    told = json.loads(path.read_text(encoding="utf-8"))
    return Scenario(told["layer"], told["name"], expanded(told["input"]), expanded(told["expect"]))


def differing(source: Path, copy: Path = CORPUS) -> list[str]:
    """The files, by their paths, that are not the same on both sides."""
    return sorted(
        str(name) for name in _files(source) | _files(copy) if not _same(source / name, copy / name)
    )


def refresh(source: Path, copy: Path = CORPUS) -> list[str]:
    """Make the copy what the source is; the files that changed."""
    changed = differing(source, copy)
    for name in changed:
        if (source / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, copy / name)
        else:
            (copy / name).unlink()
    return changed


def _files(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}


def _same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and filecmp.cmp(one, other, shallow=False)
