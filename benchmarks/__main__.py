"""All benchmarks, each in a process of its own, and a summary of their aims."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.report import Aim, arguments, machine

NAMES = tuple(sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py")))


def main() -> int:
    """Run them one after the other; the number of those that did not come to an end."""
    parser = arguments("Run refold's benchmarks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    options = parser.parse_args()
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    known = machine()
    print(", ".join(f"{name} {value}" for name, value in known.items()), flush=True)
    reports, failed = {}, []
    for name in options.names or NAMES:
        print(f"\n=== {name}", flush=True)
        begun = time.perf_counter()
        report = _run(name, options.dir, options.quick)
        print(f"({time.perf_counter() - begun:.0f} s)", flush=True)
        if report is None:
            failed.append(name)
        else:
            reports[name] = report
    print("\n=== aims")
    for name, report in reports.items():
        for aim in report["aims"]:
            doubt = ", THE DISK WAS NOT QUIET" if report["doubtful"] else ""
            print(f"{Aim(**aim)}  [{name}{doubt}]")
    for name in failed:
        print(f"FAILED  {name}: look above for what happened")
    if options.json:
        found = {"machine": known, "quick": options.quick, "reports": reports, "failed": failed}
        options.json.write_text(json.dumps(found, indent=1))
    return len(failed)


def _run(name: str, folder: Path, quick: bool) -> dict[str, Any] | None:
    """What a benchmark found, or None if it did not come to an end."""
    with tempfile.TemporaryDirectory() as place:
        found = Path(place) / "report.json"
        command = [sys.executable, "-m", f"benchmarks.{name}"]
        command += ["--json", str(found), "--dir", str(folder), *["--quick"] * quick]
        subprocess.run(command, check=False)
        report: dict[str, Any] | None = None
        if found.exists():
            report = json.loads(found.read_text())
        return report


if __name__ == "__main__":
    sys.exit(main())
