"""dedup, pairs and clusters of data sets."""

from __future__ import annotations

import random
import subprocess
import sys
import textwrap
from typing import Any, Iterator

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import simdb
from conftest import sentences


def edited(text: str, chosen: random.Random) -> str:
    """A text with a word more, a word less, or only other case and punctuation."""
    words = text.split()
    kind = chosen.randrange(3)
    if kind == 0:
        words.insert(chosen.randrange(len(words)), "zeppelin")
    elif kind == 1:
        del words[chosen.randrange(len(words))]
    return ", ".join(words).title()


def corpus(seed: int, count: int = 300) -> list[str]:
    chosen = random.Random(seed)
    texts = sentences(count, seed)
    for _ in range(count):
        texts.append(edited(chosen.choice(texts), chosen))
    chosen.shuffle(texts)
    return texts


def kept_by_definition(texts: list[str]) -> set[int]:
    """The kept texts: each is compared with all kept texts before it."""
    kept: list[int] = []
    for index, text in enumerate(texts):
        for keeper in kept:
            found = simdb.compare(text, texts[keeper])
            alike = found.resemblance.same_wording or (
                (found.resemblance.edit_similarity or 0) >= 0.5
                or found.resemblance.jaccard >= 0.4
            )
            if alike and found.verdict in ("same", "a_in_b"):
                break
        else:
            kept.append(index)
    return set(kept)


@pytest.mark.parametrize("seed", [1, 2])
def test_kept_texts_are_those_of_the_definition(seed: int) -> None:
    texts = corpus(seed, 50)
    result = simdb.dedup(texts)
    assert list(result) == [texts[index] for index in result.kept]
    expected = kept_by_definition(texts)
    # The index may miss a match of a low score.
    assert len(expected ^ set(result.kept.tolist())) <= 1
    assert 50 <= len(expected) < 95


def test_every_removal_has_a_keeper_that_says_all_of_it() -> None:
    texts = corpus(3)
    result = simdb.dedup({"text": text} for text in texts)
    kept = list(result)
    assert [texts[index] for index in result.kept] == [record["text"] for record in kept]
    removed = [removal.removed for removal in result.removals]
    assert sorted([*removed, *result.kept]) == list(range(len(texts)))
    for removal in result.removals:
        assert removal.keeper in set(result.kept) and removal.keeper < removal.removed
        found = simdb.compare(texts[removal.removed], texts[removal.keeper])
        assert found.verdict == removal.verdict and removal.verdict in ("same", "a_in_b")
        assert found.missing_in_b == removal.missing
        assert sum(weight for _, weight in removal.missing) <= 3
        assert found.resemblance.jaccard == removal.jaccard
    assert result.index_bytes > 0
    assert repr(result) == f"<simdb.Dedup: {len(kept)} kept, {len(removed)} removed>"
    assert result.removals[-1] == list(result.removals)[-1] == result.removals[-2:][1]


def test_report_is_a_table() -> None:
    result = simdb.dedup(["The cat sat on the mat.", "the cat sat on the mat", "A dog!"]).run()
    report = pa.table(result.report()).to_pylist()
    assert report == [
        {
            "removed": 1,
            "keeper": 0,
            "verdict": "same",
            "missing": [],
            "edit_similarity": 1.0,
            "jaccard": 1.0,
        }
    ]


def test_longest_and_best_records_are_kept() -> None:
    records = [
        {"text": "the ferry to the island was cancelled", "votes": 1},
        {"text": "The ferry to the islands was cancelled on Monday because of fog", "votes": 2},
        {"text": "The ferry to the islands was cancelled on Monday because of the fog!", "votes": 9},
        {"text": "a recipe for pepper soup", "votes": 0},
    ]
    assert list(simdb.dedup(records, keep="longest").kept) == []
    assert list(simdb.dedup(records, keep="longest").run().kept) == [2, 3]
    assert list(simdb.dedup(records, keep=lambda record: record["votes"]).run().kept) == [2, 3]
    fewest = simdb.dedup(records, keep=lambda record: -record["votes"]).run()
    assert list(fewest.kept) == [0, 1, 3]
    assert [(removal.removed, removal.keeper) for removal in fewest.removals] == [(2, 1)]


def test_thresholds_alone_decide_with_alike() -> None:
    texts = ["MongoDB integration component for Plone", "Memcached integration component for Plone"]
    assert len(simdb.dedup(texts).run().kept) == 2
    alike = simdb.dedup(texts, decision="alike").run()
    assert list(alike.kept) == [0] and alike.removals[0].verdict is None
    strict = simdb.dedup(texts, decision="alike", edit_similarity=0.95, jaccard=0.95)
    assert len(strict.run().kept) == 2


def test_data_sets_of_every_kind_give_one_answer() -> None:
    import datasets

    texts = corpus(4, 100)
    rows = [{"n": number, "body": text} for number, text in enumerate(texts)]
    expected = list(simdb.dedup(rows, text="body"))
    assert 100 <= len(expected) < 200
    table = pa.Table.from_pylist(rows)
    made: Any = datasets.Dataset.from_list(rows)
    sources: list[Any] = [
        iter(rows),
        table,
        table.to_reader(max_chunksize=9),
        pl.DataFrame(rows),
        pd.DataFrame(rows),
        duckdb.from_arrow(table),
        made,
        made.to_iterable_dataset(),
    ]
    for dataset in sources:
        assert list(simdb.dedup(dataset, text="body")) == expected
    kept = simdb.dedup(table, text="body").run().kept
    assert table.take(kept).to_pylist() == made.select(kept).to_list() == expected


def test_records_are_read_as_a_stream() -> None:
    read = 0

    def records() -> Iterator[str]:
        nonlocal read
        for text in sentences(20_000):
            read += 1
            yield text

    result = simdb.dedup(records())
    next(result)
    assert read < 10_000


@pytest.mark.parametrize("keep", ["first", "longest", lambda text: text.count("a")])
def test_little_memory_takes_more_passes_to_the_same_records(keep: Any) -> None:
    """With one chunk of texts in memory at a time."""
    texts = [text for seed in range(10) for text in corpus(seed, 500)]
    whole = simdb.dedup(iter(texts), keep=keep).run()
    done: list[int] = []
    passes = simdb.dedup(
        iter(texts), keep=keep, memory_bytes=1, progress=lambda *report: done.append(report[1])
    )
    assert list(passes) == [texts[index] for index in passes.kept]
    assert passes.kept.tolist() == whole.kept.tolist()
    assert sorted(removal.removed for removal in passes.removals) == sorted(
        removal.removed for removal in whole.removals
    )
    assert passes.index_bytes < whole.index_bytes
    kept = set(passes.kept.tolist())
    for removal in passes.removals:
        assert removal.keeper in kept
        assert simdb.compare(texts[removal.removed], texts[removal.keeper]).verdict == removal.verdict
    assert done == sorted(done) and done[-1] == len(texts)


@pytest.mark.skipif(sys.platform != "linux", reason="no /proc")
@pytest.mark.parametrize("keep", ["first", "longest"])
def test_memory_is_bounded(keep: str) -> None:
    """22,000 records of 2 KB, whose index takes 63 MiB, and all of the work 81 to 85."""
    code = """
        import random, re, simdb, sys
        def peak_kib():
            return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
        def texts():
            chosen = random.Random(1)
            for number in range(22_000):
                if number % 11 < 10:
                    text = " ".join(f"{chosen.randrange(10**6):x}" for _ in range(15))
                yield {"text": text.upper(), "more": text.encode() * 20}
        simdb.dedup([{"text": "a text that loads the tables"}]).run()
        before = peak_kib()
        result = simdb.dedup(texts(), keep=sys.argv[1], memory_bytes=8 << 20)
        assert sum(1 for _ in result) == 20_000 and len(result.removals) == 2000
        print(peak_kib() - before)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), keep]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) < 64 << 10


def test_exception_of_the_source_passes_and_bad_records_are_named() -> None:
    def failing() -> Iterator[str]:
        yield "a text"
        raise RuntimeError("the source failed")

    with pytest.raises(RuntimeError, match="the source failed"):
        list(simdb.dedup(failing()))
    refused: list[tuple[list[Any], str]] = [
        ([{"txt": "a"}], "record 0 has no field 'text'; its fields are \\['txt'\\]"),
        (["a", {"text": None}], "field 'text' of record 1 is no string but NoneType"),
        ([5], "record 0 has no field 'text'"),
    ]
    for bad, message in refused:
        with pytest.raises(simdb.InvalidArgumentError, match=message):
            list(simdb.dedup(bad))
    columns: Any = {"text": ["a", "b"]}
    for dataset, error, message in [
        ("one text", simdb.InvalidArgumentError, "not one text"),
        (columns, simdb.InvalidArgumentError, "pyarrow.table"),
        (5, TypeError, "an iterable of records, or an Arrow table, not int"),
    ]:
        for function in (simdb.dedup, simdb.pairs, simdb.clusters):
            with pytest.raises(error, match=message):
                function(dataset)
    for options in ({"keep": "best"}, {"decision": "maybe"}, {"jaccard": 1.5}):
        with pytest.raises(simdb.InvalidArgumentError):
            simdb.dedup([], **options)


def test_empty_data_set_has_an_empty_answer() -> None:
    result = simdb.dedup([]).run()
    assert len(result.kept) == len(result.removals) == result.report().num_rows == 0
    assert simdb.pairs([]).num_rows == simdb.clusters([]).num_rows == 0


def test_pairs_equal_a_comparison_of_all() -> None:
    texts = corpus(5, 40)
    found = pa.table(simdb.pairs(texts)).to_pylist()
    by_definition = set()
    for b in range(len(texts)):
        for a in range(b):
            compared = simdb.compare(texts[a], texts[b])
            alike = compared.resemblance
            if (alike.edit_similarity or 0) >= 0.5 or alike.jaccard >= 0.4 or alike.same_wording:
                if compared.verdict in ("same", "a_in_b", "b_in_a"):
                    by_definition.add((a, b, compared.verdict))
    assert len(by_definition ^ {(row["a"], row["b"], row["verdict"]) for row in found}) <= 1
    assert len(by_definition) >= 20
    with pytest.raises(simdb.InvalidArgumentError, match="more than 3 pairs"):
        simdb.pairs(texts, max_pairs=3)


def test_clusters_are_the_keepers_with_what_was_removed() -> None:
    texts = corpus(6, 100)
    clusters = pl.DataFrame(simdb.clusters(texts))
    result = simdb.dedup(texts).run()
    members = clusters.filter(pl.col("id") != pl.col("keeper"))
    assert set(members.select("id", "keeper").rows()) == {
        (removal.removed, removal.keeper) for removal in result.removals
    }
    keepers = clusters.filter(pl.col("id") == pl.col("keeper"))
    assert set(keepers["id"]) == {removal.keeper for removal in result.removals}


def test_many_copies_and_templates_are_fast() -> None:
    copies = ["the same text of a hundred thousand records, about a lantern"] * 20_000
    assert len(simdb.dedup(copies).run().kept) == 1
    templates = [f"Integration component number {number} for Plone and Zope" for number in range(300)]
    result = simdb.dedup(templates).run()
    assert np.array_equal(result.kept, np.arange(300))
