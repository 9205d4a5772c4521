"""Folders of inputs: the copy beside this file, and any other."""

from __future__ import annotations

import filecmp
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

CORPUS = Path(__file__).parent / "corpus"
"""The copy that the tests run."""

SOURCE = Path(__file__).parents[3] / "shared" / "bugs"
"""Where the copy came from, if that lies beside the checkout."""

COPIED = frozenset({"sse", "loop"})
"""The kinds of inputs that are copied: those that can be run."""


class Bug(msgspec.Struct, frozen=True):
    """A fault, with the folder that holds its inputs."""

    id: str
    kind: str
    folder: Path
    cases: tuple[dict[str, Any], ...]

    def script(self, case: dict[str, Any]) -> dict[str, Any]:
        """What a case of kind `loop` does."""
        told: dict[str, Any] = json.loads((self.folder / case["script"]).read_text("utf-8"))
        return told


def bugs(folder: Path) -> list[Bug]:
    """All faults of a folder and the folders in it, by their paths."""
    return [read(path.parent) for path in sorted(folder.rglob("expected.json"))]


def read(folder: Path) -> Bug:
    """The fault of a folder. What its cases have in common stands in each of them."""
    told = json.loads((folder / "expected.json").read_text("utf-8"))
    common = {key: told[key] for key in ("provider",) if key in told}
    cases = tuple({**common, **case} for case in told.get("cases", ()))
    return Bug(told["id"], told["kind"], folder, cases)


def differing(source: Path, copy: Path = CORPUS) -> list[str]:
    """The files, by their paths, that are not the same on both sides."""
    names = {*_copied(source), *_files(copy)}
    return sorted(str(name) for name in names if not _same(source / name, copy / name))


def refresh(source: Path, copy: Path = CORPUS) -> list[str]:
    """Make the copy what the source is; the files that changed."""
    changed = differing(source, copy)
    wanted = {str(name) for name in _copied(source)}
    for name in changed:
        if name in wanted:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, copy / name)
        else:
            (copy / name).unlink()
    return changed


def _copied(source: Path) -> Iterator[Path]:
    for path in source.iterdir():
        if path.is_file():
            yield path.relative_to(source)
    for bug in bugs(source):
        if bug.kind in COPIED:
            yield from (path.relative_to(source) for path in bug.folder.iterdir())


def _files(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}


def _same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and filecmp.cmp(one, other, shallow=False)
