"""Batches of changes, and the removal of old documents."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Callable, Union

import pytest

import simdb
from conftest import sentences

TEXTS = sentences(60)


def change(target: Union[simdb.Database, simdb.WriteBatch], chosen: random.Random) -> Any:
    """Makes a random change. Ids and texts are few, so that every outcome occurs."""
    id, text = chosen.randrange(40), chosen.choice(TEXTS)
    kind = chosen.randrange(6)
    if kind == 0:
        return target.insert(id, text)
    if kind == 1:
        return target.upsert(id, text)
    if kind == 2:
        return target.insert_unique(id, text.upper(), chosen.randrange(4))
    if kind == 3:
        return target.insert_unless_similar(id, text + ". A zeppelin lands", decision="alike")
    if kind == 4:
        return target.insert_unless_similar(id, text + ". A zeppelin lands", replace=True)
    return target.remove(id)


def test_batches_give_the_outcomes_of_single_changes(path: Path) -> None:
    other = path.with_name("other.simdb")
    with simdb.open(path, "c", similar=True) as single, simdb.open(other, "c", similar=True) as db:
        one, many = random.Random(1), random.Random(1)
        kinds = set()
        for count in (0, 1, 2, 7, 50, 300):
            expected = [change(single, one) for _ in range(count)]
            with db.write_batch() as batch:
                assert batch
                for index in range(count):
                    assert change(batch, many) is None
                    assert len(batch) == index + 1 and batch.outcomes == []
            assert batch.outcomes == expected and len(batch) == 0
            assert list(db.documents()) == list(single.documents())
            kinds |= {outcome.kind for outcome in expected}
    assert kinds >= {"inserted", "exists", "replaced", "duplicate", "similar", "supersedes", "missing"}


def test_exception_in_a_batch_discards_it(db: simdb.Database) -> None:
    db.insert(1, TEXTS[1])
    with pytest.raises(RuntimeError, match="of the user"):
        with db.write_batch() as batch:
            batch.remove(1)
            batch.insert(2, TEXTS[2])
            raise RuntimeError("of the user")
    assert list(db) == [1] and len(batch) == 0 and batch.outcomes == []
    with batch:
        batch.insert(3, TEXTS[3])
    assert list(db) == [1, 3] and len(batch.outcomes) == 1
    with pytest.raises(RuntimeError, match="of the user"), batch:
        raise RuntimeError("of the user")
    assert batch.outcomes == []
    batch.insert(4, TEXTS[4])
    batch.__exit__()
    assert list(db) == [1, 3, 4] and len(batch.outcomes) == 1


def test_batch_with_a_refused_change_changes_nothing(path: Path) -> None:
    cases: list[tuple[Callable[[simdb.WriteBatch], None], str]] = [
        (lambda batch: batch.insert_unique(2, TEXTS[2], 65), "there is no radius 65"),
        (lambda batch: batch.insert_unless_similar(2, TEXTS[2]), "keeps no texts"),
    ]
    with simdb.open(path, "c") as db:
        for refused, message in cases:
            with pytest.raises(simdb.InvalidArgumentError, match=message):
                with db.write_batch() as batch:
                    batch.insert(1, TEXTS[1])
                    refused(batch)
            assert len(db) == 0 and batch.outcomes == []
            # The changes are there for another try, or to be discarded.
            assert len(batch) == 2
        with pytest.raises(simdb.InvalidArgumentError, match="no decision 'maybe'"):
            batch.insert_unless_similar(2, TEXTS[2], decision="maybe")  # type: ignore[arg-type]
    with simdb.open(path) as reader:
        with pytest.raises(simdb.ReadOnlyError):
            with reader.write_batch() as batch:
                batch.insert(1, TEXTS[1])


def test_batches_of_many_threads_are_each_whole(db: simdb.Database) -> None:
    def write(thread: int) -> list[simdb.Outcome]:
        with db.write_batch() as batch:
            for text in TEXTS:
                batch.insert_unique(1000 * thread + len(batch), text)
        return batch.outcomes

    with ThreadPoolExecutor(4) as pool:
        written = list(pool.map(write, range(8)))
    # The batch that is decided first stores all its texts, and the others none.
    counts = sorted(sum(outcome.inserted for outcome in outcomes) for outcomes in written)
    assert counts == [0] * 7 + [len(TEXTS)]


def test_pruned_documents_are_gone(path: Path) -> None:
    start = datetime(2024, 1, 1, tzinfo=timezone.utc)
    with simdb.open(path, "c", retention=timedelta(days=30)) as db:
        with db.write_batch() as batch:
            for day, text in enumerate(TEXTS[:10]):
                batch.insert(day, text, arrival=start + timedelta(days=day))
        assert db.prune(start + timedelta(days=4)) == 4
        assert list(db) == list(range(4, 10))
        assert db.prune(int((start + timedelta(days=5)).timestamp() * 1000)) == 1
    with simdb.open(path.with_name("other.simdb"), "c") as db:
        with pytest.raises(simdb.InvalidArgumentError, match="keeps no arrival times"):
            db.prune(start)
