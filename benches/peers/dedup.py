#!/usr/bin/env python3
"""simdb-cli dedup, rensa, datasketch and text-dedup on one corpus: what each removes, and what that costs.

    python dedup.py SIMDB_CLI TEXTS.jsonl[.gz] [--judged PAIRS.jsonl] [--only NAME]...

TEXTS are JSON Lines with `id` and `text`. PAIRS are pairs of texts that readers have judged: `a`, `b` and
`gold`, `removable` or `different` (other values are left out). Their texts are added to the corpus, unless
it has them. Each program runs in a process of its own, from the file to the list of what it removes:

- simdb: `dedup`, and `dedup --radius 3`;
- rensa: RMinHashDeduplicator with LSH, as in its README: words, 128 permutations, threshold 0.8, and 0.5;
- datasketch: MinHashLSH, words, 128 permutations; a text that no kept text meets is inserted;
- text-dedup: `python -m text_dedup.minhash`, its defaults (5 words in a shingle, threshold 0.7), and single
  words. Its option --min_length is 1: by default it drops texts of fewer than 5 words without a count.

Columns, a line for each program:

- s, CPU s, MiB: elapsed and processor time; the peak memory of the largest process
- removed, copies: the texts removed; of them, the texts that are equal to their keeper
- said: of removals that are no copies, the share whose keeper says all of the removed text, as
  `simdb-cli compare --pairs` decides; `either`: or the removed text all of its keeper
- precision: of the judged pairs that are brought together (one is removed, and both have one keeper in the
  end), the share of `removable`
- recall: of the judged pairs that are `removable`, the share of which one text is gone

`said` is the rule of simdb itself, so its own row is 1 if all is well, and says nothing about the rule;
precision and recall are by readers.
"""

import argparse
import gzip
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time

PERMUTATIONS = 128
RENSA_BATCH = 10_000

def read(path):
    """The ids and texts of a file."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            yield record["id"], record["text"]


def write(path, removals):
    """A line for each removed document, with its keeper; `None` if the keeper is not asked for."""
    with open(path, "w") as lines:
        for document, keeper in removals:
            lines.write(json.dumps({"id": document, "keeper": keeper}) + "\n")


# The programs in Python, each in a process of its own --------------------------------------------


def by_rensa(corpus, threshold, keepers):
    from rensa import RMinHashDeduplicator

    dedup = RMinHashDeduplicator(threshold=float(threshold), num_perm=PERMUTATIONS, use_lsh=True)
    documents = [(str(document), text.split()) for document, text in read(corpus)]
    kept = dedup.add_pairs(documents)
    removed = [document for document, is_kept in zip(documents, kept) if not is_kept]
    if not keepers:
        return ((int(document), None) for document, _ in removed)
    found = dedup.get_duplicate_sets([words for _, words in removed])
    return ((int(document), min(map(int, keys))) for (document, _), keys in zip(removed, found) if keys)


def by_datasketch(corpus, threshold, keepers):
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(threshold=float(threshold), num_perm=PERMUTATIONS)
    for document, text in read(corpus):
        minima = MinHash(num_perm=PERMUTATIONS)
        minima.update_batch([word.encode() for word in text.split()])
        if found := index.query(minima):
            yield document, min(found)
        else:
            index.insert(document, minima, check_duplication=False)


def by_text_dedup(corpus, ngram, keepers):
    ids = [document for document, _ in read(corpus)]
    with tempfile.TemporaryDirectory(dir=os.path.dirname(corpus)) as place:
        command = [sys.executable, "-m", "text_dedup.minhash", "--path", "json", "--data_files", corpus,
                   "--split", "train", "--cache_dir", f"{place}/cache", "--output", f"{place}/kept",
                   "--column", "text", "--ngram", ngram, "--min_length", "1", "--batch_size", "10000",
                   "--num_proc", str(os.cpu_count()), "--debug"]
        environment = {**os.environ, "HF_DATASETS_OFFLINE": "1", "HF_HOME": f"{place}/home"}
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        with open(f"{place}/kept/uf.pkl", "rb") as file:
            groups = pickle.load(file)
    # The root of a group is the document that text-dedup keeps.
    return [(ids[at], ids[groups.find(at)]) for at in list(groups.parent) if groups.find(at) != at]


PEERS = {"rensa": by_rensa, "datasketch": by_datasketch, "text-dedup": by_text_dedup}


def programs(simdb):
    """The name of each row, its command, and the command that also names keepers if that costs more."""

    def dedup(*options):
        command = [simdb, "dedup", "{corpus}", "-o", "{kept}", "--force", "--progress", "never", *options]
        return command, [*command, "--report", "{removed}"]

    def peer(name, argument):
        command = [sys.executable, os.path.abspath(__file__), "--peer", name, argument, "{corpus}", "{removed}"]
        return (command, [*command, "--keepers"]) if name == "rensa" else (command, None)

    return {
        "simdb": dedup(), "simdb --radius 3": dedup("--radius", "3"),
        "rensa, 0.8": peer("rensa", "0.8"), "rensa, 0.5": peer("rensa", "0.5"),
        "datasketch, 0.8": peer("datasketch", "0.8"), "datasketch, 0.5": peer("datasketch", "0.5"),
        "text-dedup, 5 words": peer("text-dedup", "5"), "text-dedup, words": peer("text-dedup", "1"),
    }


# Costs and judgements ----------------------------------------------------------------------------


def run(command, places):
    """Elapsed seconds, processor seconds and the peak MiB of a command."""
    command = [word.format(**places) for word in command]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    elapsed = time.perf_counter() - started
    return elapsed, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def verdicts(simdb, pairs):
    """The verdict of `simdb-cli compare` about each pair of texts."""
    with tempfile.TemporaryFile("w+") as lines:
        for a, b in pairs:
            lines.write(json.dumps({"a": a, "b": b}) + "\n")
        lines.seek(0)
        command = [simdb, "compare", "--pairs", "-", "--json"]
        found = subprocess.run(command, stdin=lines, stdout=subprocess.PIPE, check=True, text=True)
    return [json.loads(line)["verdict"] for line in found.stdout.splitlines()]


def share(part, whole):
    return f"{part / whole:.3f}" if whole else "-"


def judged(pairs, texts, keeper_of):
    """Precision and recall on judged pairs: see the head of the file."""

    def group(document):
        while document in keeper_of:
            document = keeper_of[document]
        return document

    groups = {}
    kept = {text for document, text in texts.items() if document not in keeper_of}
    for document, text in texts.items():
        groups.setdefault(text, group(document))
    right = wrong = found = removable = 0
    for a, b, gold in pairs:
        is_gone = a not in kept or b not in kept
        is_together = is_gone and groups[a] == groups[b]
        if gold == "removable":
            removable, found, right = removable + 1, found + is_gone, right + is_together
        else:
            wrong += is_together
    return share(right, right + wrong), share(found, removable)


def compare(options, place):
    pairs = []
    if options.judged:
        with open(options.judged, encoding="utf-8") as lines:
            for pair in map(json.loads, lines):
                if pair["gold"] in ("removable", "different"):
                    pairs.append((pair["a"], pair["b"], pair["gold"]))
    texts = dict(read(options.texts))
    known, free = set(texts.values()), max(texts) + 1
    for text in sorted({text for pair in pairs for text in pair[:2]} - known):
        texts[free], free = text, free + 1
    places = {name: os.path.join(place, f"{name}.jsonl") for name in ("corpus", "kept", "removed")}
    with open(places["corpus"], "w", encoding="utf-8") as lines:
        for document, text in texts.items():
            lines.write(json.dumps({"id": document, "text": text}, ensure_ascii=False) + "\n")
    print(f"\n{len(texts)} texts, {len(pairs)} judged pairs\n\n"
          "| | s | CPU s | MiB | removed | copies | said | either | precision | recall |\n"
          "|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for name, (timed, keepers) in programs(options.simdb).items():
        if options.only and name not in options.only:
            continue
        elapsed, cpu, peak = run(timed, places)
        if keepers:
            run(keepers, places)
        with open(places["removed"]) as lines:
            keeper_of = {line["id"]: line["keeper"] for line in map(json.loads, lines)}
        differing = [(texts[a], texts[b]) for a, b in keeper_of.items() if texts[a] != texts[b]]
        found = verdicts(options.simdb, differing)
        said = sum(verdict in ("same", "a_in_b") for verdict in found)
        either = said + found.count("b_in_a")
        precision, recall = judged(pairs, texts, keeper_of)
        print(f"| {name} | {elapsed:.1f} | {cpu:.1f} | {peak:.0f} | {len(keeper_of)} | "
              f"{len(keeper_of) - len(differing)} | {share(said, len(found))} | {share(either, len(found))} | "
              f"{precision} | {recall} |", flush=True)


def main():
    if sys.argv[1:2] == ["--peer"]:
        name, argument, corpus, removed, *keepers = sys.argv[2:]
        return write(removed, PEERS[name](corpus, argument, bool(keepers)))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("simdb", metavar="SIMDB_CLI", type=os.path.abspath)
    parser.add_argument("texts", metavar="TEXTS")
    parser.add_argument("--judged", metavar="PAIRS")
    parser.add_argument("--only", metavar="NAME", action="append", help="only this row; may come several times")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as place:
        compare(options, os.path.abspath(place))


if __name__ == "__main__":
    main()
