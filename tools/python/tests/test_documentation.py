"""The examples of the README, of the guide and of the docstrings."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import simdb
import simdb.compat
import simdb.corpus

ROOT = Path(__file__).parents[3]
PAGES = ("tools/python/README.md", "src/guide/from_other_packages.md")
EXAMPLES = {
    f"{page}, {number}": example
    for page in PAGES
    for number, example in enumerate(
        re.findall(
            r"^```python\n(.*?)^```",
            (ROOT / page).read_text(encoding="utf-8"),
            re.MULTILINE | re.DOTALL,
        )
    )
}


PEERS = ("datasketch", "faiss", "rensa")
"""Packages that the guide compares with. Their examples run where they are installed."""


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_of_a_page_runs(name: str, tmp_path: Path) -> None:
    """Each example is a program of its own."""
    for peer in PEERS:
        if re.search(rf"^(import|from) {peer}\b", EXAMPLES[name], re.MULTILINE):
            pytest.importorskip(peer)
    shutil.copy(ROOT / "tests/data/quotes_and_news.jsonl", tmp_path / "corpus.jsonl")
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    ended = subprocess.run(
        [sys.executable, "-W", "error::SyntaxWarning", "-c", EXAMPLES[name]],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert ended.returncode == 0, ended.stderr
    # A comment behind print says what it prints.
    shown = re.findall(r"^ *print\(.*\) +# (.*)$", EXAMPLES[name], re.MULTILINE)
    if shown:
        assert ended.stdout.splitlines() == shown


def test_pages_have_examples() -> None:
    assert len(EXAMPLES) >= 12


@pytest.mark.parametrize("module", [simdb, simdb.compat, simdb.corpus])
def test_examples_of_docstrings(module: object) -> None:
    found = doctest.testmod(module)  # type: ignore[arg-type]
    assert found.attempted > 0 and found.failed == 0
