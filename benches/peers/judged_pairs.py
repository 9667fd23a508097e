#!/usr/bin/env python3
"""simdb, MinHash, SimHash and RETSim about pairs of texts that readers have judged.

    python judged_pairs.py SIMDB_CLI PAIRS.jsonl...

A line of PAIRS has the texts `a` and `b`, and `gold`: `removable` or `different`; other lines are left out. One
table a file. Each method decides each pair, without an index:

- contained, news, alike: `simdb-cli compare --pairs --decide RULE`; a pair is found if one text may be removed
- MinHash: datasketch, 256 permutations, three words in a row, estimated Jaccard index at least 0.7
- SimHash: the Python package simhash with its defaults, at most 3 of 64 bits apart
- RETSim: the model in the package unisim, similarity at least 0.9, which its authors recommend for near-duplicates
- RETSim, best: the same with the threshold of the largest F1 on the same pairs, so an upper bound
"""

import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "public"))

from graded_pages import LEAST_JACCARD, print_rows, row, scores, shingles  # noqa: E402

PERMUTATIONS = 256
SIMHASH_RADIUS = 3
RETSIM_THRESHOLD = 0.9


def by_minhash(texts):
    from datasketch import MinHash

    def minima(text):
        made = MinHash(num_perm=PERMUTATIONS)
        made.update_batch([" ".join(words).encode() for words in shingles(text)])
        return made

    return [minima(a).jaccard(minima(b)) >= LEAST_JACCARD for a, b in texts]


def by_simhash(texts):
    from simhash import Simhash

    return [Simhash(a).distance(Simhash(b)) <= SIMHASH_RADIUS for a, b in texts]


def retsim_similarities(texts):
    """The cosine of both vectors of each pair; the vectors have length 1."""
    from unisim import TextSim

    model = TextSim()
    vectors = (model.embed([text for pair in texts for text in pair])).reshape(len(texts), 2, -1)
    return (vectors[:, 0] * vectors[:, 1]).sum(axis=1)


def f1(found, truth):
    _, _, right, wrong, missed = scores(found, truth)
    return 2 * right / max(1, 2 * right + wrong + missed)


def compare(simdb, path):
    with open(path, encoding="utf-8") as lines:
        pairs = [pair for pair in map(json.loads, lines) if pair["gold"] in ("removable", "different")]
    texts = [(pair["a"], pair["b"]) for pair in pairs]
    truth = [pair["gold"] == "removable" for pair in pairs]
    print(f"\n{os.path.basename(path)}: {len(pairs)} pairs, {sum(truth)} of them removable\n")
    print_rows(simdb, texts, truth, {"MinHash, 0.7": by_minhash, "SimHash, 3 bits": by_simhash})
    started = time.process_time()
    similarities = retsim_similarities(texts)
    taken = time.process_time() - started
    print(row(f"RETSim, {RETSIM_THRESHOLD}", [s >= RETSIM_THRESHOLD for s in similarities], truth))
    best = max(set(similarities), key=lambda least: f1([s >= least for s in similarities], truth))
    print(row(f"RETSim, best, {best:.3f}", [s >= best for s in similarities], truth))
    print(f"\nRETSim took {taken / len(texts) * 1e3:.1f} ms of processor time a pair")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    for path in sys.argv[2:]:
        compare(os.path.abspath(sys.argv[1]), path)


if __name__ == "__main__":
    main()
