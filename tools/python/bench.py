"""The Python package beside Rust and beside other packages, in ratios of one run. Answers are checked.

    python tools/python/bench.py --corpus summaries.jsonl.gz [--documents 10000000] [--only dedup]

The Rust figures come from the benches `batch`, `online` and `fingerprint`, which this program starts with
cargo in the root of the repository; their profile must be that of the wheel. The part `dedup` needs
datasketch and rensa, and no Rust. All parts need NumPy 2 and pyarrow. CPU time and its ratios suffer least
from other load of the machine.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, count, islice
from pathlib import Path
from typing import Any, Callable, Iterable

import numpy as np
import pyarrow as pa

import simdb

ROOT = Path(__file__).parents[2]
QUOTES = ROOT / "tests/data/quotes_and_news.jsonl"
THRESHOLD = 0.7
"""The Jaccard index of sets of words at which the MinHash tools find two texts."""
PERMUTATIONS = 128
SAMPLE_TEXTS = 1000
INTERRUPTS = 25


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--corpus", type=Path, default=QUOTES, help="JSON Lines with a field text, or gzip of it")
    parser.add_argument("--limit", type=int, help="texts of the corpus to take")
    parser.add_argument("--documents", type=int, default=1_000_000, help="of the batch")
    parser.add_argument("--queries", type=int, default=1_000_000, help="of the batch")
    parser.add_argument("--inserts", type=int, default=40_000, help="of 8 threads")
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--tool", choices=TOOLS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.tool:
        measure_tool(options.tool, read_texts(options.corpus, options.limit))
        return
    for name, part in PARTS.items():
        if options.only in (None, name):
            part(options)


def read_texts(corpus: Path, limit: int | None = None) -> list[str]:
    opened = gzip.open(corpus, "rt") if corpus.suffix == ".gz" else corpus.open()
    with opened as lines:
        return [json.loads(line)["text"] for line in islice(lines, limit)]


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """The result, the time and the CPU time of all threads of this process, both in seconds."""
    start, used = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - start, time.process_time() - used


def cargo_bench(name: str, *arguments: Any) -> str:
    command = ["cargo", "bench", "--quiet", "--bench", name, "--", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def row_of(table: str, label: str) -> list[str]:
    """The values of a row of a table in Markdown, without the label."""
    rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("|")]
    (row,) = [row for row in rows if row[0].strip() == label]
    return [value.strip() for value in row[1:]]


def seconds_of(shown: str) -> float:
    number, unit = shown.split()
    return float(number.replace(",", "")) * {"s": 1, "ms": 1e-3, "µs": 1e-6}[unit]


def flipped(bits: np.ndarray, chosen: np.random.Generator) -> np.ndarray:
    """Fingerprints at a distance of exactly 3."""
    flips = np.zeros(len(bits), dtype=np.uint64)
    while (few := np.bitwise_count(flips) < 3).any():
        drawn = chosen.integers(0, 64, few.sum(), dtype=np.uint64)
        flips[few] |= np.uint64(1) << drawn
    return bits ^ flips


def bench_batch(options: Any) -> None:
    """Random fingerprints; the even queries are 3 bits from a stored one, as in the Rust bench."""
    chosen = np.random.default_rng(1)
    stored = chosen.integers(0, 2**64, options.documents, dtype=np.uint64)
    queries = chosen.integers(0, 2**64, options.queries, dtype=np.uint64)
    of = chosen.integers(0, options.documents, len(queries[::2]))
    queries[::2] = flipped(stored[of], chosen)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "batch.simdb"
        table = pa.table({"id": np.arange(options.documents), "bits": stored})
        _, seconds, _ = timed(lambda: simdb.bulk_load(path, table, fingerprints="bits"))
        print(f"bulk load of {options.documents:,} fingerprints from Arrow: {seconds:.1f} s", flush=True)
        del table
        with simdb.open(path, cache_bytes=128 * options.documents + (256 << 20)) as db:
            answer = db.within_batch(queries)
            check_batch(db, stored, queries, of, answer)
            own_turns, rust_turns = [], []
            # In turns, of which the fastest counts: the speed of a shared machine changes by half.
            for _ in range(3):
                times = [timed(lambda: db.within_batch(queries)) for _ in range(5)]
                assert all(np.array_equal(*arrays) for arrays in zip(answer, times[0][0]))
                own_turns.append([statistics.median(turn[column] for turn in times) for column in (1, 2)])
                shown = cargo_bench("batch", options.documents, "--queries", options.queries)
                row = row_of(shown, "in one batch, all cores")
                rust_turns.append([seconds_of(value) for value in row[:2]])
    own, rust = ([min(column) for column in zip(*turns)] for turns in (own_turns, rust_turns))
    print(f"batch of {options.queries:,} queries against {options.documents:,}:")
    for name, python_seconds, rust_seconds in zip(("time", "CPU"), own, rust):
        ratio = python_seconds / rust_seconds
        print(f"  {name}: Python {python_seconds:.2f} s, Rust {rust_seconds:.2f} s, ratio {ratio:.2f}", flush=True)


def check_batch(db: simdb.Database, stored: Any, queries: Any, of: Any, answer: Any) -> None:
    """Every match has its distance and every planted document is found. A sample of the answers equals
    that of single queries and of a scan."""
    offsets, ids, distances = answer
    asked = np.repeat(np.arange(len(queries)), np.diff(offsets))
    assert np.array_equal(np.bitwise_count(stored[ids] ^ queries[asked]), distances)
    assert distances.max() <= 3
    planted = np.repeat(np.append(of, 0), 2)[: len(queries)]
    assert len(np.unique(asked[(ids == planted[asked]) & (asked % 2 == 0)])) == len(of)
    for query in range(0, len(queries), max(1, len(queries) // 100)):
        found = slice(offsets[query], offsets[query + 1])
        single = [(match.id, match.distance) for match in db.within(simdb.Fingerprint(queries[query]))]
        assert list(zip(ids[found], distances[found])) == single
        scanned = np.flatnonzero(np.bitwise_count(stored ^ queries[query]) <= 3)
        assert sorted(ids[found]) == scanned.tolist()


def bench_insert(options: Any) -> None:
    """insert_unique of 8 threads, each insert durable before it returns, on the disk of the temporary
    folder; one in ten is a duplicate, as in the Rust bench."""
    stored, threads = 100_000, 8
    chosen = np.random.default_rng(2)
    base = chosen.integers(0, 2**64, stored, dtype=np.uint64)
    bits = chosen.integers(0, 2**64, options.inserts, dtype=np.uint64)
    of = chosen.integers(0, stored, len(bits[9::10]))
    bits[9::10] = flipped(base[of], chosen)
    contents, originals = [simdb.Fingerprint(number) for number in bits], of.tolist()

    def insert(thread: int) -> None:
        for index in range(thread, len(contents), threads):
            outcome = db.insert_unique(stored + index, contents[index])
            if index % 10 == 9:
                assert outcome.of.id == originals[index // 10] and outcome.of.distance == 3
            else:
                assert outcome.inserted

    rates = []
    shown = ""
    # Before and after the Rust bench, because the speed of a disk that others use changes.
    for turn in range(2):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "insert.simdb"
            table = pa.table({"id": np.arange(stored), "bits": base})
            simdb.bulk_load(path, table, fingerprints="bits")
            with simdb.open(path, "w") as db, ThreadPoolExecutor(threads) as pool:
                _, seconds, cpu = timed(lambda: list(pool.map(insert, range(threads))))
                assert len(db) == stored + len(bits) - len(of)
        rates.append(len(contents) / seconds)
        shown = shown or cargo_bench("online", stored, "--inserts", options.inserts, "--threads", threads)
    rust = float(row_of(shown, f"{threads} threads")[0].replace(",", ""))
    syncs = float(row_of(shown, "writing and syncing 4 KiB")[0].replace(",", ""))
    own = statistics.mean(rates)
    print(
        f"insert_unique of {threads} threads, durable: Python {rates[0]:,.0f}/s, then {rates[1]:,.0f}/s; Rust "
        f"{rust:,.0f}/s, with queries meanwhile; ratio {own / rust:.2f}; "
        f"{1e6 * cpu / len(contents):.0f} µs of CPU each; write and sync of 4 KiB {syncs:,.0f}/s",
        flush=True,
    )


def bench_fingerprints(_options: Any) -> None:
    """Texts from a list and from Arrow, beside the same texts in Rust: the bench `fingerprint`."""
    with QUOTES.open() as lines:
        rows = [json.loads(line) for line in lines]
    texts = [row["text"] for row in rows if row["lang"] == "en"]
    texts *= -(-(4 << 20) // sum(len(text.encode()) for text in texts))
    array = pa.array(texts)
    fingerprinter = simdb.Fingerprinter()
    expected = [fingerprinter.fingerprint(text) for text in texts]
    times: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for _ in range(15):
        for name, source in (("a list", texts), ("Arrow", array)):
            (made, _), *seconds = timed(lambda: fingerprinter.fingerprints(source))
            assert made.tolist() == expected
            times[name].append(tuple(seconds))
    shown = cargo_bench("fingerprint").partition("en of ")[2]
    name = fingerprinter.recipe.name
    threads = os.cpu_count()
    (row,) = re.findall(rf"^{name} v\d+, {threads} threads +(\d+) .* (\d+) ms$", shown, re.MULTILINE)
    rust = len(texts) / int(row[0]), int(row[1]) / 1e3
    for source, measured in times.items():
        elapsed, cpu = (min(column) for column in zip(*measured))
        print(
            f"{len(texts):,} fingerprints from {source} on {threads} threads: {elapsed * 1e3:.0f} ms, "
            f"{elapsed / rust[0]:.2f} of Rust; CPU {cpu * 1e3:.0f} ms, {cpu / rust[1]:.2f} of Rust",
            flush=True,
        )


def bench_interrupts(options: Any) -> None:
    """The time from Ctrl-C to the exception, at moments spread over the whole operation."""
    texts = read_texts(options.corpus, options.limit)
    bits = np.random.default_rng(3).integers(0, 2**64, options.documents, dtype=np.uint64)
    ids = np.arange(len(bits))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "interrupts.simdb"
        simdb.bulk_load(path, pa.table({"id": ids, "bits": bits}), fingerprints="bits")
        unsorted = pa.table({"id": ids[::-1], "bits": bits})
        rows = list(enumerate(texts))
        numbers = count()

        def load(records: Any, **options: Any) -> None:
            # To remove a large file takes long, so each load has a file of its own.
            simdb.bulk_load(Path(folder) / f"{next(numbers)}.simdb", records, **options)

        with simdb.open(path, cache_bytes=128 * len(bits) + (256 << 20)) as db:
            operations: dict[str, Callable[[], Any]] = {
                "load of an iterator of texts": lambda: load(iter(rows), keep_texts=True),
                "load of a table of unsorted fingerprints": lambda: load(unsorted, fingerprints="bits"),
                "batch of queries": lambda: db.within_batch(bits[:1_000_000] ^ np.uint64(7)),
                "pairs": lambda: db.pairs(),
                "clusters": lambda: db.clusters(),
                "check": lambda: db.check(),
                "fingerprints": lambda: simdb.Fingerprinter().fingerprints(texts),
                "dedup": lambda: simdb.dedup(texts).run(),
                "pairs of texts": lambda: simdb.pairs(texts),
            }
            print("| interrupted | takes | median delay | longest delay |\n|---|---|---|---|")
            for name, operation in operations.items():
                _, seconds, _ = timed(operation)
                moments = [(step + 0.5) / INTERRUPTS * seconds for step in range(INTERRUPTS)]
                delays = [delay for moment in moments if (delay := interrupt(operation, moment)) is not None]
                assert len(delays) > INTERRUPTS / 2
                print(
                    f"| {name} | {seconds:.2f} s | {statistics.median(delays) * 1e3:.0f} ms "
                    f"| {max(delays) * 1e3:.0f} ms |",
                    flush=True,
                )


def interrupt(operation: Callable[[], Any], after: float) -> float | None:
    """The delay of an interrupt; None if the operation ended before."""
    sent = 0.0
    ended = False

    def send() -> None:
        nonlocal sent
        sent = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after, send)
    timer.start()
    try:
        operation()
        ended = True
        timer.join()
        time.sleep(1)
    except KeyboardInterrupt:
        return None if ended else time.perf_counter() - sent
    raise AssertionError("no interrupt")


# The tools: each takes texts, and returns the positions of the kept texts.


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def keep_contained(texts: list[str]) -> Iterable[int]:
    return simdb.dedup(texts, keep="earlier").run().kept.tolist()


def keep_alike(texts: list[str]) -> Iterable[int]:
    return simdb.dedup(texts, keep="earlier", decision="alike").run().kept.tolist()


def keep_datasketch(texts: list[str]) -> Iterable[int]:
    from datasketch import MinHash, MinHashLSH

    lsh = MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS)
    kept = []
    for index, text in enumerate(texts):
        minhash = MinHash(num_perm=PERMUTATIONS)
        minhash.update_batch([word.encode() for word in words(text)])
        if not lsh.query(minhash):
            lsh.insert(index, minhash)
            kept.append(index)
    return kept


def keep_rensa(texts: list[str]) -> Iterable[int]:
    from rensa import RMinHash, RMinHashLSH

    lsh = RMinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS, num_bands=16)
    minhashes: dict[int, Any] = {}
    for index, text in enumerate(texts):
        minhash = RMinHash(num_perm=PERMUTATIONS, seed=42)
        minhash.update(list(words(text)))
        if not any(minhash.jaccard(minhashes[key]) >= THRESHOLD for key in lsh.query(minhash)):
            lsh.insert(index, minhash)
            minhashes[index] = minhash
    return list(minhashes)


def keep_text_dedup(texts: list[str]) -> Iterable[int]:
    """The method of text_dedup.minhash: bands of MinHash without a check, and connected components."""
    modulus, most = np.uint64((1 << 61) - 1), np.uint64((1 << 32) - 1)
    chosen = np.random.default_rng(42)
    a = chosen.integers(1, int(modulus), PERMUTATIONS, dtype=np.uint64)
    b = chosen.integers(0, int(modulus), PERMUTATIONS, dtype=np.uint64)
    bands, rows = 16, 8
    parent = list(range(len(texts)))

    def find(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    first: list[dict[bytes, int]] = [{} for _ in range(bands)]
    for index, text in enumerate(texts):
        tokens = re.findall(r"\w+", text.lower())
        grams = {" ".join(tokens[start : start + 5]) for start in range(max(1, len(tokens) - 4))}
        digests = b"".join(hashlib.sha1(gram.encode()).digest()[:4] for gram in grams)
        hashes = np.frombuffer(digests, dtype="<u4").astype(np.uint64)
        with np.errstate(over="ignore"):
            minima = (((hashes[:, None] * a + b) % modulus) & most).min(axis=0)
        for band in range(bands):
            key = minima[band * rows : (band + 1) * rows].tobytes()
            other = find(first[band].setdefault(key, index))
            own = find(index)
            parent[max(own, other)] = min(own, other)
    return [index for index in range(len(texts)) if find(index) == index]


TOOLS: dict[str, Callable[[list[str]], Iterable[int]]] = {
    "simdb.dedup": keep_contained,
    "simdb.dedup, alike": keep_alike,
    "datasketch": keep_datasketch,
    "rensa": keep_rensa,
    "text-dedup's method": keep_text_dedup,
}


def measure_tool(name: str, texts: list[str]) -> None:
    """Prints time, memory and result of one tool, whose process has no other work."""
    before = peak_kib()
    kept, seconds, cpu = timed(lambda: TOOLS[name](texts))
    peak = peak_kib() - before
    result = {"seconds": seconds, "cpu": cpu, "mib": peak / 1024, "kept": len(list(kept))}
    print(json.dumps(result))


def peak_kib() -> int:
    """The largest resident memory of this process. That of getrusage is the largest since the process that
    started this one."""
    (peak,) = re.findall(r"^VmHWM:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(peak)


def bench_dedup(options: Any) -> None:
    texts = read_texts(options.corpus, options.limit)
    sample = near_texts(texts)
    truths = {"contained": contained_pairs(sample), "word sets": word_pairs(sample)}
    shown = ", ".join(f"{len(pairs)} pairs by {name}" for name, pairs in truths.items())
    print(f"dedup of {len(texts):,} texts; in a sample of {len(sample)} {shown}")
    print("| tool | time | processor time | peak memory | kept | recall, precision (contained) | (word sets) |")
    print("|---|---|---|---|---|---|---|")
    for name in TOOLS:
        command = [sys.executable, __file__, "--corpus", str(options.corpus), "--tool", name]
        if options.limit:
            command += ["--limit", str(options.limit)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        kept = set(TOOLS[name](sample))
        cells = [quality(len(sample), kept, pairs) for pairs in truths.values()]
        print(
            f"| {name} | {found['seconds']:.1f} s | {found['cpu']:.1f} s | {found['mib']:,.0f} MiB | {found['kept']:,} "
            f"| {' | '.join(cells)} |",
            flush=True,
        )


def near_texts(texts: list[str]) -> list[str]:
    """Texts with many near-duplicates: neighbours in alphabetical order, from random places."""
    chosen = random.Random(5)
    ordered = sorted(texts)
    starts = [chosen.randrange(len(ordered) - 50) for _ in range(SAMPLE_TEXTS // 50)]
    sample = [text for start in starts for text in ordered[start : start + 50]]
    chosen.shuffle(sample)
    return sample


def contained_pairs(sample: list[str]) -> set[tuple[int, int]]:
    """The pairs (removed, keeper) of which the later text says nothing that the earlier does not, and
    the texts are alike: all texts are compared with all."""
    found = set()
    for a, b in combinations(range(len(sample)), 2):
        compared = simdb.compare(sample[b], sample[a])
        alike = compared.resemblance
        if compared.verdict in ("same", "a_in_b") and (
            alike.same_wording or (alike.edit_similarity or 0) >= 0.5 or alike.jaccard >= 0.4
        ):
            found.add((b, a))
    return found


def word_pairs(sample: list[str]) -> set[tuple[int, int]]:
    """The pairs of texts whose sets of words have a Jaccard index of at least the threshold."""
    sets = [words(text) for text in sample]
    found = set()
    for a, b in combinations(range(len(sets)), 2):
        both = len(sets[a] & sets[b])
        if both and both >= THRESHOLD * (len(sets[a]) + len(sets[b]) - both):
            found.add((b, a))
    return found


def quality(count: int, kept: set[int], pairs: set[tuple[int, int]]) -> str:
    """The share of the removals of the truth that a tool makes, and the share of its removals that the
    truth makes. The truth keeps a text unless it keeps an earlier one of a pair."""
    of_text = defaultdict(list)
    for later, earlier in pairs:
        of_text[later].append(earlier)
    truth: set[int] = set()
    for index in range(count):
        if not any(earlier not in truth for earlier in of_text[index]):
            continue
        truth.add(index)
    removed = set(range(count)) - kept
    both = len(truth & removed)
    recall, precision = both / max(1, len(truth)), both / max(1, len(removed))
    return f"{recall:.3f}, {precision:.3f}"


PARTS: dict[str, Callable[[Any], None]] = {
    "batch": bench_batch,
    "insert": bench_insert,
    "fingerprints": bench_fingerprints,
    "interrupts": bench_interrupts,
    "dedup": bench_dedup,
}

if __name__ == "__main__":
    main()
