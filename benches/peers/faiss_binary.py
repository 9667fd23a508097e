#!/usr/bin/env python3
"""How fast does FAISS answer the queries of the benches, on one thread?

    python faiss_binary.py [DOCUMENTS]...

Keys are splitmix64 from seed 1, ids count from 0; queries are splitmix64 from seed 77, the even ones
a stored key with exactly three bits flipped: as in benches/common/keys.rs. FAISS keeps what is less
than the radius it is given away, so to find what is 3 bits away it is given 4.

Every planted query must find its document, and none that has 4 bits flipped may; a sample must be
answered as IndexBinaryFlat does, which compares with every key.
"""

import os
import sys
import tempfile
import time

import faiss
import numpy

KEY_SEED = 1
QUERY_SEED = 77
STEP = 0x9E37_79B9_7F4A_7C15
MASK = (1 << 64) - 1

RADIUS = 3
GIVEN_RADIUS = RADIUS + 1
QUERIES = 2_000
FLAT_QUERIES = 20
TURNS = 3


def mix(state):
    """The output of splitmix64, of a number or of an array of them."""
    state = (state ^ (state >> 30)) * 0xBF58_476D_1CE4_E5B9 & MASK
    state = (state ^ (state >> 27)) * 0x94D0_49BB_1331_11EB & MASK
    return state ^ (state >> 31)


def make_keys(documents):
    keys = numpy.empty(documents, dtype="<u8")
    part = 1 << 20
    for start in range(0, documents, part):
        places = numpy.arange(start + 1, min(start + part, documents) + 1, dtype=numpy.uint64)
        state = places * numpy.uint64(STEP) + numpy.uint64(KEY_SEED)
        state = (state ^ (state >> numpy.uint64(30))) * numpy.uint64(0xBF58_476D_1CE4_E5B9)
        state = (state ^ (state >> numpy.uint64(27))) * numpy.uint64(0x94D0_49BB_1331_11EB)
        keys[start : start + len(places)] = state ^ (state >> numpy.uint64(31))
    assert all(int(keys[i]) == mix((KEY_SEED + (i + 1) * STEP) & MASK) for i in (0, documents - 1))
    return keys


def make_queries(keys, count, flips):
    """Pairs of the bits asked for and the id that they were made from, or None."""
    state = QUERY_SEED
    queries = []

    def draw():
        nonlocal state
        state = (state + STEP) & MASK
        return mix(state)

    for number in range(count):
        bits = draw()
        if number % 2 == 1:
            queries.append((bits, None))
            continue
        document = bits % len(keys)
        flipped = 0
        while flipped.bit_count() < flips:
            flipped |= 1 << draw() % 64
        queries.append((int(keys[document]) ^ flipped, document))
    return queries


def as_vectors(numbers):
    return numpy.asarray(numbers, dtype="<u8").view(numpy.uint8).reshape(-1, 8)


def ask(index, vector):
    """Ids within the radius."""
    _, _, ids = index.range_search(vector, GIVEN_RADIUS)
    return ids


def measure(index, queries):
    """p50 and p99 in microseconds of the turn in the middle; planted documents must be found."""
    vectors = [as_vectors([bits]) for bits, _ in queries]
    turns = []
    for _ in range(TURNS):
        times = []
        for vector, (_, document) in zip(vectors, queries):
            started = time.perf_counter()
            ids = ask(index, vector)
            times.append(time.perf_counter() - started)
            assert document is None or document in ids, f"document {document} is not found"
        times.sort()
        turns.append((times[len(times) // 2] * 1e6, times[len(times) * 99 // 100] * 1e6))
    return sorted(turns)[TURNS // 2]


def check(index, flat, keys):
    for flips in (RADIUS, RADIUS + 1):
        for bits, document in make_queries(keys, FLAT_QUERIES, flips):
            found = sorted(ask(index, as_vectors([bits])))
            assert found == sorted(ask(flat, as_vectors([bits]))), "not what the flat index gives"
            if document is not None:
                assert (document in found) == (flips == RADIUS)


def timed(work):
    started = time.perf_counter()
    result = work()
    return result, time.perf_counter() - started


def row(label, values):
    print(f"| {label:<42} |" + "".join(f" {value:>10} |" for value in values), flush=True)


def compare(documents):
    keys = make_keys(documents)
    vectors = as_vectors(keys)
    queries = make_queries(keys, QUERIES, RADIUS)
    print(f"\n{documents} documents, radius {RADIUS}, FAISS {faiss.__version__}, one thread\n")
    row("", ["p50", "p99", "build", "save", "file B/doc"])
    row("-" * 42, ["-" * 9 + ":"] * 5)

    empty = faiss.IndexBinaryMultiHash(64, 4, 16)
    empty.add(as_vectors([0]))
    unplanted = [(bits, None) for bits, _ in queries]
    p50, p99 = measure(empty, unplanted)
    row("one document: what the call itself costs", [f"{p50:.1f} µs", f"{p99:.1f} µs"] + ["-"] * 3)

    flat = faiss.IndexBinaryFlat(64)
    indexes = [
        ("IndexBinaryFlat", flat, queries[:FLAT_QUERIES]),
        ("IndexBinaryMultiHash(64, 4, 16)", faiss.IndexBinaryMultiHash(64, 4, 16), queries),
    ]
    for label, index, queries in indexes:
        _, build = timed(lambda: index.add(vectors))
        check(index, flat, keys)
        p50, p99 = measure(index, queries)
        with tempfile.TemporaryDirectory(dir=".") as folder:
            path = os.path.join(folder, "index")
            _, save = timed(lambda: faiss.write_index_binary(index, path))
            file_bytes = os.path.getsize(path)
        times = [f"{p50:.1f} µs", f"{p99:.1f} µs", f"{build:.2f} s", f"{save:.2f} s"]
        row(label, times + [f"{file_bytes / documents:.1f}"])


if __name__ == "__main__":
    faiss.omp_set_num_threads(1)
    for size in [int(word.replace("_", "")) for word in sys.argv[1:]] or [1_000_000]:
        compare(size)
