"""NumPy arrays and Arrow tables, in and out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import simdb
from conftest import sentences

TEXTS = [*sentences(50), "x", "", "你妈妈喊你回家吃饭哦，回家罗回家罗"]


@pytest.fixture(scope="module")
def expected() -> np.ndarray[Any, Any]:
    fingerprinter = simdb.Fingerprinter()
    return np.array([int(fingerprinter.fingerprint(text)) for text in TEXTS], dtype=np.uint64)


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        iter,
        np.array,
        lambda texts: np.array(texts, dtype=object),
        lambda texts: np.array(texts, dtype=np.dtypes.StringDType()),
        pd.Series,
        pl.Series,
        pa.array,
        lambda texts: pa.array(texts, pa.large_string()),
        lambda texts: pa.array(texts, pa.string_view()),
        lambda texts: pa.array(texts).dictionary_encode(),
        lambda texts: pa.chunked_array([texts[:7], [], texts[7:]]),
        lambda texts: pa.array(["before", *texts, "after"]).slice(1, len(texts)),
        lambda texts: pa.table({"text": texts})["text"],
    ],
)
def test_fingerprints_of_texts_in_any_container(make: Any, expected: Any) -> None:
    fingerprinter = simdb.Fingerprinter()
    made, reliable = fingerprinter.fingerprints(make(TEXTS))
    assert made.dtype == np.uint64 and reliable.dtype == np.bool_
    np.testing.assert_array_equal(made, expected)
    reasons = [fingerprinter.unreliable_reason(text) for text in TEXTS]
    assert reliable.tolist() == [reason is None for reason in reasons]


def test_texts_that_are_none_are_refused_by_position() -> None:
    fingerprinter = simdb.Fingerprinter()
    cases: list[tuple[type[Exception], Any, str]] = [
        (TypeError, ["a", None], "text 1: a text .* is expected, not None; leave it out"),
        (TypeError, np.array([1, 2]), "text 0: a text .* not the int64 1; give str"),
        (simdb.InvalidArgumentError, pa.array(["a", "b", None]), "text 2 is null"),
        (simdb.InvalidArgumentError, pa.array([1, 2]), "column of strings is expected, not of Int64"),
        (simdb.InvalidArgumentError, pa.table({"text": ["a"]}), "select the column"),
        (simdb.InvalidArgumentError, "one text", "not one text"),
        (simdb.InvalidArgumentError, b"one text", "not one text"),
    ]
    for error, texts, message in cases:
        with pytest.raises(error, match=message):
            fingerprinter.fingerprints(texts)
    made, reliable = fingerprinter.fingerprints([])
    assert len(made) == len(reliable) == 0


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> simdb.Database:
    """A thousand random fingerprints, each with a neighbour."""
    path = tmp_path_factory.mktemp("arrays") / "docs.simdb"
    chosen = np.random.default_rng(7)
    bits = chosen.integers(0, 2**64, 1000, dtype=np.uint64)
    near = bits ^ np.uint64(0b101)
    table = pa.table({"id": np.arange(2000), "bits": np.concatenate([bits, near])})
    simdb.bulk_load(path, table, fingerprints="bits")
    return simdb.open(path)


@pytest.mark.parametrize(
    "make",
    [
        np.asarray,
        lambda bits: map(simdb.Fingerprint, bits),
        lambda bits: bits.tolist(),
        pa.array,
        pl.Series,
        pd.Series,
        lambda bits: np.repeat(bits, 2)[::2],
        lambda bits: bits[::-1].copy()[::-1],
        lambda bits: np.rec.fromarrays([np.zeros(len(bits), np.uint8), bits]).f1,
    ],
)
def test_batch_answers_equal_single_answers(loaded: simdb.Database, make: Any) -> None:
    stored = pa.table(loaded.to_arrow())["fingerprint"].to_numpy()
    queries = np.concatenate([stored[::3], np.array([0, 2**64 - 1], dtype=np.uint64)])
    offsets, ids, distances = loaded.within_batch(make(queries), 3)
    assert [str(array.dtype) for array in (offsets, ids, distances)] == ["int64", "uint64", "uint8"]
    assert len(offsets) == len(queries) + 1 and offsets[-1] == len(ids) == len(distances)
    for index, query in enumerate(queries):
        start, end = offsets[index], offsets[index + 1]
        single = [(match.id, match.distance) for match in loaded.within(simdb.Fingerprint(query), 3)]
        assert list(zip(ids[start:end], distances[start:end])) == single
    assert offsets[-1] >= 2 * (len(queries) - 2)
    limited, first, _ = loaded.within_batch(queries, 3, limit=1)
    assert limited[-1] == len(queries) - 2
    np.testing.assert_array_equal(first, ids[offsets[:-3]])


def test_empty_batch_has_one_offset(loaded: simdb.Database) -> None:
    offsets, ids, distances = loaded.within_batch(np.array([], dtype=np.uint64))
    assert offsets.tolist() == [0] and len(ids) == len(distances) == 0


def test_pairs_equal_a_comparison_of_all(loaded: simdb.Database) -> None:
    stored = pa.table(loaded.to_arrow())["fingerprint"].to_numpy()
    pairs = pa.table(loaded.pairs(3))
    found = sorted(zip(*(pairs[name].to_pylist() for name in ("a", "b", "distance"))))
    expected = []
    for a in range(len(stored)):
        distances = np.bitwise_count(stored[a + 1 :] ^ stored[a])
        expected += [(a, a + 1 + int(b), int(distances[b])) for b in np.nonzero(distances <= 3)[0]]
    assert found == sorted(expected) and len(found) >= 1000
    with pytest.raises(simdb.InvalidArgumentError, match="more than 10 pairs; call clusters"):
        loaded.pairs(3, max_pairs=10)


def test_clusters_are_tables_of_members(loaded: simdb.Database) -> None:
    clusters = pl.DataFrame(loaded.clusters(3))
    assert clusters.columns == ["cluster", "keeper", "id", "distance"]
    keepers = clusters.filter(pl.col("keeper") == pl.col("id"))
    assert len(keepers) == clusters["cluster"].n_unique() and len(clusters) == 2 * len(keepers)
    connected = pl.DataFrame(loaded.clusters(3, shape="connected"))
    assert connected.sort("id")["id"].equals(clusters.sort("id")["id"])
    for refused in ({"shape": "ring"}, {"keep": "best"}):
        with pytest.raises(simdb.InvalidArgumentError, match="there is no"):
            loaded.clusters(3, **refused)  # type: ignore[arg-type]


def test_tables_are_read_by_every_library_and_more_than_once(path: Path) -> None:
    texts = sentences(3)
    with simdb.open(path, "c", keep_texts=True) as db:
        db.bulk_load(enumerate(texts))
        documents = db.to_arrow()
        assert documents.column_names == ["id", "fingerprint", "reliable", "text"]
        assert documents.num_rows is None and "streamed" in repr(documents)
        for _ in range(2):
            assert pa.table(documents)["text"].to_pylist() == texts
            assert pl.DataFrame(documents)["text"].to_list() == texts
            selected: Any = duckdb.sql("select text from documents order by id")
            assert selected.fetchall() == [(text,) for text in texts]
            assert pd.DataFrame.from_arrow(documents)["text"].tolist() == texts
            assert datasets.Dataset(documents.to_pyarrow())["text"][:] == texts
        pairs = db.pairs()
        relation: Any = duckdb.sql("from pairs")
        assert relation.columns == ["a", "b", "distance"]
        assert pairs.to_pyarrow().num_rows == pairs.num_rows == 0


def test_value_that_does_not_fit_a_requested_schema_is_an_error(path: Path) -> None:
    """And not null."""
    signed = pa.schema([("id", pa.int64()), ("fingerprint", pa.int64()), ("reliable", pa.bool_())])
    with simdb.open(path, "c") as db:
        db.insert(1, simdb.Fingerprint(7))
        read = pa.RecordBatchReader.from_stream(db.to_arrow(), schema=signed).read_all()
        assert read.schema == signed and read["fingerprint"].to_pylist() == [7]
        db.insert(2, simdb.Fingerprint(2**63))
        with pytest.raises(Exception, match="9223372036854775808"):
            pa.RecordBatchReader.from_stream(db.to_arrow(), schema=signed).read_all()


def test_table_of_a_closed_database_is_an_error(path: Path) -> None:
    with simdb.open(path, "c") as db:
        db.insert(1, simdb.Fingerprint(7))
        table = db.to_arrow()
    with pytest.raises(Exception, match="was closed; open it again"):
        pa.table(table)


def test_table_of_many_batches_is_complete(path: Path) -> None:
    bits = np.arange(40_000, dtype=np.uint64) << np.uint64(20)
    with simdb.open(path, "c") as db:
        db.bulk_load(pa.table({"id": np.arange(40_000), "bits": bits}), fingerprints="bits")
        table = pa.table(db.to_arrow())
    assert len(table["id"].chunks) > 2
    np.testing.assert_array_equal(table["fingerprint"].to_numpy(), bits)


def test_features_and_tokens() -> None:
    fingerprinter = simdb.Fingerprinter("weighted")
    made = fingerprinter.fingerprint_tokens([("oboe", 0.5), ("tempo 120", 2.0)])
    assert made == fingerprinter.fingerprint_tokens([("tempo 120", 2.0), ("oboe", 0.5)])
    with pytest.raises(simdb.InvalidArgumentError, match="no fingerprints of texts"):
        fingerprinter.fingerprint("text")
    features = simdb.Fingerprinter("ngram").features("回家罗回家罗！")
    assert features[0][0] == "回家" and features[0][1] > 1.5
    assert simdb.Fingerprinter().normalise("《漢語》 Ｖｅｒ．１！") == "汉语ver1"
    assert simdb.Fingerprinter().fingerprint128("the cat sat on the mat") > 2**64


def test_recipes_have_names_and_options() -> None:
    names = [recipe.name for recipe in simdb.recipes()]
    assert names[0] == "ngram" and "jieba" in names
    recipe = simdb.Recipe("jieba", dictionary="海康云视界 100 n\n".encode())
    assert recipe != simdb.Recipe("jieba") and recipe.version >= 1
    features = simdb.Fingerprinter(recipe).features("他们去看海康云视界了")
    assert "海康云视界" in [token for token, _, _ in features]
    with pytest.raises(simdb.InvalidArgumentError, match="line 1"):
        simdb.Recipe("jieba", dictionary="海康云 many n\n".encode())
