#!/usr/bin/env python3
"""Similar texts: simdb, rensa and datasketch on the same texts and queries, judged by one rule.

    python similar_texts.py SIMDB_FOLDER TEXTS.jsonl [DOCUMENTS]...

SIMDB_FOLDER holds simdb-load and simdb-cli. TEXTS.jsonl has a field `text` in each line. A query is a text
with one or two words replaced. All find candidates by MinHash over shingles of three letters:

- simdb: `simdb-load --similar` and `simdb-cli query --similar`, the answer by what the texts say;
- rensa and datasketch: 120 minima in 40 bands of 3, and rensa with 128 minima in 16 bands, the
  number of its examples. Their answers are candidates, or candidates with an estimated Jaccard index of at
  least 0.5.

The answers of all are judged by `simdb-cli compare --pairs`: an answer is right if one of the two texts may be
deleted. The recall is the share of all right pairs that any of them found: of all, and of those that are
alike, which is what simdb looks for (edit similarity at least 0.65, or Jaccard index of phrases at least
0.55). A short text that a much longer text contains is right, and not alike. Each index is built and asked in a process of its own. Times are CPU
times of all threads; the time of a query of simdb includes reading the query and writing the answer.
"""

import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time

QUERIES = 300
LEAST_JACCARD = 0.5
SEED = 42
INDEXES = ["rensa 40 x 3", "rensa 16 x 8", "datasketch 40 x 3"]


def read_texts(path, count):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line, _ in zip(lines, range(count))]


def make_queries(texts):
    draw = random.Random(SEED)
    queries = []
    for nth in range(QUERIES):
        words = texts[nth * len(texts) // QUERIES].split() or ["none"]
        for _ in range(-(-len(words) // 5)):
            others = draw.choice(texts).split() or ["none"]
            words[draw.randrange(len(words))] = draw.choice(others)
        queries.append(" ".join(words))
    return queries


def shingles(text):
    letters = re.sub(r"[\W_]+", "", text.lower())
    return list({letters[at : at + 3] for at in range(max(1, len(letters) - 2))})


def open_index(name):
    """The functions that make the minima of a text, insert them, and find candidates."""
    if name.startswith("rensa"):
        from rensa import RMinHash, RMinHashLSH

        rows, bands = (120, 40) if "40" in name else (128, 16)
        index = RMinHashLSH(threshold=LEAST_JACCARD, num_perm=rows, num_bands=bands)

        def minima(text):
            made = RMinHash(num_perm=rows, seed=SEED)
            made.update(shingles(text))
            return made

    else:
        from datasketch import MinHash, MinHashLSH

        index = MinHashLSH(num_perm=120, params=(40, 3))

        def minima(text):
            made = MinHash(num_perm=120, seed=SEED)
            made.update_batch([shingle.encode() for shingle in shingles(text)])
            return made

    return minima, index.insert, index.query


def ask_peer(name, path, documents):
    """Runs in a process of its own; prints seconds, memory and the answers as JSON."""
    texts = read_texts(path, documents)
    queries = make_queries(texts)
    before = peak_bytes(resource.RUSAGE_SELF)
    minima, insert, query = open_index(name)
    started, all_minima = time.process_time(), []
    for document, text in enumerate(texts):
        all_minima.append(minima(text))
        insert(document, all_minima[-1])
    build = time.process_time() - started
    answers, filtered, times = [], [], []
    for text in queries:
        started = time.process_time()
        own = minima(text)
        found = sorted(query(own))
        times.append(time.process_time() - started)
        answers.append(found)
        filtered.append([each for each in found if own.jaccard(all_minima[each]) >= LEAST_JACCARD])
    memory = peak_bytes(resource.RUSAGE_SELF) - before
    result = dict(build=build, query=sum(times) / QUERIES, memory=memory, answers=answers, filtered=filtered)
    print(json.dumps(result))


def peak_bytes(whose):
    return resource.getrusage(whose).ru_maxrss * 1024


def measured(command, **options):
    """The output of a process, its CPU seconds, and its peak memory."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, **options)
        _, status, used = os.wait4(process.pid, 0)
        assert os.waitstatus_to_exitcode(status) in (0, 1), command
        output.seek(0)
        return output.read().decode(), used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def write_lines(path, objects):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(each) + "\n" for each in objects)


def ask_simdb(folder, place, texts, queries):
    load, ask = (os.path.join(folder, name) for name in ("simdb-load", "simdb-cli"))
    database, corpus = os.path.join(place, "similar.simdb"), os.path.join(place, "texts.jsonl")
    write_lines(corpus, (dict(id=id, text=text) for id, text in enumerate(texts)))
    _, build, _ = measured([load, database, corpus, "--similar", "--progress", "never"])

    def run(name, queries):
        write_lines(os.path.join(place, name), (dict(text=text) for text in queries))
        lines, seconds, memory = measured(
            [ask, "query", database, "--similar", "--json", "--file", os.path.join(place, name)]
        )
        answers = [[found["id"] for found in json.loads(line)["matches"]] for line in lines.splitlines()]
        return answers, seconds, memory

    answers, once, _ = run("queries.jsonl", queries)
    # The second half of the queries finds the letters of the stored texts in memory.
    twice, both, memory = run("twice.jsonl", queries + queries)
    assert twice == answers + answers
    return dict(build=build, query=(both - once) / QUERIES, memory=memory, answers=answers)


def judge(folder, place, texts, queries, pairs):
    """The pairs of which one text may be deleted, and those among them that are alike."""
    pairs = sorted(pairs)
    path = os.path.join(place, "pairs.jsonl")
    write_lines(path, (dict(a=queries[query], b=texts[document]) for query, document in pairs))
    lines = measured([os.path.join(folder, "simdb-cli"), "compare", "--pairs", path, "--json"])[0].splitlines()
    assert len(lines) == len(pairs)
    judged = [(pair, json.loads(line)) for pair, line in zip(pairs, lines)]
    right = {pair for pair, found in judged if found["verdict"] in ("same", "a_in_b", "b_in_a")}
    alike = {pair for pair, found in judged if (found["edit_similarity"] or 0) >= 0.65 or found["jaccard"] >= 0.55}
    return right, right & alike


def compare(folder, path, documents):
    texts = read_texts(path, documents)
    queries = make_queries(texts)
    rows = []
    with tempfile.TemporaryDirectory(dir=".") as place:
        rows.append(("simdb, from its file", ask_simdb(folder, place, texts, queries)))
        for name in INDEXES:
            own = [sys.executable, __file__, "--peer", name, path, str(documents)]
            result = json.loads(subprocess.run(own, check=True, stdout=subprocess.PIPE).stdout)
            rows.append((name + ", candidates", result))
            rows.append((name + f", estimated >= {LEAST_JACCARD}", result | dict(answers=result["filtered"])))
        found = [
            {(query, document) for query, answer in enumerate(result["answers"]) for document in answer}
            for _, result in rows
        ]
        right, alike = judge(folder, place, texts, queries, set().union(*found))
    print(f"\n{len(texts)} texts, {QUERIES} queries, {len(right)} right pairs, {len(alike)} of them alike\n")
    print("| index | build, CPU | query, CPU | memory | answers a query | recall | recall, alike | precision |")
    print("|---|---|---|---|---|---|---|---|")
    for (label, result), pairs in zip(rows, found):
        print(
            f"| {label} | {result['build']:.1f} s | {result['query'] * 1e3:.2f} ms "
            f"| {result['memory'] >> 20} MiB | {len(pairs) / QUERIES:.1f} "
            f"| {len(pairs & right) / len(right):.3f} | {len(pairs & alike) / len(alike):.3f} | {len(pairs & right) / max(1, len(pairs)):.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        ask_peer(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    elif len(sys.argv) < 3:
        sys.exit(__doc__)
    else:
        for size in [int(word.replace("_", "")) for word in sys.argv[3:]] or [64_000]:
            compare(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), size)
