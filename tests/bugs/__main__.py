"""The runner: `python -m tests.bugs DIR [--kind loop] [ID...]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.bugs.corpus import CORPUS, SOURCE, bugs, refresh
from tests.bugs.runner import run


def main(arguments: list[str] | None = None) -> int:
    """Run inputs, or refresh the copy of them; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bugs",
        description="Runs inputs that showed faults in other agents: a line for each, with the "
        "first difference, and at the end how many passed.",
    )
    parser.add_argument("folder", type=Path, nargs="?", default=CORPUS, help="of inputs")
    parser.add_argument("ids", nargs="*", help="only these faults")
    parser.add_argument("--kind", help="only inputs of this kind: loop, sse, session, scenario")
    parser.add_argument(
        "--refresh",
        type=Path,
        metavar="SOURCE",
        help=f"make tests/bugs/corpus the same as this folder (../{SOURCE.parent.name}/"
        f"{SOURCE.name}), and run nothing",
    )
    given = parser.parse_intermixed_args(arguments)
    if given.refresh is not None:
        return _refresh(given.refresh)
    return _run(given.folder, given.kind, given.ids)


def _run(folder: Path, kind: str | None, ids: list[str]) -> int:
    found = [bug for bug in bugs(folder) if kind in (None, "", bug.kind)]
    wanted = [bug for bug in found if not ids or bug.id in ids]
    missing = {*ids} - {bug.id for bug in wanted}
    if not wanted or missing:
        what = ", ".join(sorted(missing)) or (f"of kind {kind}" if kind else "")
        print(f"{folder} has no input {what}".rstrip(), file=sys.stderr)
        return 2
    failed = 0
    for bug in wanted:
        try:
            reason = run(bug)
        except Exception as error:
            reason = f"the runner raised {error!r}"
        failed += reason is not None
        print(f"{bug.id}: {'passed' if reason is None else f'failed: {reason}'}", flush=True)
    print(f"{len(wanted) - failed} passed, {failed} failed")
    return 1 if failed else 0


def _refresh(source: Path) -> int:
    if not (source / "FORMAT.md").exists():
        print(f"{source} is no corpus: it has no FORMAT.md", file=sys.stderr)
        return 2
    for name in refresh(source):
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
