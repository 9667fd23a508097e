#!/usr/bin/env python3
"""simdb-cli dedup by the definitions of two public benchmarks, as text-dedup publishes them.

    python evaluate.py SIMDB_CLI core|news DOCUMENTS.jsonl [OPTION OF DEDUP]...

`core` is the form of CORE (pinecone/core-2020-05-10-deduplication): `core_id`, `processed_title`,
`processed_abstract`, and `labelled_duplicates`, a list of ids. `news` is the form of NEWS-COPY
(chenghao/NEWS-COPY-eval): `article` and `cluster`, a number. One JSON object a line; other fields are not read.
A cluster of simdb is a keeper with all texts that are removed for it.

# CORE

T are the labelled duplicates of a document, P the other documents of its cluster:

| | P is empty | P is not empty |
|---|---|---|
| T is empty | TN | FP |
| T is not empty | FN | TP if T is a subset of P, otherwise FP |

Precision and recall of duplicates are TP / (TP + FP) and TP / (TP + FN); of non-duplicates, TN / (TN + FN) and
TN / (TN + FP). Accuracy is the share of documents with T = P.

Traps:

- The "macro F1" of text-dedup is the mean of the two precisions. It is printed as `macro_precision`.
- A superset counts as right: one cluster of all documents has recall 1, and precision as high as the share of
  documents with a duplicate. Accuracy counts such a cluster as wrong.
- A cluster that is found in part counts as FP and not as FN, so it does not lower recall.
- Labels say that two records are of one work. simdb removes a text if nothing is lost, so records of one work
  with abstracts that say different things stay, and count as FN.

# NEWS-COPY

The adjusted Rand index of the labels and the clusters (Hubert and Arabie, Journal of Classification 1985). A
document in no cluster is a cluster of its own.

Traps:

- The labels are transitive, and clusters of simdb are stars: two texts that lack words of each other, and that a
  third text contains, are together; a chain of edits is cut.
- text-dedup corrects the articles before it compares them. Here they are compared as they are.
"""

import collections
import json
import math
import os
import subprocess
import sys
import tempfile


def classify(truth, predicted):
    """TP, FP, TN or FN for the duplicates of one document."""
    if not predicted:
        return "FN" if truth else "TN"
    return "TP" if truth and truth <= predicted else "FP"


def share(part, whole):
    return part / whole if whole else 0.0


def core_scores(truth, predicted):
    """The scores of CORE, of the set of duplicates of each document."""
    of = collections.Counter(classify(truth[document], predicted[document]) for document in truth)
    tp, fp, tn, fn = (of[kind] for kind in ("TP", "FP", "TN", "FN"))
    duplicates, others = share(tp, tp + fp), share(tn, tn + fn)
    return {
        "precision_duplicates": duplicates, "recall_duplicates": share(tp, tp + fn),
        "precision_non_duplicates": others, "recall_non_duplicates": share(tn, tn + fp),
        "macro_precision": (duplicates + others) / 2,
        "accuracy": share(sum(truth[document] == predicted[document] for document in truth), len(truth)),
    }


def adjusted_rand_index(one, other):
    """The adjusted Rand index of two lists of labels."""

    def pairs(labels):
        return sum(math.comb(count, 2) for count in collections.Counter(labels).values())

    both, first, second, all_pairs = pairs(zip(one, other)), pairs(one), pairs(other), math.comb(len(one), 2)
    expected = share(first * second, all_pairs)
    most = (first + second) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)


def clusters_of(simdb, texts, options):
    """The number of the cluster of each text: the position of its keeper."""
    with tempfile.TemporaryDirectory() as place:
        places = {name: os.path.join(place, f"{name}.jsonl") for name in ("texts", "kept", "removed")}
        with open(places["texts"], "w", encoding="utf-8") as lines:
            for position, text in enumerate(texts):
                lines.write(json.dumps({"id": position, "text": text}) + "\n")
        command = [simdb, "dedup", places["texts"], "-o", places["kept"], "--report", places["removed"]]
        subprocess.run([*command, *options], check=True, stdout=subprocess.DEVNULL)
        clusters = list(range(len(texts)))
        with open(places["removed"], encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                clusters[line["id"]] = line["keeper"]
    return clusters


def evaluate(simdb, form, records, options):
    if form == "news":
        clusters = clusters_of(simdb, [record["article"] for record in records], options)
        return {"adjusted_rand_index": adjusted_rand_index([record["cluster"] for record in records], clusters)}
    texts = [f"{record['processed_title']} {record['processed_abstract']}" for record in records]
    ids = [str(record["core_id"]) for record in records]
    members = collections.defaultdict(set)
    clusters = clusters_of(simdb, texts, options)
    for document, cluster in zip(ids, clusters):
        members[cluster].add(document)
    predicted = {document: members[cluster] - {document} for document, cluster in zip(ids, clusters)}
    truth = {document: set(map(str, record["labelled_duplicates"])) for document, record in zip(ids, records)}
    return core_scores(truth, predicted)


def main():
    if len(sys.argv) < 4 or sys.argv[2] not in ("core", "news"):
        sys.exit(__doc__)
    simdb, form, path, *options = sys.argv[1:]
    with open(path, encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    for name, value in evaluate(os.path.abspath(simdb), form, records, options).items():
        print(f"{name}\t{value:.4f}")


if __name__ == "__main__":
    main()
