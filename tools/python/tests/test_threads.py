"""Threads: one database, many callers, and the interpreter lock."""

from __future__ import annotations

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import simdb
from conftest import sentences

TEXTS = sentences(400)


def test_of_equal_texts_of_many_threads_one_is_stored(db: simdb.Database) -> None:
    def insert(id: int) -> str:
        return db.insert_unique(id, TEXTS[id % 100]).kind

    with ThreadPoolExecutor(8) as pool:
        kinds = list(pool.map(insert, range(400)))
    assert kinds.count("inserted") == 100 and kinds.count("duplicate") == 300
    assert sorted(document.text or "" for document in db.documents()) == sorted(TEXTS[:100])


def test_readers_and_writers_share_a_database(db: simdb.Database) -> None:
    def write(thread: int) -> None:
        for index in range(50):
            assert db.insert(1000 * thread + index, TEXTS[50 * thread + index]).inserted

    def read(_thread: int) -> None:
        for text in TEXTS[:50]:
            assert len(db.within(text)) <= 1
            assert len(list(db)) <= 200

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(4)))
        list(pool.map(read, range(4)))
    assert len(db) == 200


def test_other_threads_run_while_the_library_works(path: Path) -> None:
    """The interpreter lock is released: a thread of Python counts during a long operation."""
    bits = np.random.default_rng(1).integers(0, 2**64, 300_000, dtype=np.uint64)
    simdb.bulk_load(path, zip(range(len(bits)), bits), fingerprints="bits")
    started, ended = threading.Event(), threading.Event()
    count = 0

    def count_up() -> None:
        nonlocal count
        started.set()
        while not ended.is_set():
            count += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count_up, daemon=True)
    counter.start()
    started.wait()
    long_texts = [text * 20 for text in TEXTS] * 10
    with simdb.open(path) as db:
        for operation in (lambda: db.pairs(7), lambda: simdb.frames(long_texts)):
            before = count
            begun = time.monotonic()
            operation()
            elapsed = time.monotonic() - begun
            # A thread that had to wait for the lock would count once or twice.
            assert count - before >= 5 and count - before >= elapsed / 0.05
    ended.set()
    counter.join()


def test_close_waits_for_queries_of_other_threads(path: Path) -> None:
    with simdb.open(path, "c") as db:
        db.bulk_load(enumerate(TEXTS))
        stop = threading.Event()
        answered = []

        def query() -> None:
            while not stop.is_set():
                try:
                    answered.append(len(db.within(TEXTS[0])))
                except simdb.ClosedError:
                    return

        threads = [threading.Thread(target=query) for _ in range(4)]
        for thread in threads:
            thread.start()
        while len(answered) < 20:
            time.sleep(0.001)
        db.close()
        stop.set()
        for thread in threads:
            thread.join()
    assert set(answered) == {1}
    with simdb.open(path, "w") as again:
        assert len(again) == len(TEXTS)


def test_exception_of_a_block_is_raised_if_the_close_fails(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, ended = threading.Event(), threading.Event()
    unraised: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda found: unraised.append(str(found.exc_value)))

    def wait(*_report: object) -> None:
        started.set()
        ended.wait()

    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(RuntimeError, match="of the user"):
            with simdb.open(path, "c") as db:
                db.bulk_load(enumerate(TEXTS))
                query = pool.submit(db.pairs, progress=wait)
                started.wait()
                raise RuntimeError("of the user")
        with pytest.raises(simdb.ClosedError):
            len(db)
        ended.set()
        assert query.result().num_rows == 0
    assert len(unraised) == 1 and "docs.simdb are held (1)" in unraised[0]
    db.close()
    with simdb.open(path, "w") as again:
        assert len(again) == len(TEXTS)


def test_iterator_shared_by_threads_yields_each_document_once(db: simdb.Database) -> None:
    db.bulk_load(enumerate(TEXTS))
    documents = db.documents()
    with ThreadPoolExecutor(4) as pool:
        parts = pool.map(lambda _: [document.id for document in documents], range(4))
    assert sorted(id for part in parts for id in part) == list(range(len(TEXTS)))


def test_array_that_changes_during_a_batch_is_harmless(path: Path) -> None:
    bits = np.arange(50_000, dtype=np.uint64) << np.uint64(20)
    simdb.bulk_load(path, zip(range(len(bits)), bits), fingerprints="bits")
    queries = bits.copy()
    with simdb.open(path) as db, ThreadPoolExecutor(1) as pool:
        batch = pool.submit(db.within_batch, queries, 0)
        while not batch.done():
            queries[:] = 1
        offsets, ids, _ = batch.result()
    # The queries are those of the call, or partly the later ones.
    assert len(offsets) == len(queries) + 1
    assert set(ids.tolist()) <= set(range(len(bits)))


def test_size_of_an_index_is_read_while_it_grows() -> None:
    result = simdb.dedup(sentences(20_000), keep="earlier")
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(result.run)
        sizes = set()
        while not work.done():
            sizes.add(result.index_bytes)
    assert len(sizes) > 3 and len(work.result().kept) == 20_000


def test_arguments_of_another_thread_are_refused_alike() -> None:
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(simdb.InvalidArgumentError, match="no recipe"):
            pool.submit(simdb.Fingerprinter, "none").result()
