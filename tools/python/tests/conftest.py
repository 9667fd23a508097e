"""Fixtures: a path for a database, an open database, and texts."""

from __future__ import annotations

import random
import string
from pathlib import Path
from typing import Iterator

import pytest

import simdb

_chosen = random.Random(1)
WORDS = ["".join(_chosen.choices(string.ascii_lowercase, k=_chosen.randint(4, 9))) for _ in range(3000)]


def sentences(count: int, seed: int = 1) -> list[str]:
    """Different texts of 15 words."""
    chosen = random.Random(seed)
    return [" ".join(chosen.choices(WORDS, k=15)) for _ in range(count)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "docs.simdb"


@pytest.fixture
def db(path: Path) -> Iterator[simdb.Database]:
    """An empty database that keeps texts and finds similar texts."""
    with simdb.open(path, "c", similar=True) as database:
        yield database
