"""Processes: fork, spawn, the exit of the interpreter."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any, Callable

import pytest

import simdb
from conftest import sentences

TEXTS = sentences(300)

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


def run_python(code: str, *arguments: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def in_fork(work: Callable[[], object]) -> int:
    """The exit code of a forked process that runs `work`; 99 if it raises."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:
            print(f"in fork: {error!r}", file=sys.stderr)
            os._exit(99)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return -1


@needs_fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forked_child_is_refused_and_harms_nothing(path: Path) -> None:
    db = simdb.open(path, "c", similar=True)
    for id, text in enumerate(TEXTS[:50]):
        db.insert(id, text)
    ids, snapshot, batch = iter(db), db.snapshot(), db.write_batch()
    begun = iter(db)
    assert next(begun) == 0
    batch.insert(101, TEXTS[101])

    def work() -> None:
        nonlocal db
        for use in (
            lambda: db.insert(100, TEXTS[0]),
            lambda: db.within(TEXTS[0]),
            lambda: next(ids),
            lambda: next(begun),
            lambda: db.__enter__(),
            lambda: batch.insert(102, TEXTS[102]),
            lambda: len(snapshot),
            lambda: batch.__exit__(None, None, None),
            lambda: db.write_batch(),
            lambda: db.close(),
        ):
            with pytest.raises(simdb.ForkError, match="before this process was forked"):
                use()
        # The last reference: the child must not close the database.
        del db

    assert in_fork(work) == 0
    assert db.insert(100, TEXTS[100]).inserted and len(db) == 51
    db.close()
    with simdb.open(path, "w") as again:
        assert len(again) == 51 and again.check() == []


@needs_fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forked_child_may_open_databases_and_make_fingerprints(path: Path) -> None:
    # Starts the threads of the parent, which the child does not have.
    expected = simdb.Fingerprinter().fingerprints(TEXTS)[0].tolist()
    assert len(simdb.dedup(TEXTS).run().kept) == len(TEXTS)
    with simdb.open(path, "c") as db:
        db.bulk_load(enumerate(TEXTS))
        db.within_batch(expected)

    def work() -> None:
        assert simdb.Fingerprinter().fingerprints(TEXTS)[0].tolist() == expected
        assert len(simdb.dedup(TEXTS).run().kept) == len(TEXTS)
        with simdb.open(path, "w") as own:
            assert own.insert_unique(1000, TEXTS[0]).kind == "duplicate"
            assert own.within_batch(expected)[0][-1] == len(TEXTS)
            own.bulk_load([(2000, "a text of the child, about a lantern in a garden")])
            assert own.pairs().num_rows == 0

    assert in_fork(work) == 0
    with simdb.open(path) as db:
        assert len(db) == len(TEXTS) + 1


@needs_fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_parent_can_close_and_open_again_while_a_fork_lives(path: Path) -> None:
    db = simdb.open(path, "c")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(reader, 1)
        os._exit(0)
    try:
        db.insert(1, TEXTS[0])
        db.close()
        with simdb.open(path, "w") as again:
            assert len(again) == 1
    finally:
        os.write(writer, b"x")
        os.waitpid(child, 0)


def found_by_reader(path: Path, text: str) -> list[simdb.Match]:
    with simdb.open(path) as db:
        return db.within(text)


def test_spawned_readers_share_a_database(path: Path) -> None:
    simdb.bulk_load(path, enumerate(TEXTS))
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.starmap(found_by_reader, [(path, text) for text in TEXTS[:20]])
    assert [[match.id for match in matches] for matches in found] == [[id] for id in range(20)]


def test_second_writer_is_refused_with_its_process(path: Path) -> None:
    code = "import simdb, sys; simdb.open(sys.argv[1], 'w')"
    with simdb.open(path, "c"):
        refused = run_python(code, path)
    assert refused.returncode == 1
    assert "LockedError" in refused.stderr and f"process {os.getpid()}" in refused.stderr
    assert run_python(code, path).returncode == 0


@pytest.mark.parametrize("end", ["", "sys.exit(0)", "raise SystemExit", "os._exit(0)"])
def test_interpreter_exit_with_an_open_database_loses_nothing(path: Path, end: str) -> None:
    code = f"""
        import os, simdb, sys, threading
        db = simdb.open(sys.argv[1], "c", similar=True)
        for id in range(20):
            db.insert(id, f"text number {{id}} of a process that ends")
        ids, snapshot, table, batch = iter(db), db.snapshot(), db.to_arrow(), db.write_batch()
        batch.insert(99, "a change that is not written")
        next(ids)
        cycle = [db]; cycle.append(cycle)
        def query():
            while True:
                db.within("text number 7 of a process that ends", 10)
        threading.Thread(target=query, daemon=True).start()
        {end}
    """
    ended = run_python(code, path)
    assert (ended.returncode, ended.stderr) == (0, "")
    with simdb.open(path, "w") as db:
        assert list(db) == list(range(20)) and db.check() == []
    assert not list(path.parent.glob("*.new"))


# With a short switch interval, the exit often falls into a call of the generator.
@pytest.mark.parametrize("seconds", [0.005, 0.00001])
@pytest.mark.parametrize("load", ["simdb.bulk_load(sys.argv[2], records())", "db.bulk_load(records())"])
def test_interpreter_exit_in_the_middle_of_a_load_changes_nothing(path: Path, load: str, seconds: float) -> None:
    code = f"""
        import itertools, simdb, sys, threading
        sys.setswitchinterval({seconds})
        started = threading.Event()
        def records():
            for id in itertools.count(1000):
                yield id, f"text number {{id}} of a load without an end"
                if id == 9000:
                    started.set()
        db = simdb.open(sys.argv[1], "c")
        db.insert(1, "a text that was there before the load")
        threading.Thread(target=lambda: {load}, daemon=True).start()
        started.wait()
    """
    new = path.with_name("new.simdb")
    for number in range(2):
        changed = path.with_name(f"{number}.simdb")
        ended = run_python(code, changed, new)
        assert (ended.returncode, ended.stderr) == (0, "")
        assert not new.exists()
        with simdb.open(changed, "w") as db:
            assert list(db) == [1] and db.check() == []


@pytest.mark.parametrize(
    "work",
    [
        "simdb.Fingerprinter().fingerprints(texts())",
        "simdb.dedup(['a text of a batch'] * 1000, progress=lambda *_: next(endless)).run()",
        "simdb.Fingerprint(Number())",
        "db.insert(1, 'a text', fields=fields)",
        "db.get(0).fields",
        "with contextlib.suppress(TypeError): simdb.Fingerprinter().fingerprint(Unknown())",
        "simdb.frames(texts_of_a_class)",
        "simdb.Fingerprinter().fingerprints(['a text of a batch'] * 1000)",
    ],
)
def test_interpreter_exit_while_code_of_python_runs_on_another_thread(path: Path, work: str) -> None:
    code = f"""
        import contextlib, simdb, sys, threading
        sys.setswitchinterval(0.00001)
        started = threading.Event()
        def texts():
            while True:
                started.set()
                yield "a text of a batch without an end"
        endless = texts()
        class Number:
            def __index__(self):
                return len([next(endless) for _ in range(100)])
        class Unknown:
            def __getattr__(self, name):
                raise AttributeError(str(Number().__index__()))
        class Texts:
            def __iter__(self):
                return iter([str(Number().__index__())])
        texts_of_a_class = Texts()
        fields = {{str(number): number for number in range(300)}}
        db = simdb.open(sys.argv[1], "c", fields=True, keep_texts=True)
        db.insert(0, "a text", fields=fields)
        def work():
            while True:
                {work}
                started.set()
        threading.Thread(target=work, daemon=True).start()
        started.wait()
    """
    for number in range(4):
        ended = run_python(code, path.with_name(f"{number}.simdb"))
        assert (ended.returncode, ended.stderr) == (0, "")


def test_interpreter_exit_between_two_parts_of_a_load(path: Path) -> None:
    code = """
        import itertools, simdb, sys, threading, time
        started = threading.Event()
        def load():
            for number in itertools.count():
                started.set()
                simdb.bulk_load(f"{sys.argv[1]}.{number}", enumerate(["a text of a load"] * 50_000))
        threading.Thread(target=load, daemon=True).start()
        started.wait()
        time.sleep(int(sys.argv[2]) / 1000)
    """
    for milliseconds in range(10):
        ended = run_python(code, path, milliseconds)
        assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("end", ["queue.put(None); worker.join()", "db.close()"])
def test_handler_of_the_exit_waits_for_a_call_of_another_thread(path: Path, end: str) -> None:
    code = f"""
        import atexit
        atexit.register(lambda: end())
        import queue as queues, simdb, sys, threading
        db = simdb.open(sys.argv[1], "c")
        queue = queues.Queue()
        started = threading.Event()
        def work():
            for texts in iter(queue.get, None):
                db.bulk_load((id, text) for id, text in enumerate(texts))
                started.set()
        def end():
            {end}
        for _ in range(20):
            queue.put(["a text of a batch"] * 500)
        worker = threading.Thread(target=work, daemon=True)
        worker.start()
        started.wait()
    """
    ended = run_python(code, path)
    assert ended.returncode == 0
    with simdb.open(path, "w") as db:
        assert len(db) == 500 and db.check() == []


def test_panic_of_the_library_is_an_exception(path: Path) -> None:
    """Stacks of 2^60 bytes cannot be had, so that the threads of a batch cannot be started."""
    simdb.bulk_load(path, enumerate(TEXTS), keep_texts=True)
    code = """
        import os, simdb, sys
        db = simdb.open(sys.argv[1])
        os.environ["RUST_MIN_STACK"] = str(2**60)
        try:
            db.within_batch(list(range(100_000)))
        except simdb.InternalError as error:
            print("raised", error)
        print(len(db), len(db.within(db.get(7).text)))
        db.close()
    """
    ended = run_python(code, path)
    assert ended.returncode == 0, ended.stderr
    raised, counts = ended.stdout.splitlines()
    assert raised.startswith("raised simdb failed: ") and raised.endswith("report this as a bug")
    assert counts == "300 1"


def test_killed_process_loses_nothing_that_was_acknowledged(path: Path) -> None:
    code = """
        import itertools, simdb, sys
        db = simdb.open(sys.argv[1], "c")
        for id in itertools.count():
            db.insert(id, f"text number {id} of a process that is killed")
            print(id, flush=True)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        acknowledged = [int(process.stdout.readline()) for _ in range(50)]
        process.kill()
        acknowledged += map(int, process.stdout.read().split())
    with simdb.open(path, "w") as db:
        assert set(acknowledged) <= set(db)
        assert db.check() == []
