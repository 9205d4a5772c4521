"""The conformance runner: `python -m tests.conformance DIR [NAME...]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.conformance.corpus import CORPUS, SOURCE, Scenario, refresh, scenarios
from tests.conformance.runner import run


def main(arguments: list[str] | None = None) -> int:
    """Run scenarios, or refresh the copy of them; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance",
        description="Runs recorded scenarios through refold: a line for each, with the first "
        "difference, and at the end how many passed.",
    )
    parser.add_argument("folder", type=Path, nargs="?", default=CORPUS, help="of scenarios")
    parser.add_argument("names", nargs="*", help="only these scenarios")
    parser.add_argument(
        "--refresh",
        type=Path,
        metavar="SOURCE",
        help=f"make tests/conformance/corpus the same as this folder (../{SOURCE.parent.name}/"
        f"{SOURCE.name}), and run nothing",
    )
    given = parser.parse_args(arguments)
    if given.refresh is not None:
        return _refresh(given.refresh)
    return _run(given.folder, given.names)


def _run(folder: Path, names: list[str]) -> int:
    found = scenarios(folder)
    wanted = [each for each in found if not names or {each.name, _full_name(each)} & {*names}]
    missing = {*names}.difference(*({each.name, _full_name(each)} for each in wanted))
    if not wanted or missing:
        print(f"{folder} has no scenario {', '.join(sorted(missing))}".rstrip(), file=sys.stderr)
        return 2
    failed = 0
    for scenario in wanted:
        reason = run(scenario)
        failed += reason is not None
        result = "passed" if reason is None else f"failed: {reason}"
        print(f"{_full_name(scenario)}: {result}", flush=True)
    print(f"{len(wanted) - failed} passed, {failed} failed")
    return 1 if failed else 0


def _full_name(scenario: Scenario) -> str:
    return f"{scenario.layer}/{scenario.name}"


def _refresh(source: Path) -> int:
    if not (source / "FORMAT.md").exists():
        print(f"{source} is no corpus: it has no FORMAT.md", file=sys.stderr)
        return 2
    for name in refresh(source):
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
