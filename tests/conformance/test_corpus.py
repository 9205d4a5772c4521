"""The copy of the scenarios is what it was copied from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.corpus import CORPUS, SOURCE, differing, refresh, scenarios

pytestmark = pytest.mark.conformance


def test_the_copy_is_whole() -> None:
    listed = [line.split("\t")[:2] for line in (CORPUS / "INDEX.tsv").read_text().splitlines()[1:]]
    found = [[scenario.name, scenario.layer] for scenario in scenarios(CORPUS)]
    assert sorted(listed) == sorted(found)


@pytest.mark.skipif(not SOURCE.is_dir(), reason="the source is not beside this checkout")
def test_the_copy_is_the_same_as_its_source() -> None:
    changed = differing(SOURCE)
    assert not changed, (
        f"{', '.join(changed)} differ from ../shared/conformance; if that is right: "
        "python -m tests.conformance --refresh ../shared/conformance"
    )


def test_refreshing_copies_what_changed_and_removes_what_is_gone(tmp_path: Path) -> None:
    source, copy = tmp_path / "source", tmp_path / "copy"
    for folder, names in ((source, "ab"), (copy, "bc")):
        folder.mkdir()
        for name in names:
            (folder / name).write_text(f"{folder.name} {name}")
    assert refresh(source, copy) == ["a", "b", "c"]
    assert differing(source, copy) == []
    assert sorted(path.name for path in copy.iterdir()) == ["a", "b"]
