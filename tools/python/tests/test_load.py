"""Bulk loads from every kind of source, and their failures."""

from __future__ import annotations

import errno
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Iterator, List, Optional, Union, cast

import datasets
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tqdm import tqdm

import simdb
from conftest import sentences

TEXTS = sentences(500)
RECORDS = [{"id": id, "text": text} for id, text in enumerate(TEXTS)]


@pytest.mark.parametrize(
    "make",
    [
        lambda: RECORDS,
        lambda: iter(RECORDS),
        lambda: enumerate(TEXTS),
        lambda: pa.Table.from_pylist(RECORDS),
        lambda: pa.Table.from_pylist(RECORDS).to_reader(max_chunksize=7),
        lambda: pa.RecordBatch.from_pylist(RECORDS),
        lambda: pl.DataFrame(RECORDS),
        lambda: pd.DataFrame(RECORDS),
        lambda: duckdb.from_arrow(pa.Table.from_pylist(RECORDS)),
        lambda: datasets.Dataset.from_list(RECORDS),
    ],
)
def test_records_of_any_source_are_loaded(path: Path, make: Any) -> None:
    report = simdb.bulk_load(path, make(), keep_texts=True)
    assert repr(report) == "BulkReport(inserted=500, present=0, conflicts=0, conflict_ids=[], expired=0)"
    with simdb.open(path, "w") as db:
        assert [document.text for document in db.documents()] == TEXTS
        assert [match.id for match in db.within(TEXTS[77])] == [77]
        again = db.bulk_load(make())
        assert (again.inserted, again.present) == (0, 500)


def test_records_without_ids_are_numbered(path: Path) -> None:
    rows = [{"body": text} for text in TEXTS]
    simdb.bulk_load(path, rows, id=None, text="body", keep_texts=True)
    table = pa.table({"body": TEXTS})
    other = path.with_name("other.simdb")
    simdb.bulk_load(other, table, id=None, text="body", keep_texts=True)
    with simdb.open(path) as a, simdb.open(other) as b:
        assert list(a.documents()) == list(b.documents())
        assert len(a) == 500


def test_several_fields_make_one_text(path: Path) -> None:
    rows = [
        {"id": 1, "title": "Ferry", "body": TEXTS[0]},
        {"id": 2, "title": None, "body": TEXTS[1]},
        {"id": 3, "title": " ", "body": TEXTS[2]},
        {"id": 4, "title": "Ferry", "body": ""},
    ]
    expected = [f"Ferry\n{TEXTS[0]}", TEXTS[1], TEXTS[2], "Ferry"]
    sources: list[Any] = [rows, pa.Table.from_pylist(rows), pl.DataFrame(rows)]
    for number, source in enumerate(sources):
        path = path.with_name(f"{number}.simdb")
        simdb.bulk_load(path, source, text=["title", "body"], keep_texts=True)
        with simdb.open(path, "w") as db:
            assert [document.text for document in db.documents()] == expected
            assert db.bulk_load(source, text=("title", "body")).present == 4
    missing = [{"id": 1, "body": TEXTS[0]}, {"id": 2, "head": "x"}]
    other = path.with_name("other.simdb")
    with pytest.raises(simdb.InvalidArgumentError, match="record 1 has no field 'title'"):
        simdb.bulk_load(other, missing, text=["title", "body"])
    simdb.bulk_load(other, missing[:1], text=["title", "body"])
    for text, message in [([], "there is none"), (["title", "lead"], "no column 'lead'")]:
        with pytest.raises(simdb.InvalidArgumentError, match=message):
            simdb.bulk_load(path.with_name("x.simdb"), pa.Table.from_pylist(rows), text=text)
    nulls = pa.table({"id": [7], "title": pa.array([None], pa.string()), "body": pa.array([None], pa.string())})
    with pytest.raises(simdb.InvalidArgumentError, match="text of document 7 is null"):
        simdb.bulk_load(path.with_name("x.simdb"), nulls, text=["title", "body"])
    with pytest.raises(TypeError, match="field 'title' of record 0: a text .* not None; leave it out"):
        simdb.bulk_load(path.with_name("x.simdb"), nulls.to_pylist(), text=["title", "body"])


def test_fingerprints_are_loaded(path: Path) -> None:
    bits = np.arange(100, dtype=np.uint64) << np.uint64(30)
    sources: list[tuple[Any, Optional[str]]] = [
        (zip(range(100), map(simdb.Fingerprint, bits)), None),
        (zip(range(100), bits), "bits"),
        ([{"id": id, "bits": number} for id, number in enumerate(bits.tolist())], "bits"),
        (pl.DataFrame({"id": range(100), "bits": bits}), "bits"),
    ]
    for number, (records, fingerprints) in enumerate(sources):
        path = path.with_name(f"{number}.simdb")
        simdb.bulk_load(path, records, fingerprints=fingerprints)
        with simdb.open(path) as db:
            assert db.within(simdb.Fingerprint(7 << 30), 0)[0].id == 7 and len(db) == 100


def test_unreliable_fingerprints_stay_unreliable(path: Path) -> None:
    simdb.bulk_load(path, [(1, "x"), (2, TEXTS[0])])
    with simdb.open(path) as db:
        table, expected = db.to_arrow().to_pyarrow(), list(db.documents())
    assert [document.reliable for document in expected] == [False, True]
    nulls = table.set_column(2, "reliable", pa.array([False, None]))
    for number, records in enumerate([table, table.to_pylist(), nulls, nulls.to_pylist()]):
        other = path.with_name(f"{number}.simdb")
        simdb.bulk_load(other, records, fingerprints="fingerprint")
        with simdb.open(other) as db:
            assert list(db.documents()) == expected
    numbers = table.set_column(2, "reliable", pa.array([0, 1]))
    with pytest.raises(simdb.InvalidArgumentError, match="column 'reliable' of bool is expected, not of Int64"):
        simdb.bulk_load(path.with_name("n.simdb"), numbers, fingerprints="fingerprint")
    with pytest.raises(TypeError, match="field 'reliable' of record 0"):
        simdb.bulk_load(path.with_name("n.simdb"), numbers.to_pylist(), fingerprints="fingerprint")


def test_conflicts_are_counted(path: Path) -> None:
    report = simdb.bulk_load(path, [(1, TEXTS[0]), (1, TEXTS[1]), (2, TEXTS[1])])
    assert (report.inserted, report.conflicts, report.conflict_ids) == (2, 1, [1])
    with simdb.open(path, "w") as db:
        again = db.bulk_load([(id, TEXTS[id + 5]) for id in range(3)] + [(7, TEXTS[7])])
        assert (again.inserted, sorted(again.conflict_ids)) == (2, [1, 2])
        many = db.bulk_load([(1, text) for text in TEXTS] * 3)
        assert many.conflicts == 3 * (len(TEXTS) - 1) and len(many.conflict_ids) == 1000


@pytest.mark.parametrize(
    "records, message",
    [
        ([{"id": 1, "txt": "a"}], "record 0 has no field 'text': its fields are .*txt"),
        ([(1, "a"), 5], "record 1 has no field 'id': it is of type int"),
        ([(1, "a"), ("b", 2, 3)], "record 1 is a tuple, but not of an id and a text"),
        ([{"id": -1, "text": "a"}], "field 'id' of record 0: an id is an int from 0 .* which -1 is not"),
        (pl.Series(TEXTS), "a table with a column of ids .* enumerate"),
        (pa.table({"id": [1], "text": [1984]}), "column 'text' has numbers.*fingerprints=\"text\""),
        (enumerate([*TEXTS * 20, "x \ud83d"]), "record 10000: the text has a lone surrogate at character 2"),
        (pa.table({"id": [*range(9000), None], "text": ["a"] * 9001}), "row 9000 of a column of integers is null"),
        (pa.table({"id": [1], "body": ["a"]}), "there is no column 'text'"),
        (pa.table({"id": [1, 2], "text": ["a", None]}), "text of document 2 is null"),
        (pa.table({"id": [1, None], "text": ["a", "b"]}), "null or a negative number"),
        (pa.table({"id": [-1], "text": ["a"]}), "null or a negative number"),
        (pa.table({"id": ["a"], "text": ["a"]}), "column of integers is expected"),
    ],
)
def test_bad_records_are_refused_and_nothing_is_left(
    path: Path, records: Any, message: str
) -> None:
    with pytest.raises(simdb.InvalidArgumentError, match=message):
        simdb.bulk_load(path, records)
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize(
    "records, message",
    [
        ([(1, "a"), ("b", "c")], "record 1: an id \\(int\\) is expected, not str"),
        ([(True, "a")], "record 0: an id \\(int\\) is expected, not bool"),
        ([{"id": 1, "text": None}], "field 'text' of record 0: a text .* not None; leave it out"),
        ([{"id": 1, "text": float("nan")}], "field 'text' of record 0: a text .* not nan; leave it out"),
        ([(1, "a"), (2, b"c")], "record 1: a text .* not bytes; decode the bytes"),
        (enumerate([*TEXTS * 20, 1984]), "record 10000: a text .* not the int 1984; give str"),
    ],
)
def test_records_of_wrong_types_are_named(path: Path, records: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        simdb.bulk_load(path, records)
    assert list(path.parent.iterdir()) == []


def failing(after: int) -> Iterator[tuple[int, str]]:
    for id in range(after):
        yield id, TEXTS[id % 500]
    raise RuntimeError("the source failed")


@pytest.mark.parametrize("after", [0, 10, 20_000])
def test_exception_of_the_source_ends_a_load_and_changes_nothing(path: Path, after: int) -> None:
    with pytest.raises(RuntimeError, match="the source failed"):
        simdb.bulk_load(path, failing(after))
    assert list(path.parent.iterdir()) == []
    with simdb.open(path, "c") as db:
        db.insert(1, TEXTS[0])
        with pytest.raises(RuntimeError, match="the source failed"):
            db.bulk_load(failing(after))
        assert len(db) == 1 and db.insert(2, TEXTS[1]).inserted
        assert db.check() == []


def test_exception_of_an_arrow_stream_ends_a_load(path: Path) -> None:
    def batches() -> Iterator[Any]:
        yield pa.RecordBatch.from_pylist(RECORDS)
        raise RuntimeError("the source failed")

    schema = pa.RecordBatch.from_pylist(RECORDS).schema
    with pytest.raises(simdb.Error, match="the source failed"):
        simdb.bulk_load(path, pa.RecordBatchReader.from_batches(schema, batches()))
    assert list(path.parent.iterdir()) == []


def test_source_may_use_other_databases_and_the_same(path: Path, db: simdb.Database) -> None:
    db.insert(1, TEXTS[0])
    other = path.with_name("other.simdb")

    def records() -> Iterator[tuple[int, str]]:
        for document in db.documents():
            assert document.text is not None
            yield document.id, document.text
        with pytest.raises(simdb.AlreadyExistsError):
            simdb.open(path, "x")

    assert simdb.bulk_load(other, records()).inserted == 1
    assert db.bulk_load((id + 1, repr(db.get(id))) for id in [1]).inserted == 1


def test_write_of_the_source_to_its_own_load_is_refused(db: simdb.Database) -> None:
    def records() -> Iterator[tuple[int, str]]:
        yield 1, TEXTS[0]
        db.insert(2, TEXTS[1])

    with pytest.raises(simdb.BusyError, match="would wait for itself; make the change before or after"):
        db.bulk_load(records())
    assert len(db) == 0


def test_progress_is_reported_to_functions_and_bars(path: Path) -> None:
    seen: list[tuple[str, int, Optional[int]]] = []
    simdb.bulk_load(path, RECORDS, progress=lambda *report: seen.append(report))
    assert ("reading", 500, 500) in seen
    assert seen[-1][0] == "writing" and seen[-1][1] == seen[-1][2]
    with tqdm(disable=False, file=open("/dev/null", "w")) as bar:
        simdb.bulk_load(path.with_name("b.simdb"), RECORDS, progress=bar)
        assert bar.n == bar.total and bar.desc.startswith("writing")


def test_progress_is_reported_at_most_ten_times_a_second() -> None:
    reports: list[int] = []
    texts = TEXTS * 200
    start = time.monotonic()
    simdb.Fingerprinter().fingerprints(texts, progress=lambda _stage, done, _total: reports.append(done))
    elapsed = time.monotonic() - start
    assert reports[0] == 0 and reports[-1] == len(texts)
    assert len(reports) <= 3 + 10 * elapsed


def test_exception_of_progress_ends_an_operation(path: Path) -> None:
    def fail(*_report: object) -> None:
        raise LookupError("no terminal")

    with pytest.raises(LookupError, match="no terminal"):
        simdb.bulk_load(path, RECORDS, progress=fail)
    assert list(path.parent.iterdir()) == []
    with simdb.open(path, "c") as db:
        db.bulk_load(RECORDS)
        for operation in (
            lambda: db.pairs(progress=fail),
            lambda: db.clusters(progress=fail),
            lambda: db.within_batch(list(range(100)), progress=fail),
            lambda: db.check(progress=fail),
            lambda: simdb.Fingerprinter().fingerprints(TEXTS, progress=fail),
        ):
            with pytest.raises(LookupError, match="no terminal"):
                operation()
        assert len(db) == 500


def test_progress_may_query_the_database(db: simdb.Database) -> None:
    db.bulk_load(RECORDS)
    counts = []
    db.pairs(progress=lambda *_report: counts.append(len(db.within_batch([1, 2])[0])))
    assert set(counts) == {3}


CATS = "Three cats sat on the mat and would not be moved by anyone."
PAGES: list[dict[str, Any]] = [
    {"url": "https://example.org/a", "lang": "en", "text": CATS, "title": 'Cats "A"\n', "n": 1, "x": 0.5},
    {"url": "https://example.org/b", "lang": None, "text": CATS, "title": None, "n": 2, "x": None},
    {"url": "c", "lang": "范围", "text": CATS.upper(), "title": "\\u0041", "n": -3, "x": 1e300},
]


@pytest.mark.parametrize(
    "make",
    [
        lambda rows: rows,
        iter,
        lambda rows: pa.Table.from_pylist(rows),
        lambda rows: pa.Table.from_pylist(rows).to_reader(max_chunksize=2),
    ],
)
def test_loads_take_keys_scopes_and_fields(tmp_path: Path, make: Any) -> None:
    names: dict[str, Any] = {"key": "url", "scope": "lang", "keep": ["title", "n", "x"]}
    path = tmp_path / "pages.simdb"
    assert simdb.bulk_load(path, make(PAGES), keep_texts=True, **names).inserted == 3
    with simdb.open(path, "w") as db:
        assert db.settings.keys and db.settings.scopes and db.settings.fields
        for row in PAGES:
            page = db[row["url"]]
            assert (page.text, page.scope) == (row["text"], row["lang"])
            kept = {name: row[name] for name in ("title", "n", "x") if row[name] is not None}
            assert page.fields == kept
        again = db.bulk_load(make(PAGES), **names)
        assert (again.inserted, again.present) == (0, 3)
        more = [{**PAGES[0], "url": "d"}]
        assert db.bulk_load(make(more), **names).inserted == 1
        assert db.id("d") is not None


def test_pairs_of_key_and_text_are_loaded(tmp_path: Path) -> None:
    path = tmp_path / "pages.simdb"
    assert simdb.bulk_load(path, [("a", CATS), ("b", CATS)], key="url").inserted == 2
    with simdb.open(path) as db:
        assert db.id("b") == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lang": 7}, r"field 'lang' of document .https://example.org/a.*7"),
        ({"text": None}, "https://example.org/a"),
        ({"url": None}, "url|key"),
        ({"title": "x" * 70_000}, r"document .https://example.org/a"),
        ({"url": "k" * 1025}, "1025"),
    ],
)
@pytest.mark.parametrize("is_table", [False, True])
def test_bad_records_of_a_load_are_named_by_their_keys(
    tmp_path: Path, change: dict[str, Any], message: str, is_table: bool
) -> None:
    if is_table and "lang" in change:
        message = "strings"
    rows = [{**PAGES[0], **change}]
    records: Any = pa.Table.from_pylist(rows) if is_table else rows
    if is_table and None in change.values():
        column = next(iter(change))
        records = records.set_column(records.column_names.index(column), column, pa.array([None], pa.string()))
    with pytest.raises((simdb.InvalidArgumentError, TypeError), match=message):
        simdb.bulk_load(tmp_path / "p.simdb", records, key="url", scope="lang", keep=["title"])


@pytest.mark.parametrize("make", [lambda rows: rows, pl.DataFrame])
def test_missing_values_of_kept_fields_are_left_out(tmp_path: Path, make: Any) -> None:
    rows = [{"id": n, "text": CATS, "x": x} for n, x in enumerate([0.5, float("nan"), float("inf"), None])]
    simdb.bulk_load(tmp_path / "x.simdb", make(rows), keep=["x", "x"])
    with simdb.open(tmp_path / "x.simdb") as db:
        assert [document.fields_json for document in db.documents()][1:] == ["{}"] * 3
        assert (db[0].fields_json or "").replace(" ", "") == '{"x":0.5}'


def test_pandas_values_that_are_missing_are_left_out(tmp_path: Path) -> None:
    rows = [{"id": n, "text": CATS, "x": x} for n, x in enumerate([pd.NA, pd.NaT])]
    simdb.bulk_load(tmp_path / "x.simdb", rows, keep=["x"])
    with simdb.open(tmp_path / "x.simdb") as db:
        assert [document.fields for document in db.documents()] == [{}, {}]


def test_columns_that_are_no_json_cannot_be_kept(tmp_path: Path) -> None:
    table = pa.table({"url": ["a"], "text": [CATS], "tags": [["x", "y"]]})
    with pytest.raises(simdb.InvalidArgumentError, match="column 'tags' of .* cannot be kept"):
        simdb.bulk_load(tmp_path / "p.simdb", table, key="url", keep=["tags"])
    with pytest.raises(simdb.InvalidArgumentError, match="dicts"):
        simdb.bulk_load(tmp_path / "p.simdb", [("a", CATS)], key="url", keep=["tags"])


AN_HOUR_AGO = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(hours=1)


@pytest.mark.parametrize("value", [AN_HOUR_AGO, AN_HOUR_AGO.isoformat(), int(AN_HOUR_AGO.timestamp() * 1000)])
@pytest.mark.parametrize("make", [lambda rows: rows, pa.Table.from_pylist, pl.DataFrame])
def test_arrival_times_are_loaded(tmp_path: Path, value: Any, make: Any) -> None:
    rows = make([{"id": 1, "text": CATS, "seen": value}])
    path = tmp_path / "feed.simdb"
    assert simdb.bulk_load(path, rows, arrival="seen", retention=timedelta(days=2)).inserted == 1
    with simdb.open(path, "w") as db:
        assert db[1].arrival == int(AN_HOUR_AGO.timestamp() * 1000)
        later = make([{"id": 2, "text": CATS, "seen": value}])
        assert db.bulk_load(later, arrival="seen").inserted == 1
        assert db[2].arrival == db[1].arrival


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": 1, "text": CATS, "seen": "yesterday"}], "field 'seen' of record 0"),
        ([{"id": 1, "text": CATS, "seen": None}], "field 'seen' of record 0"),
        ([{"id": 1, "text": CATS}], "no field 'seen'"),
        ([(1, CATS)], "arrival"),
        (pa.table({"id": [1], "text": [CATS], "seen": ["yesterday"]}), "column 'seen'.*row 0"),
        (pa.table({"id": [1], "text": [CATS], "seen": [datetime(2026, 1, 1)]}), "column 'seen'.*time zone"),
        (pa.table({"id": [1], "text": [CATS], "seen": pa.array([None], pa.timestamp("s", "UTC"))}), "row 0"),
        (pa.table({"id": [1], "text": [CATS], "seen": [None]}), "column 'seen'"),
        (pa.table({"id": [1], "text": [CATS]}), "column 'seen'"),
    ],
)
def test_bad_arrival_times_of_a_load_are_named(tmp_path: Path, rows: Any, message: str) -> None:
    path = tmp_path / "feed.simdb"
    with pytest.raises((simdb.InvalidArgumentError, TypeError), match=message):
        simdb.bulk_load(path, rows, arrival="seen", retention=timedelta(days=2))
    assert not path.exists()


def test_arrival_times_are_refused_where_none_are_kept(tmp_path: Path) -> None:
    rows = [{"id": 1, "text": CATS, "seen": AN_HOUR_AGO}]
    with pytest.raises(simdb.InvalidArgumentError, match="retention"):
        simdb.bulk_load(tmp_path / "feed.simdb", rows, arrival="seen")
    with simdb.open(tmp_path / "other.simdb", "c") as db, pytest.raises(simdb.InvalidArgumentError, match="arrival"):
        db.bulk_load(rows, arrival="seen")


class _Row:
    """A record whose field `title` raises in one record."""

    def __init__(self, number: int, error: BaseException) -> None:
        self.number, self.error = number, error

    def __getitem__(self, name: str) -> object:
        if name == "title" and self.number == 30:
            raise self.error
        return {"id": self.number, "text": f"some text {self.number}", "title": "a title"}[name]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("lazy"), MemoryError()])
@pytest.mark.parametrize("fields", [{"keep": ["title"]}, {"text": ["title", "text"]}, {"text": "title"}])
def test_exception_of_a_record_ends_the_load(tmp_path: Path, error: BaseException, fields: Any) -> None:
    path = tmp_path / "docs.simdb"
    with pytest.raises(type(error)):
        simdb.bulk_load(path, cast(Any, (_Row(number, error) for number in range(60))), **fields)
    assert not path.exists()


@pytest.mark.parametrize("error", [KeyError("title"), IndexError(), TypeError()])
def test_record_without_an_optional_field_is_loaded(tmp_path: Path, error: Exception) -> None:
    path = tmp_path / "docs.simdb"
    rows = (_Row(number, error) for number in range(60))
    assert simdb.bulk_load(path, cast(Any, rows), keep=["title"]).inserted == 60


def test_wrong_arguments_are_named(tmp_path: Path) -> None:
    path = tmp_path / "docs.simdb"
    rows = [{"id": 1, "bits": 5, "text": "hello world"}]
    for arguments, error, said in [
        ({"recipe": 5}, TypeError, "a recipe"),
        ({"keep": "text"}, TypeError, "keep"),
        ({"retention": timedelta(-1)}, simdb.InvalidArgumentError, "retention is a timedelta"),
        ({"retention": 5}, TypeError, "retention"),
        ({"fingerprints": "bits", "keep_texts": True}, simdb.InvalidArgumentError, "keep_texts"),
    ]:
        with pytest.raises(error, match=said):
            simdb.bulk_load(path, rows, **cast(Any, arguments))
    assert not path.exists()


def test_datetime_and_text_are_one_time(tmp_path: Path) -> None:
    when = datetime(2026, 11, 30, 12, 0, 0, 68_686, timezone.utc)
    with simdb.open(tmp_path / "docs.simdb", "c", retention=timedelta(days=2)) as db:
        times: List[Union[datetime, str]] = [when, when.isoformat(), when.replace(microsecond=123_000)]
        for number, arrival in enumerate(times):
            db.insert(number, f"the ferry number {number} to the islands was cancelled", arrival=arrival)
        arrivals = [db[number].arrival for number in range(3)]
    assert arrivals[0] == arrivals[1]
    assert [arrival % 1000 for arrival in arrivals if arrival is not None] == [68, 68, 123]


def test_missing_and_existing_files_have_an_errno(tmp_path: Path) -> None:
    path = tmp_path / "docs.simdb"
    with pytest.raises(FileNotFoundError) as missing:
        simdb.open(path)
    assert missing.value.errno == errno.ENOENT
    simdb.open(path, "c").close()
    with pytest.raises(FileExistsError) as existing:
        simdb.open(path, "x")
    assert existing.value.errno == errno.EEXIST


def test_numbers_of_numpy_are_ids_and_radii(tmp_path: Path) -> None:
    rows = [(np.uint64(7), "the ferry to the islands was cancelled because of fog")]
    simdb.bulk_load(tmp_path / "docs.simdb", rows, keep_texts=True)
    with simdb.open(tmp_path / "docs.simdb", "w") as db:
        db.insert(np.int64(3), rows[0][1])
        assert [match.id for match in db.within(rows[0][1], np.int64(3))] == [3, 7]
        assert db.get(np.uint64(7)) is not None
