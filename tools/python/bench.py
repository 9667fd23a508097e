"""The Python package beside Rust and beside other packages, in ratios of one run. Answers are checked.

    python tools/python/bench.py --corpus summaries.jsonl.gz [--documents 10000000] [--only dedup]

The Rust rows come from `cargo bench --bench batch` and `--bench fingerprint`, which this program starts
in the root of the repository. Needs datasketch and rensa.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any, Callable, Iterable

import numpy as np

import simdb

ROOT = Path(__file__).parents[2]
THRESHOLD = 0.7
"""The Jaccard index of sets of words at which the MinHash tools find two texts."""
PERMUTATIONS = 128
SAMPLE_TEXTS = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--corpus", type=Path, help="JSON Lines with a field text, gzip")
    parser.add_argument("--documents", type=int, default=10_000_000)
    parser.add_argument("--queries", type=int, default=1_000_000)
    parser.add_argument("--only", choices=["batch", "insert", "fingerprints", "dedup"])
    parser.add_argument("--limit", type=int, help="texts of the corpus to take")
    parser.add_argument("--tool", choices=TOOLS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.tool:
        measure_tool(options.tool, read_texts(options.corpus, options.limit))
        return
    parts: dict[str, Callable[[Any], None]] = {
        "batch": bench_batch,
        "insert": bench_insert,
        "fingerprints": bench_fingerprints,
        "dedup": bench_dedup,
    }
    for name, part in parts.items():
        if options.only in (None, name):
            part(options)


def read_texts(corpus: Path, limit: int | None = None) -> list[str]:
    with gzip.open(corpus, "rt") as lines:
        return [json.loads(line)["text"] for _, line in zip(range(limit or 1 << 40), lines)]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def bench_batch(options: Any) -> None:
    """Random fingerprints; every tenth query is 3 bits from a stored one, and must find it."""
    chosen = np.random.default_rng(1)
    stored = chosen.integers(0, 2**64, options.documents, dtype=np.uint64)
    queries = chosen.integers(0, 2**64, options.queries, dtype=np.uint64)
    planted = np.arange(0, options.queries, 10)
    of = chosen.integers(0, options.documents, len(planted))
    queries[planted] = stored[of] ^ np.uint64(1 << 3 | 1 << 30 | 1 << 61)
    with tempfile.TemporaryDirectory() as folder:
        import pyarrow as pa

        path = Path(folder) / "batch.simdb"
        table = pa.table({"id": np.arange(options.documents), "text": stored})
        _, seconds = timed(lambda: simdb.bulk_load(path, table))
        print(f"bulk load of {options.documents:,} fingerprints from Arrow: {seconds:.1f} s")
        del table
        with simdb.open(path, cache_bytes=128 * options.documents + (256 << 20)) as db:
            (offsets, ids, distances), _ = timed(lambda: db.within_batch(queries))
            for query, id in zip(planted.tolist(), of.tolist()):
                assert id in ids[offsets[query] : offsets[query + 1]]
            for query in range(0, options.queries, options.queries // 200):
                single = [(match.id, match.distance) for match in db.within(int(queries[query]))]
                found = slice(offsets[query], offsets[query + 1])
                assert list(zip(ids[found], distances[found])) == single
            times = [timed(lambda: db.within_batch(queries))[1] for _ in range(5)]
    own = statistics.median(times)
    arguments = [str(options.documents), "--queries", str(options.queries)]
    shown = cargo_bench("batch", *arguments)
    line = re.search(r"in one batch, all cores.*", shown)
    assert line, shown
    print(f"batch of {options.queries:,} queries, Python: {own:.2f} s; Rust: {line[0]}")


def bench_insert(_options: Any) -> None:
    """insert_unique of 8 threads, each insert durable before it returns."""
    threads, each = 8, 5000
    bits = np.random.default_rng(2).integers(0, 2**64, threads * each, dtype=np.uint64).tolist()
    with tempfile.TemporaryDirectory() as folder, simdb.open(Path(folder) / "i.simdb", "c") as db:

        def insert(thread: int) -> None:
            for id in range(thread * each, (thread + 1) * each):
                assert db.insert_unique(id, bits[id]).inserted

        workers = [threading.Thread(target=insert, args=[thread]) for thread in range(threads)]

        def run() -> None:
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()

        _, seconds = timed(run)
        assert len(db) == threads * each
        one, single = timed(lambda: [db.insert_unique(10**9 + id, id << 32 | 7 * id) for id in range(2000)])
        assert len(one) == 2000
        file = os.open(Path(folder) / "raw", os.O_CREAT | os.O_WRONLY)

        def write() -> None:
            for _ in range(2000):
                os.write(file, bytes(4096))
                os.fdatasync(file)

        _, raw = timed(write)
        os.close(file)
    print(
        f"insert_unique, durable: {threads} threads {threads * each / seconds:,.0f}/s, one thread "
        f"{2000 / single:,.0f}/s; write and sync of 4 KiB {2000 / raw:,.0f}/s"
    )


def bench_fingerprints(options: Any) -> None:
    """Texts from a list and from Arrow, beside the same work of Rust on all cores."""
    import pyarrow as pa

    texts = read_texts(options.corpus, options.limit)
    fingerprinter = simdb.Fingerprinter()
    array = pa.array(texts)
    made, _ = fingerprinter.fingerprints(array)
    assert made[:100].tolist() == [fingerprinter.fingerprint(text) for text in texts[:100]]
    times: dict[str, list[float]] = defaultdict(list)
    for _ in range(5):
        for name, source in (("list", texts), ("Arrow", array)):
            (again, _), seconds = timed(lambda: fingerprinter.fingerprints(source))
            assert np.array_equal(again, made)
            times[name].append(seconds)
        # A load into a database does the same work without Python objects, and writes it.
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    for name, seconds in times.items():
        median = statistics.median(seconds)
        print(f"{len(texts):,} fingerprints from {name}: {median:.3f} s, {megabytes / median:.1f} MB/s")
    print(cargo_bench("fingerprint"))


def cargo_bench(name: str, *arguments: str) -> str:
    command = ["cargo", "bench", "--quiet", "--bench", name, "--", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


# The tools: each takes texts, and returns the positions of the kept texts.


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def keep_contained(texts: list[str]) -> Iterable[int]:
    return simdb.dedup(texts).run().kept.tolist()


def keep_alike(texts: list[str]) -> Iterable[int]:
    return simdb.dedup(texts, decision="alike").run().kept.tolist()


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
        hashes = np.array([hash(gram) & 0xFFFF_FFFF for gram in grams], dtype=np.uint64)
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
    before = resource.getrusage(resource.RUSAGE_SELF)
    kept, seconds = timed(lambda: TOOLS[name](texts))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before.ru_maxrss
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    result = {"seconds": seconds, "mib": peak / 1024, "kept": len(list(kept))}
    print(json.dumps({**result, "cpu": cpu}))


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
            alike.same_wording or (alike.edit_similarity or 0) >= 0.65 or alike.jaccard >= 0.55
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


if __name__ == "__main__":
    main()
