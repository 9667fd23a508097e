#!/usr/bin/env python3
"""The verdicts of simdb about pairs of web pages that readers have graded.

    python graded_pages.py SIMDB_CLI CLONE [SET]...

CLONE is a clone of webis-de/ecir20-effect-of-near-duplicates-on-ir-evaluation (Fröbe, Bevendorff, Reimer, Potthast,
Hagen, ECIR 2020). A set is a folder of its `s3-document-pair-sample`: `core`, `web` and `terabyte`; by default all
sets are read. Each folder of a set is a pair: two files `full-text-ID`, and `label`, a grade from 0 to 3. Grade 3 is
a near-duplicate, and any other grade is none.

A pair counts if its texts differ after folding: NFKC, case folded, letters and digits only. Any method finds the
other pairs. One row a method, with the pairs that it calls near-duplicates:

- contained, news, alike: `simdb-cli compare --pairs --decide RULE`; a pair is found if one text may be removed
- MinHash, 0.7: the Jaccard index of the sets of three words in a row is at least 0.7. MinHash estimates this index;
  here the index is exact.

Traps:

- A grade is about the use of a page: a page with a correction is a near-duplicate. simdb removes a text if nothing
  is lost, so it keeps both.
- The sample has pairs of likeness 0.4 and more only, most of them of low grades. Among the pairs of a collection the
  precision of a method by likeness is another.
- Sets are small. With 13 near-duplicates, one pair moves recall by 0.08.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unicodedata

RULES = ("contained", "news", "alike")
REMOVABLE = ("same", "same_body", "a_in_b", "b_in_a")
NEAR_DUPLICATE = 3
SHINGLE_WORDS = 3
LEAST_JACCARD = 0.7
# A run of letters and digits, or one character of a script that is written without spaces.
WORD = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]|[^\W_\u2e80-\u9fff\uf900-\ufaff]+")


def fold(text):
    """The letters and digits of a text, without case and width."""
    return "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if c.isalnum())


def shingles(text):
    """The sets of three words in a row; a shorter text is one shingle."""
    words = WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    return {tuple(words[at:at + SHINGLE_WORDS]) for at in range(max(1, len(words) - SHINGLE_WORDS + 1))}


def jaccard(a, b):
    one, other = shingles(a), shingles(b)
    return len(one & other) / len(one | other)


def read_text(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def graded_pairs(folder):
    """Both texts and the grade of each pair of a set, by the name of the pair."""
    pairs = []
    for name in sorted(os.listdir(folder)):
        place = os.path.join(folder, name)
        label = os.path.join(place, "label")
        if not os.path.exists(label):
            continue
        texts = sorted(file for file in os.listdir(place) if file.startswith("full-text-"))
        if len(texts) != 2:
            sys.exit(f"{place}: {len(texts)} files full-text-*, expected 2")
        a, b = (read_text(os.path.join(place, file)) for file in texts)
        pairs.append((a, b, int(read_text(label))))
    return pairs


def removals(simdb, pairs, rule):
    """`True` for each pair of texts of which the rule removes one."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as lines:
        for a, b in pairs:
            lines.write(json.dumps({"a": a, "b": b}) + "\n")
        lines.seek(0)
        command = [simdb, "compare", "--pairs", "-", "--json", "--decide", rule]
        # The exit code 1 says that no pair is a near-duplicate.
        found = subprocess.run(command, stdin=lines, stdout=subprocess.PIPE, encoding="utf-8")
    answers = [json.loads(line) for line in found.stdout.splitlines()]
    if found.returncode > 1 or len(answers) != len(pairs):
        sys.exit(f"{' '.join(command)} ended with {found.returncode} after {len(answers)} of {len(pairs)} pairs")
    if rule == "alike":
        return [answer["alike"] for answer in answers]
    return [answer["verdict"] in REMOVABLE for answer in answers]


def scores(found, truth):
    """Precision, recall, and the numbers of pairs that are right, wrong and missed."""
    right = sum(f and t for f, t in zip(found, truth))
    wrong, missed = sum(found) - right, sum(truth) - right
    precision = right / (right + wrong) if right + wrong else None
    return precision, right / (right + missed) if right + missed else None, right, wrong, missed


def row(name, found, truth):
    """A line of a table in Markdown; `-` without a pair to divide by."""
    *shares, right, wrong, missed = scores(found, truth)
    shares = ("-" if share is None else f"{share:.3f}" for share in shares)
    return f"| {name} | {' | '.join(shares)} | {right} | {wrong} | {missed} |"


HEAD = "| | precision | recall | right | wrong | missed |\n|---|---|---|---|---|---|"


def print_rows(simdb, texts, truth, peers):
    """The rows of the rules of simdb, and of `peers`: functions of a list of pairs by their names."""
    print(HEAD)
    for rule in RULES:
        print(row(rule, removals(simdb, texts, rule), truth), flush=True)
    for name, find in peers.items():
        print(row(name, find(texts), truth), flush=True)


def by_jaccard(texts):
    return [jaccard(a, b) >= LEAST_JACCARD for a, b in texts]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    simdb, clone, *sets = sys.argv[1:]
    sample = os.path.join(clone, "s3-document-pair-sample")
    is_set = lambda name: os.path.isdir(os.path.join(sample, name))
    for name in sets or sorted(filter(is_set, os.listdir(sample))):
        pairs = graded_pairs(os.path.join(sample, name))
        differing = [(a, b, grade) for a, b, grade in pairs if fold(a) != fold(b)]
        truth = [grade == NEAR_DUPLICATE for _, _, grade in differing]
        print(f"\n{name}: {len(differing)} of {len(pairs)} pairs differ after folding, "
              f"{sum(truth)} of them near-duplicates\n")
        texts = [(a, b) for a, b, _ in differing]
        print_rows(os.path.abspath(simdb), texts, truth, {f"MinHash, {LEAST_JACCARD}": by_jaccard})


if __name__ == "__main__":
    main()
