"""The examples of the README and of the docstrings."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import simdb
import simdb.compat
import simdb.corpus

README = Path(__file__).parents[1] / "README.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)


PEERS = ("datasketch", "faiss", "rensa")
"""Packages that the README compares with. Their examples run where they are installed."""


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example_of_the_readme_runs(number: int, tmp_path: Path) -> None:
    """Each example is a program of its own."""
    for peer in PEERS:
        if re.search(rf"^(import|from) {peer}\b", EXAMPLES[number], re.MULTILINE):
            pytest.importorskip(peer)
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    ended = subprocess.run(
        [sys.executable, "-W", "error::SyntaxWarning", "-c", EXAMPLES[number]],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert ended.returncode == 0, ended.stderr
    # A comment behind print says what it prints.
    shown = re.findall(r"^print\(.*\) +# (.*)$", EXAMPLES[number], re.MULTILINE)
    if shown:
        assert ended.stdout.splitlines() == shown


def test_readme_has_examples() -> None:
    assert len(EXAMPLES) >= 8


@pytest.mark.parametrize("module", [simdb, simdb.compat, simdb.corpus])
def test_examples_of_docstrings(module: object) -> None:
    found = doctest.testmod(module)  # type: ignore[arg-type]
    assert found.attempted > 0 and found.failed == 0
