"""sdist and wheel hold what they should, once, and the wheel runs where nothing else is."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import refold

pytestmark = [
    pytest.mark.packaging,
    pytest.mark.timeout(600),  # the wheel's dependencies come from the package index
]

ROOT = Path(__file__).parent.parent.parent
LAYERS = ("actors", "events", "store")
SHELL = {"refold/__init__.py", "refold/__main__.py", "refold/py.typed"}


def run(*command: str | Path, cwd: Path) -> str:
    """What a command prints; its errors are the test's."""
    # In a folder of its own, so that the checkout is not importable by accident.
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command} failed\n{done.stdout}\n{done.stderr}"
    return done.stdout


def sources(layer: str) -> set[str]:
    """The files of a layer, by their path from the root."""
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / layer).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist, and the wheel that was built from it, as a release does."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT, cwd=out)
    [sdist] = out.glob("*.tar.gz")
    [wheel] = out.glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="module")
def bin_of_fresh_environment(
    distributions: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The programs of a new environment in which the wheel was installed, and nothing else."""
    _, wheel = distributions
    home = tmp_path_factory.mktemp("fresh")
    venv.create(home / "venv", with_pip=True)
    programs = home / "venv" / "bin"
    run(programs / "python", "-m", "pip", "install", "--quiet", wheel, cwd=home)
    return programs


def test_the_wheel_has_the_layers_below_refold(distributions: tuple[Path, Path]) -> None:
    _, wheel = distributions
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()

    assert len(names) == len(set(names))
    info = f"refold-{refold.__version__}.dist-info/"
    expected = SHELL | {f"refold/{name}" for layer in LAYERS for name in sources(layer)}
    assert {name for name in names if not name.startswith(info)} == expected
    assert f"{info}licenses/LICENSE" in names


def test_the_sdist_has_the_real_folders_and_no_file_twice(
    distributions: tuple[Path, Path],
) -> None:
    sdist, _ = distributions
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()

    assert [member.name for member in members if not member.isfile()] == []
    top = f"refold-{refold.__version__}/"
    names = [member.name.removeprefix(top) for member in members]
    assert len(names) == len(set(names))
    assert {name for name in names if name.startswith("refold/")} == SHELL
    for layer in LAYERS:
        assert {name for name in names if name.startswith(f"{layer}/")} == sources(layer)
    assert {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml"} <= set(names)


def test_the_installed_package_can_be_imported(bin_of_fresh_environment: Path) -> None:
    python = bin_of_fresh_environment / "python"
    code = "import refold, refold.events; print(refold.__version__, refold.events.__file__)"
    version, place = run(python, "-c", code, cwd=bin_of_fresh_environment).split()
    assert version == refold.__version__
    assert Path(place).is_relative_to(bin_of_fresh_environment.parent)


@pytest.mark.parametrize("command", [["refold"], ["python", "-m", "refold"]])
def test_the_installed_command_says_its_version(
    bin_of_fresh_environment: Path, command: list[str]
) -> None:
    program, *arguments = command
    said = run(bin_of_fresh_environment / program, *arguments, "--version", cwd=Path("/"))
    assert said.split()[-1] == refold.__version__
