#!/usr/bin/env python3
"""All pairs of fingerprints within 3 bits: simdb, seomoz's simhash and FAISS, in one run.

    python all_pairs.py SIMDB_FOLDER [DOCUMENTS]...

SIMDB_FOLDER holds simdb-load and simdb-cli. Keys are those of `faiss_binary.py`, and behind them one for
each hundred, which is one of the others with one, two or three bits flipped. All must find the same
pairs of keys:

- simdb: `simdb-cli pairs` in a process of its own, from the file, all cores, lines of CSV written;
- simhash-py 0.4.0: its `find_all` in C++, called without Python, one core, keys in a hash set;
- FAISS: `range_search` of an IndexBinaryMultiHash(64, 4, 16) for all keys in one call, all cores.
  IndexBinaryFlat is asked for some of them, and the whole is calculated from that.

simhash-py is fetched with pip and compiled with the C++ compiler.
"""

import ctypes
import glob
import os
import subprocess
import sys
import tarfile
import tempfile

import faiss
import numpy

from faiss_binary import GIVEN_RADIUS, RADIUS, as_vectors, make_keys, timed

SIMHASH = "simhash-py==0.4.0"
FLAT_QUERIES = 10_000
TURNS = 3

CALL = """
#include "simhash.h"
#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

/// Finds all pairs, at most `room` of them; how many there are. `seconds` is what the search took.
extern "C" size_t all_pairs(const uint64_t *keys, size_t count, uint64_t *pairs, size_t room,
                            double *seconds) {
    std::unordered_set<uint64_t> hashes(keys, keys + count);
    auto started = std::chrono::steady_clock::now();
    auto found = Simhash::find_all(hashes, 4, 3);
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
    *seconds = took.count();
    for (auto &pair : found) {
        if (room-- == 0) break;
        *pairs++ = pair.first;
        *pairs++ = pair.second;
    }
    return found.size();
}
"""


def plant(keys):
    """The keys, and one near another for each hundred; the bits flipped come from the keys."""
    count = len(keys) // 100
    near = keys[:count].copy()
    chance = keys[count : 2 * count]
    for turn in range(3):
        bit = (chance >> numpy.uint64(6 * turn)) % numpy.uint64(64)
        near ^= numpy.where(chance >> numpy.uint64(32) & 3 >= turn, numpy.uint64(1) << bit, 0).astype("<u8")
    return numpy.unique(numpy.concatenate([keys, near]))


def in_order(pairs):
    """Pairs of keys, each with the smaller first, each once."""
    return numpy.unique(numpy.sort(pairs.reshape(-1, 2), axis=1), axis=0)


def by_simdb(folder, keys, place):
    ids = numpy.arange(len(keys), dtype="<u8")
    numpy.stack([ids, keys], axis=1).tofile(os.path.join(place, "keys.raw"))
    load = [os.path.join(folder, "simdb-load"), "a.simdb", "keys.raw", "--progress", "never"]
    subprocess.run(load, cwd=place, check=True, stdout=subprocess.DEVNULL)
    pairs = [os.path.join(folder, "simdb-cli"), "pairs", "a.simdb", "--format", "csv", "--expand"]

    def find():
        with open(os.path.join(place, "pairs.csv"), "wb") as output:
            ran = subprocess.run(pairs, cwd=place, stdout=output, stderr=subprocess.PIPE)
            assert ran.returncode in (0, 1), ran.stderr

    seconds = sorted(timed(find)[1] for _ in range(TURNS))[TURNS // 2]
    found = numpy.loadtxt(os.path.join(place, "pairs.csv"), dtype="u8", delimiter=",", skiprows=1, ndmin=2)
    return in_order(keys[found[:, :2].astype("i8")]), seconds


def compiled_simhash(place):
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    subprocess.run(fetch + [SIMHASH, "--dest", place], check=True)
    with tarfile.open(glob.glob(os.path.join(place, "simhash*.tar.gz"))[0]) as archive:
        archive.extractall(place, filter="data")
    source = glob.glob(os.path.join(place, "simhash*", "simhash", "simhash-cpp"))[0]
    call, library = os.path.join(place, "call.cpp"), os.path.join(place, "call.so")
    with open(call, "w") as file:
        file.write(CALL)
    sources = [call] + glob.glob(os.path.join(source, "src", "*.cpp"))
    compiler = [os.environ.get("CXX", "c++"), "-O3", "-march=native", "-std=c++11", "-shared", "-fPIC"]
    subprocess.run(compiler + ["-I", os.path.join(source, "include"), "-o", library] + sources, check=True)
    return ctypes.CDLL(library)


def by_simhash(library, keys):
    room = len(keys)
    pairs, seconds = numpy.empty(2 * room, dtype="<u8"), ctypes.c_double()
    library.all_pairs.restype = ctypes.c_size_t
    pointer = ctypes.POINTER(ctypes.c_uint64)
    times = []
    for _ in range(TURNS):
        count = library.all_pairs(
            keys.ctypes.data_as(pointer), ctypes.c_size_t(len(keys)), pairs.ctypes.data_as(pointer),
            ctypes.c_size_t(room), ctypes.byref(seconds),
        )
        assert count <= room
        times.append(seconds.value)
    return in_order(pairs[: 2 * count]), sorted(times)[TURNS // 2]


def by_faiss(index, keys):
    """What is found; seconds to build and to search. A key finds itself, and each pair is found twice."""
    vectors = as_vectors(keys)
    _, build = timed(lambda: index.add(vectors))
    (ends, _, ids), search = timed(lambda: index.range_search(vectors, GIVEN_RADIUS))
    asked = numpy.repeat(numpy.arange(len(keys)), numpy.diff(ends.astype("i8")))
    is_pair = asked < ids
    return in_order(numpy.stack([keys[asked[is_pair]], keys[ids[is_pair]]], axis=1)), build, search


def by_flat(keys):
    index = faiss.IndexBinaryFlat(64)
    index.add(as_vectors(keys))
    _, search = timed(lambda: index.range_search(as_vectors(keys[:FLAT_QUERIES]), GIVEN_RADIUS))
    return search * len(keys) / FLAT_QUERIES


def row(label, seconds, remark=""):
    print(f"| {label:<40} | {seconds:>9.2f} s | {remark}", flush=True)


def compare(folder, documents):
    keys = plant(make_keys(documents))
    with tempfile.TemporaryDirectory(dir=".") as place:
        expected, seconds = by_simdb(folder, keys, place)
        assert len(expected) >= len(keys) - documents > 0, "not all planted pairs are found"
        print(f"\n{len(keys)} keys, radius {RADIUS}, {len(expected)} pairs\n")
        row("simdb-cli pairs, from the file to lines", seconds)
        found, seconds = by_simhash(compiled_simhash(place), keys)
        assert numpy.array_equal(found, expected), "simhash-py finds other pairs"
        row("simhash-py, in memory, one core", seconds)
    found, build, search = by_faiss(faiss.IndexBinaryMultiHash(64, 4, 16), keys)
    assert numpy.array_equal(found, expected), "FAISS finds other pairs"
    row("FAISS IndexBinaryMultiHash, in memory", search, f"and {build:.2f} s to build")
    row("FAISS IndexBinaryFlat, in memory", by_flat(keys), f"calculated from {FLAT_QUERIES} queries")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for size in [int(word.replace("_", "")) for word in sys.argv[2:]] or [1_000_000]:
        compare(os.path.abspath(sys.argv[1]), size)
