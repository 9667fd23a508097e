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
    """A text with a sentence more, a word less, or only other case and punctuation."""
    words = text.split()
    kind = chosen.randrange(3)
    if kind == 0:
        return f"{text}. A zeppelin lands"
    if kind == 1:
        del words[chosen.randrange(len(words))]
    return ", ".join(words).title()


RULES: list[Any] = ["first", "longest", lambda _record: 1, "earlier"]
"""Rules for the record to keep."""


def corpus(seed: int, count: int = 300) -> list[str]:
    chosen = random.Random(seed)
    texts = sentences(count, seed)
    for _ in range(count):
        texts.append(edited(chosen.choice(texts), chosen))
    chosen.shuffle(texts)
    return texts


def kept_by_definition(texts: list[str]) -> set[int]:
    """The kept texts with keep="earlier": each is compared with all kept texts before it."""
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
    result = simdb.dedup(texts, keep="earlier")
    assert list(result) == [texts[index] for index in result.kept]
    expected = kept_by_definition(texts)
    # The index may miss a match of a low score.
    assert len(expected ^ set(result.kept.tolist())) <= 1
    assert 50 <= len(expected) < 95


@pytest.mark.parametrize("keep", ["first", "longest", "earlier"])
def test_every_removal_has_a_keeper_that_says_all_of_it(keep: Any) -> None:
    texts = corpus(3)
    result = simdb.dedup(({"text": text} for text in texts), keep=keep)
    kept = list(result)
    assert [texts[index] for index in result.kept] == [record["text"] for record in kept]
    removed = [removal.removed for removal in result.removals]
    assert sorted([*removed, *result.kept]) == list(range(len(texts)))
    for removal in result.removals:
        assert removal.keeper in set(result.kept)
        assert removal.keeper < removal.removed or keep != "earlier"
        found = simdb.compare(texts[removal.removed], texts[removal.keeper])
        assert found.verdict == removal.verdict and removal.verdict in ("same", "a_in_b")
        assert found.missing_in_b == removal.missing
        assert sum(weight for _, weight in removal.missing) <= 3
        assert found.resemblance.jaccard == removal.jaccard
    assert result.is_complete and (result.index_bytes > 1000) == (keep == "earlier")
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
        {"text": "The ferry to the islands was cancelled. Fog lay on the sea", "votes": 2},
        {"text": "The ferry to the islands was cancelled! The fog lay on the sea!", "votes": 9},
        {"text": "a recipe for pepper soup", "votes": 0},
    ]
    assert list(simdb.dedup(records, keep="longest").run().kept) == [2, 3]
    assert list(simdb.dedup(records, keep=lambda record: record["votes"]).run().kept) == [2, 3]
    fewest = simdb.dedup(records, keep=lambda record: -record["votes"]).run()
    # Record 0 has fewer votes than record 1, and does not cover record 2.
    assert list(fewest.kept) == [1, 3]
    assert [(removal.removed, removal.keeper) for removal in fewest.removals] == [(0, 1), (2, 1)]
    # Only the longest text covers all others: it is kept, and it is not the first.
    first = [records[0]["text"], records[2]["text"]]
    assert list(simdb.dedup(first).run().kept) == [1]
    assert list(simdb.dedup(first, keep="earlier").run().kept) == [0, 1]


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
    frame = pd.DataFrame(rows).assign(features="a column with the name of an attribute of datasets.Dataset")
    assert simdb.dedup(frame, text="body").run().kept.tolist() == kept.tolist()


def test_records_are_read_as_a_stream() -> None:
    read = 0

    def records() -> Iterator[str]:
        nonlocal read
        for text in sentences(20_000):
            read += 1
            yield text

    result = simdb.dedup(records(), keep="earlier")
    assert next(result) and not result.is_complete
    assert read < 10_000 and repr(result) == "<simdb.Dedup: 1 kept, 0 removed, incomplete>"


@pytest.mark.parametrize("keep", ["first", "longest", lambda text: text.count("a")])
def test_little_memory_gives_the_same_records(keep: Any) -> None:
    texts = [text for seed in range(4) for text in corpus(seed, 500)]
    whole = simdb.dedup(iter(texts), keep=keep).run()
    small = simdb.dedup(iter(texts), keep=keep, memory_bytes=1)
    assert list(small) == [texts[index] for index in whole.kept]
    assert list(small.removals) == list(whole.removals) and len(whole.removals) > 1000


def test_little_memory_takes_more_passes_to_the_same_records() -> None:
    """With one chunk of texts in memory at a time."""
    texts = [text for seed in range(10) for text in corpus(seed, 500)]
    whole = simdb.dedup(iter(texts), keep="earlier").run()
    done: list[int] = []
    passes = simdb.dedup(
        iter(texts), keep="earlier", memory_bytes=1, progress=lambda *report: done.append(report[1])
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
@pytest.mark.parametrize("keep, most_mib", [("first", 108), ("earlier", 64)])
def test_memory_is_bounded(keep: str, most_mib: int) -> None:
    """22,000 records of 2 KB. In unlimited memory, all of the work takes 138 MiB with "first", and 81 to 85
    with "earlier"; in the least memory 86 and 50."""
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
    assert int(ended.stdout) < most_mib << 10


def test_exception_of_the_source_passes_and_bad_records_are_named() -> None:
    def failing() -> Iterator[str]:
        yield "a text"
        raise RuntimeError("the source failed")

    with pytest.raises(RuntimeError, match="the source failed"):
        list(simdb.dedup(failing()))
    refused: list[tuple[list[Any], str]] = [
        ([{"txt": "a"}], "record 0 has no field 'text'; its fields are \\['txt'\\]"),
        (["a", ["b"]], "record 1 has no field 'text': it is of type list"),
        (["a", "b \ud83d"], "record 1.* has a lone surrogate at character 2, .* replace it"),
    ]
    for keep in RULES:
        for bad, message in refused:
            with pytest.raises(simdb.InvalidArgumentError, match=message):
                list(simdb.dedup(bad, keep=keep))
    columns: Any = {"text": ["a", "b"]}
    for dataset, error, message in [
        ("one text", simdb.InvalidArgumentError, "not one text"),
        (columns, simdb.InvalidArgumentError, "pyarrow.table"),
        (5, TypeError, "an iterable of records, or an Arrow table, not int"),
        (pl.LazyFrame(columns), TypeError, "LazyFrame.*collect\\(\\)"),
    ]:
        for function in (simdb.dedup, simdb.pairs, simdb.clusters):
            with pytest.raises(error, match=message):
                function(dataset)
    options: dict[str, Any]
    for options in (
        {"keep": "best"},
        {"decision": "maybe"},
        {"jaccard": 1.5},
        {"edit_similarity": float("nan")},
        {"memory_bytes": -1},
        {"memory_bytes": 0},
    ):
        with pytest.raises(simdb.InvalidArgumentError):
            simdb.dedup([], **options)
    with pytest.raises(TypeError, match="memory_bytes is a number of bytes .*, not bool"):
        simdb.dedup([], memory_bytes=True)
    with pytest.raises(simdb.InvalidArgumentError, match="known are 'contained', 'news' and 'alike'"):
        simdb.pairs([], decision="maybe")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "bad, found",
    [
        (1984, "the int 1984, .* give str\\(1984\\)"),
        (19.5, "the float 19.5"),
        (True, "the bool True"),
        (np.uint64(7), "the uint64 7"),
        (b"bytes", "of type bytes, .* decode it"),
    ],
)
def test_numbers_and_bytes_are_no_texts(bad: Any, found: str) -> None:
    """Each is named by its position in the whole data set."""
    functions: list[Any] = [simdb.dedup, simdb.pairs, simdb.clusters]
    for before in (0, 5000):
        texts = sentences(before)
        for function in functions:
            with pytest.raises(TypeError, match=f"^record {before} is {found}"):
                list(function([*texts, bad]))
            with pytest.raises(TypeError, match=f"^field 'text' of record {before} is {found}"):
                list(function([*texts, {"text": bad}]))


def test_lone_surrogate_is_named_by_its_record() -> None:
    texts = [*sentences(5000), "a \ud800"]
    for keep in RULES:
        with pytest.raises(simdb.InvalidArgumentError, match="^record 5000.* lone surrogate at character 2"):
            simdb.dedup(texts, keep=keep).run()
    with pytest.raises(simdb.InvalidArgumentError, match="^record 5001 has a lone surrogate at character 2"):
        simdb.pairs([None, *texts])


@pytest.mark.parametrize("keep", RULES)
def test_records_without_a_text_stay(keep: Any) -> None:
    missing: list[Any] = [None, float("nan"), pd.NA, pd.NaT, np.float32("nan"), "", " \n"]
    text = "The ferry to the islands was cancelled because of fog."
    records = [*missing, text, *missing, text.upper(), *missing]
    result = simdb.dedup(records, keep=keep).run()
    assert [(removal.removed, removal.keeper) for removal in result.removals] == [
        (2 * len(missing) + 1, len(missing))
    ]
    fields = [{"text": value} for value in records]
    assert simdb.dedup(iter(fields), keep=keep).run().kept.tolist() == result.kept.tolist()
    assert pa.table(simdb.pairs(fields))["a"].to_pylist()[-1:] == [len(missing)]


@pytest.mark.parametrize("keep", RULES)
def test_texts_without_a_letter_are_duplicates_if_they_are_equal(keep: Any) -> None:
    texts = ["😀", "!!!", "😀", "...", "!!!", "😀😀", "!!! "]
    result = simdb.dedup(texts, keep=keep).run()
    assert [(removal.removed, removal.keeper) for removal in result.removals] == [(2, 0), (4, 1)]
    assert result.removals[0].verdict == "same"
    assert [(row["a"], row["b"]) for row in pa.table(simdb.pairs(texts)).to_pylist()] == [(0, 2), (1, 4)]


@pytest.mark.parametrize(
    "make",
    [
        pd.Series,
        lambda texts: pd.Series(texts, index=["schema", "columns", *range(len(texts) - 2)]),
        lambda texts: pd.Series(texts, dtype="string"),
        pl.Series,
        pa.array,
        lambda texts: pa.chunked_array([texts[:7], [], texts[7:]]),
        lambda texts: np.array(texts, dtype=object),
        lambda texts: pd.Series([{"text": text} for text in texts]),
        lambda texts: pl.Series([{"text": text} for text in texts]),
        lambda texts: pa.RecordBatch.from_pydict({"text": texts}),
    ],
)
def test_columns_are_iterables_of_texts(make: Any) -> None:
    texts: list[Any] = [*corpus(7, 20), None]
    expected = simdb.dedup(texts).run().kept.tolist()
    assert simdb.dedup(make(texts)).run().kept.tolist() == expected
    assert len(expected) < len(texts)
    pairs = pa.table(simdb.pairs(make(texts))).to_pylist()
    assert pairs == pa.table(simdb.pairs(texts)).to_pylist() != []


def test_scores_are_numbers() -> None:
    texts: Any = ["one text", "another text"]
    with pytest.raises(simdb.InvalidArgumentError, match="the score of record 1 is NaN"):
        simdb.dedup(texts, keep=lambda text: 1.0 if text == "one text" else float("nan")).run()
    for score in ("5", None, [1]):
        wrong: Any = lambda _text, score=score: score
        with pytest.raises(TypeError, match="the score of record 0 is of type .*, not a number"):
            simdb.dedup(texts, keep=wrong).run()


@pytest.mark.parametrize("keep", RULES)
@pytest.mark.parametrize("failure", [RuntimeError("of the source"), KeyboardInterrupt(), 1984])
def test_failed_dedup_never_says_that_it_is_complete(keep: Any, failure: Any) -> None:
    def failing() -> Iterator[Any]:
        yield from sentences(5000)
        if not isinstance(failure, BaseException):
            yield failure
            return
        raise failure

    kind: Any = type(failure) if isinstance(failure, BaseException) else TypeError
    for first_use in (list, simdb.Dedup.run):
        result = simdb.dedup(failing(), keep=keep)
        with pytest.raises(kind):
            first_use(result)
        assert not result.is_complete and "incomplete" in repr(result)
        uses: list[Any] = [result.run, result.report, lambda: result.kept, lambda: list(result)]
        for use in uses:
            with pytest.raises(simdb.IncompleteError, match=f"{kind.__name__} after 5000 records") as raised:
                use()
            assert isinstance(raised.value.__cause__, kind)


@pytest.mark.parametrize("keep", RULES)
def test_rest_of_a_data_set_is_decided_by_run(keep: Any) -> None:
    """After some records were read, and the loop was left."""
    texts = corpus(8, 100)
    whole = simdb.dedup(texts, keep=keep).run()
    result = simdb.dedup(iter(texts), keep=keep)
    for _ in range(3):
        next(result)
    assert not result.is_complete
    assert result.run().kept.tolist() == whole.kept.tolist() and result.is_complete
    assert result.run() is result and list(result) == []


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


def test_several_fields_make_one_text() -> None:
    body = "The ferry to the islands was cancelled because of fog."
    rows = [
        {"title": "Ferry cancelled", "body": body},
        {"title": None, "body": f"Ferry cancelled\n{body}"},
        {"title": "Council votes against the new bridge", "body": body},
        {"title": "", "body": None},
        {"body": body},
    ]
    both = ["title", "body"]
    for keep in ("first", "earlier"):
        for source in (rows, pa.Table.from_pylist(rows)):
            result = simdb.dedup(source, both, keep=keep).run()
            assert [removal.removed for removal in result.removals if removal.removed < 4] == [1]
    pairs = simdb.pairs(rows[:3], both).num_rows
    assert pairs and pairs == simdb.pairs(rows[:3], tuple(both)).num_rows
    assert (simdb.clusters(rows, both).num_rows or 0) >= 2
    with pytest.raises(simdb.InvalidArgumentError, match="record 0 has no field 'b'"):
        simdb.dedup(rows, ["a", "b"]).run()
    with pytest.raises(simdb.InvalidArgumentError, match="there is none"):
        simdb.dedup(rows, [])
