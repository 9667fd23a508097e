"""KeyboardInterrupt ends a load, a batch, a join, and work on texts."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable, Iterator

import numpy as np
import pyarrow as pa
import pytest

import simdb
from conftest import sentences

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no signals between threads")

RANDOM = np.random.default_rng(3).integers(0, 2**64, 400_000, dtype=np.uint64)
MOST_TRIES = 12
# Each operation takes longer without an interrupt. In a build without optimisation, on a machine
# whose cores work for other processes, waiting threads alone take .2 s.
MAX_DELAY_SECONDS = 0.4
MAX_ELAPSED_SECONDS = 5
MAX_WAIT_SECONDS = 60


@pytest.fixture(autouse=True)
def interrupts() -> Iterator[None]:
    """The usual handler: a process that a shell starts in the background ignores SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> simdb.Database:
    path = tmp_path_factory.mktemp("interrupt") / "large.simdb"
    simdb.bulk_load(path, pa.table({"id": np.arange(len(RANDOM)), "bits": RANDOM}), fingerprints="bits")
    return simdb.open(path)


class Signal:
    """A signal to this process, and the time since."""

    def send(self) -> None:
        self.cpu, self.sent = time.process_time(), time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)

    def delay(self) -> float:
        """The CPU seconds of this process since the signal. On a machine whose cores all work for other
        processes, the time that passes is much longer, and says nothing about this package."""
        assert time.monotonic() - self.sent < MAX_ELAPSED_SECONDS
        return time.process_time() - self.cpu


def delay_of_interrupt(operation: Callable[[], object], after_seconds: float) -> float:
    """The delay from a signal to the KeyboardInterrupt."""
    sent = Signal()
    timer = threading.Timer(after_seconds, sent.send)
    deadline = time.monotonic() + MAX_WAIT_SECONDS
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        # A fast machine may end the operation before the signal.
        while time.monotonic() < deadline:
            operation()
    return sent.delay()


def assert_prompt(operation: Callable[[], object], after_seconds: float = 0.1) -> None:
    """One of several delays is short: other threads and processes delay some. The signals come at different
    times, since an operation ends only between two of its steps, and in a build without optimisation one step,
    such as the sort of a million queries, may take longer than the limit."""
    tries = itertools.count()
    assert_one_is_short(lambda: delay_of_interrupt(operation, after_seconds * (1 + next(tries) / 4)))


def assert_one_is_short(measure: Callable[[], float]) -> None:
    delays: list[float] = []
    while not delays or min(delays) >= MAX_DELAY_SECONDS:
        assert len(delays) < MOST_TRIES, delays
        delays.append(measure())


def test_load_of_an_endless_iterator(path: Path) -> None:
    text = "a text of a source that does not end, about a lantern and a river"
    for records in (
        lambda: zip(itertools.count(), itertools.repeat(text)),
        lambda: ((id, text) for id in itertools.count()),
    ):
        assert_prompt(lambda: simdb.bulk_load(path, records()), 0.2)
    assert list(path.parent.iterdir()) == []


def test_load_while_it_writes(path: Path) -> None:
    table = pa.table({"id": np.arange(len(RANDOM))[::-1], "bits": RANDOM})

    def load() -> float:
        path.unlink(missing_ok=True)
        timers: list[threading.Timer] = []
        sent = Signal()

        def progress(stage: str, _done: int, _total: Any) -> None:
            if stage == "writing" and not timers:
                timers.append(threading.Timer(0.02, sent.send))
                timers[0].start()

        with pytest.raises(KeyboardInterrupt):
            simdb.bulk_load(path, table, fingerprints="bits", progress=progress)
            # A fast disk: the signal comes after the end.
            timers[0].join()
            time.sleep(1)
        return sent.delay()

    assert_one_is_short(load)
    path.unlink(missing_ok=True)
    assert list(path.parent.iterdir()) == []


def test_batch(large: simdb.Database) -> None:
    queries = np.concatenate([RANDOM ^ np.uint64(1 << bit) for bit in range(10)])
    assert_prompt(lambda: large.within_batch(queries, 3))


def test_pairs(large: simdb.Database) -> None:
    assert_prompt(lambda: large.pairs(10))


def test_clusters(large: simdb.Database) -> None:
    assert_prompt(lambda: large.clusters(10))


def test_fingerprints() -> None:
    texts = sentences(1000) * 400
    assert_prompt(lambda: simdb.Fingerprinter().fingerprints(texts))


def test_dedup_and_pairs_of_texts() -> None:
    texts = sentences(30_000)
    assert_prompt(lambda: simdb.dedup(texts).run())
    assert_prompt(lambda: simdb.dedup(texts, keep="earlier").run())
    assert_prompt(lambda: simdb.pairs(texts))


@pytest.mark.parametrize("keep", ["first", "earlier"])
def test_dedup_is_incomplete_after_an_interrupt(keep: Any) -> None:
    texts = sentences(20_000)
    made: list[simdb.Dedup] = []

    def run() -> None:
        made.append(simdb.dedup(texts, keep=keep))
        made[-1].run()

    # A signal between two runs interrupts none.
    tries = 0
    while not made or made[-1].is_complete:
        assert (tries := tries + 1) <= MOST_TRIES
        delay_of_interrupt(run, 0.2)
    assert not made[-1].is_complete and "incomplete" in repr(made[-1])
    for use in (made[-1].run, made[-1].report, lambda: made[-1].kept, lambda: next(made[-1])):
        with pytest.raises(simdb.IncompleteError, match="KeyboardInterrupt .*; call simdb.dedup again"):
            use()


def test_interrupted_write_batch_writes_nothing_and_keeps_its_changes(path: Path) -> None:
    texts = [" ".join(sentences(20, seed)) for seed in range(100)] * 100
    with simdb.open(path, "c") as db:
        batch = db.write_batch()
        for text in texts:
            batch.insert(len(batch), text)

        def write() -> float:
            sent = Signal()
            timer = threading.Timer(0.05, sent.send)
            with pytest.raises(KeyboardInterrupt):
                timer.start()
                batch.__exit__()
            return sent.delay()

        assert_one_is_short(write)
        assert len(db) == 0 and batch.outcomes == [] and len(batch) == len(texts)
        batch.__exit__()
        assert len(db) == len(batch.outcomes) == len(texts)


def test_database_is_sound_after_interrupts(path: Path) -> None:
    with simdb.open(path, "c") as db:
        db.insert(1, "a text that was there before the interrupt")
        text = "a text of a source that does not end, about a lantern and a river"
        endless = zip(itertools.count(2), itertools.repeat(text))
        delay_of_interrupt(lambda: db.bulk_load(endless), 0.2)
        assert list(db) == [1] and db.insert(2, text).inserted
        assert db.check() == []
