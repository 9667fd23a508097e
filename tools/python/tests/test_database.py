"""Changes and queries of one database."""

from __future__ import annotations

import errno
import gc
import pickle
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest

import simdb
from conftest import sentences

FERRY = "The ferry to the islands was cancelled due to heavy fog."


def test_inserted_document_is_found_by_text_fingerprint_and_id(db: simdb.Database) -> None:
    outcome = db.insert(1, FERRY)
    assert outcome.kind == "inserted" and outcome.inserted and outcome
    found = db.within("the FERRY to the islands, was cancelled due to heavy fog")
    assert [(match.id, match.distance) for match in found] == [(1, 0)]
    assert db.within(found[0].fingerprint, 0) == found
    near = simdb.Fingerprint(int(found[0].fingerprint) ^ 0b111)
    assert db.within(near, 2) == []
    assert db.nearest(near)[0].distance == near.distance(found[0].fingerprint) == 3
    document = db.get(1)
    assert document is not None
    assert (document.text, document.reliable) == (FERRY, True)
    assert 1 in db and 2 not in db and db.get(2) is None


def test_taken_id_is_refused_and_upsert_replaces(db: simdb.Database) -> None:
    first = simdb.Fingerprinter().fingerprint(FERRY)
    db.insert(1, FERRY)
    again = db.insert(1, "another text about a harbour and a lantern")
    assert again.kind == "exists" and not again and again.stored == first
    replaced = db.upsert(1, "another text about a harbour and a lantern")
    assert replaced.kind == "replaced" and replaced and replaced.stored == first
    assert db.within(FERRY) == []


def test_unique_insert_names_the_duplicate(db: simdb.Database) -> None:
    db.insert(1, FERRY)
    outcome = db.insert_unique(2, FERRY.upper())
    assert outcome.kind == "duplicate" and not outcome
    assert isinstance(outcome.of, simdb.Match)
    assert (outcome.of.id, outcome.of.distance) == (1, 0)
    assert repr(outcome).startswith("Outcome('duplicate', of=Match(id=1, distance=0, ")
    assert len(db) == 1


def test_similar_insert_says_why(db: simdb.Database) -> None:
    db.insert(1, FERRY)
    refused = db.insert_unless_similar(2, "Ferries to islands was cancelled due to a heavy fog")
    assert refused.kind == "similar" and not refused
    assert isinstance(refused.of, simdb.Similar)
    assert refused.of.id == 1 and refused.of.verdict in ("same", "a_in_b")
    kept = db.insert_unless_similar(3, FERRY.replace("was", "was not"))
    assert kept.kind == "inserted"
    more = f"{FERRY} Buses are late."
    assert db.insert_unless_similar(4, more).kind == "extends"
    replaced = db.insert_unless_similar(5, more + " The captain waits.", replace=True)
    assert replaced.kind == "supersedes"
    assert {similar.id for similar in replaced.superseded} == {1, 4}
    assert list(db) == [3, 5]


def test_similar_query_is_ordered_and_takes_thresholds(db: simdb.Database) -> None:
    db.insert(1, FERRY)
    db.insert(2, FERRY.replace("Monday", "").replace("heavy", "thick"))
    found = db.similar(FERRY, decision="alike")
    assert [similar.id for similar in found] == [1, 2]
    assert found[0].resemblance.same_wording
    strict = db.similar(FERRY, decision="alike", edit_similarity=0.999, jaccard=0.999)
    assert [similar.id for similar in strict] == [1]


def test_removed_document_is_gone(db: simdb.Database) -> None:
    db.insert(1, FERRY)
    assert db.remove(1).kind == "removed"
    assert db.remove(1).kind == "missing"
    assert len(db) == 0 and list(db) == [] and db


def test_iteration_is_in_order_of_ids_and_ignores_later_changes(db: simdb.Database) -> None:
    texts = sentences(3000)
    for id in (5, 2**64 - 1, 3):
        db.insert(id, texts.pop())
    db.bulk_load(list(enumerate(texts, start=10)))
    expected = [3, 5, *range(10, 10 + len(texts)), 2**64 - 1]
    ids = iter(db)
    assert next(ids) == 3
    db.insert(4, "a text that comes later than the iterator")
    assert [3, *ids] == expected
    assert [document.id for document in db.documents(first=2900)] == expected[2892:]


def test_snapshot_does_not_change(db: simdb.Database) -> None:
    db.insert(1, FERRY)
    with db.snapshot() as snapshot:
        db.remove(1)
        assert 1 in snapshot and len(snapshot) == 1 and list(snapshot) == [1]
        assert [match.id for match in snapshot.within(FERRY)] == [1]
        assert 1 not in db
    with pytest.raises(simdb.ClosedError):
        snapshot.get(1)


def test_every_use_after_close_is_an_error(path: Path) -> None:
    db = simdb.open(path, "c", similar=True)
    db.insert(1, FERRY)
    db.insert(5, FERRY)
    ids, documents, snapshot, batch = iter(db), db.documents(), db.snapshot(), db.write_batch()
    begun = db.documents()
    batch.insert(2, FERRY)
    batch.insert(3, FERRY)
    assert next(begun).id == 1
    db.close()
    db.close()
    for use in (
        lambda: batch.insert(2, FERRY),
        lambda: batch.remove(1),
        lambda: batch.__exit__(None, None, None),
        lambda: db.write_batch(),
        lambda: db.__enter__(),
        lambda: snapshot.__enter__(),
        lambda: next(begun),
        lambda: db.prune(0),
        lambda: db.insert(2, FERRY),
        lambda: db.within(FERRY),
        lambda: db.within_batch([1]),
        lambda: db.similar(FERRY),
        lambda: len(db),
        lambda: 1 in db,
        lambda: list(db),
        lambda: db.stats(),
        lambda: db.pairs(),
        lambda: db.snapshot(),
        lambda: db.bulk_load([(1, FERRY)]),
        lambda: db.flush(),
        lambda: db.set_frames([]),
        lambda: next(ids),
        lambda: next(documents),
        lambda: len(snapshot),
        lambda: db.to_arrow(),
    ):
        with pytest.raises(simdb.ClosedError, match="was closed; open it again"):
            use()
    assert db.path == path and db.settings.similar
    with simdb.open(path) as again:
        assert len(again) == 2


def test_texts_in_frames_are_compared_by_their_bodies(path: Path) -> None:
    frame = "The Northern Herald brings the islands together."
    towns = ["Kirkwall", "Stromness", "Lerwick", "Wick", "Thurso"]
    told = "The harbour of {} was closed on Sunday after a trawler lost her anchor there."
    stories = [told.format(town) for town in towns]
    texts = [f"{frame}\n{story}" for story in stories]
    found = simdb.frames(iter(texts), in_documents=4)
    assert found == [(frame, 5)]
    assert simdb.frames(texts) == []
    with pytest.raises(TypeError, match="text 300: a text .* not bytes; decode"):
        simdb.frames([*texts * 60, b"bytes"])  # type: ignore[list-item]
    with pytest.raises(simdb.InvalidArgumentError, match="not one text"):
        simdb.frames("one text")
    with simdb.open(path, "c", similar=True) as db:
        db.insert(1, stories[0])
        assert db.insert_unless_similar(2, texts[0]).kind == "extends"
        assert db.insert(3, stories[1]).kind == "inserted"
        db.set_frames([line for line, _ in found])
        refused = db.insert_unless_similar(4, texts[1])
        assert refused.kind == "similar"
        assert isinstance(refused.of, simdb.Similar) and refused.of.verdict == "same"
    learning = path.with_name("learning.simdb")
    with simdb.open(learning, "c", similar=True, scopes=True, frames=4) as db:
        for number, text in enumerate(texts):
            db.insert(f"a{number}", text, scope="herald")
    with simdb.open(learning, "w") as db:
        assert db.settings.frames == 4
        assert db.frames() == [(frame, 5, "herald")]
        refused = db.insert_unless_similar("b", stories[2], scope="herald")
        assert refused.kind == "similar"


def test_exception_in_with_block_closes_the_database(path: Path) -> None:
    with pytest.raises(RuntimeError, match="of the user"):
        with simdb.open(path, "c") as db:
            db.insert(1, FERRY)
            raise RuntimeError("of the user")
    with simdb.open(path, "w") as db:
        assert len(db) == 1


def test_objects_collected_in_any_order_release_the_file(path: Path) -> None:
    for order in ("database first", "iterator first"):
        db = simdb.open(path, "c")
        db.insert(1, FERRY)
        ids, snapshot, table, batch = iter(db), db.snapshot(), db.to_arrow(), db.write_batch()
        batch.insert(2, FERRY)
        assert next(ids) == 1
        if order == "database first":
            del db
            gc.collect()
            assert len(snapshot) == 1
            del snapshot, ids, table, batch
        else:
            del snapshot, ids, table, batch
            gc.collect()
            del db
        gc.collect()
        with simdb.open(path, "w") as again:
            assert len(again) == 1


def test_modes(path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        simdb.open(path)
    assert isinstance(missing.value, simdb.NotFoundError)
    with pytest.raises(simdb.NotFoundError):
        simdb.open(path, "w")
    with simdb.open(path, "x", keep_texts=True, recipe="jieba"):
        pass
    with pytest.raises(FileExistsError):
        simdb.open(path, "x")
    with simdb.open(path) as reader, simdb.open(path) as other:
        assert len(reader) == len(other) == 0
        with pytest.raises(simdb.ReadOnlyError, match="reading only"):
            reader.insert(1, FERRY)
        with pytest.raises(simdb.LockedError):
            simdb.open(path, "w")
        assert (reader.settings.recipe, reader.settings.keep_texts) == ("jieba", True)
    with pytest.raises(simdb.MismatchError):
        simdb.open(path, "w", recipe="ngram")
    with pytest.raises(simdb.InvalidArgumentError, match="no mode 'a'"):
        simdb.open(path, "a")  # type: ignore[arg-type]


def test_documents_expire(path: Path) -> None:
    start = datetime(2024, 1, 1, tzinfo=timezone.utc)
    with simdb.open(path, "c", retention=timedelta(days=2)) as db:
        assert db.settings.arrivals and db.settings.retention == timedelta(days=2)
        assert "retention=timedelta(seconds=172800)" in repr(db.settings)
        db.insert(1, FERRY, arrival=start)
        db.insert(2, sentences(1)[0], arrival=start + timedelta(days=1))
        document = db.get(1)
        assert document is not None
        assert document.arrival == int(start.timestamp() * 1000)
        assert db.insert(3, "later", arrival=start + timedelta(days=3)).kind == "inserted"
        assert list(db) == [2, 3]
        late = db.insert(4, "too late", arrival=int(start.timestamp() * 1000))
        assert late.kind == "expired" and not late
        for id, text in enumerate(["2024-01-05T00:00:00Z", "Fri, 05 Jan 2024 00:00:01 GMT", "1704412802"], 5):
            assert db.insert(id, f"a text of time {id}", arrival=text).kind == "inserted"
            found = db.get(id)
            assert found is not None and found.arrival == 1_704_412_800_000 + 1000 * (id - 5)


def test_errors_have_a_hierarchy_and_the_texts_of_the_library(path: Path) -> None:
    for error in vars(simdb.errors).values():
        if isinstance(error, type):
            assert issubclass(error, simdb.Error)
    with simdb.open(path, "c") as db:
        with pytest.raises(ValueError, match="there is no radius 65") as refused:
            db.within(FERRY, 65)
        assert isinstance(refused.value, simdb.InvalidArgumentError)
        with pytest.raises(simdb.InvalidArgumentError, match="keeps no texts"):
            db.similar(FERRY)
        with pytest.raises(simdb.InvalidArgumentError, match="no recipe"):
            simdb.Fingerprinter("none")
    path.write_bytes(b"x" * 5000)
    with pytest.raises(simdb.NotADatabaseError, match="is not a simdb database"):
        simdb.open(path)
    folder = path.with_name("missing") / "docs.simdb"
    with pytest.raises(simdb.StorageError, match="cannot create .*: No such file or directory") as failed:
        simdb.open(folder, "c")
    assert isinstance(failed.value.__cause__, OSError)
    assert failed.value.errno == errno.ENOENT
    with simdb.open(path.with_name("timeless.simdb"), "c") as db:
        with pytest.raises(simdb.Error, match="with the argument `retention`"):
            db.prune(5)


def test_wrong_arguments_are_named(db: simdb.Database) -> None:
    def refused(error: type[Exception], message: str, use: Callable[[Any], object]) -> None:
        with pytest.raises(error, match=re.escape(message)):
            use(db)

    an_id = "an id is an int from 0 to 2**64 - 1, which -1 is not"
    refused(simdb.InvalidArgumentError, an_id, lambda db: db.insert(-1, FERRY))
    refused(simdb.InvalidArgumentError, an_id, lambda db: db.get(-1))
    refused(simdb.InvalidArgumentError, "which 18446744073709551616 is not", lambda db: db.remove(2**64))
    no_key = 'keeps no keys, so no document has the key "1"'
    refused(simdb.InvalidArgumentError, no_key, lambda db: db.insert("1", FERRY))
    refused(TypeError, "an id (int) is expected, not bool", lambda db: db.insert(True, FERRY))
    refused(TypeError, "an id (int) is expected, not bool", lambda db: True in db)
    number = simdb.Fingerprint(7)
    refused(TypeError, "an id (int) is expected, not Fingerprint", lambda db: db.insert(number, FERRY))
    refused(simdb.InvalidArgumentError, "there is no radius -1", lambda db: db.within(FERRY, -1))
    no_fingerprint = "fingerprint 1: a simdb.Fingerprint or an int is expected, not str"
    refused(TypeError, no_fingerprint, lambda db: db.within_batch([1, "a"]))
    refused(simdb.InvalidArgumentError, "id 1: an id is an int from 0", lambda db: db.keys([1, -1]))
    for wrong in (b"12", bytearray(b"12"), {1: 2}):
        refused(TypeError, f"list of fingerprints is expected, not {type(wrong).__name__}", lambda db: db.within_batch(wrong))
        refused(TypeError, f"list of ids is expected, not {type(wrong).__name__}", lambda db: db.keys(wrong))
    names = "text, the name of a field (str) or a list of names, is expected, not"
    for text in (None, 5):
        refused(TypeError, names, lambda db: db.bulk_load([], text=text))
        refused(TypeError, names, lambda _: simdb.dedup([], text=text))  # type: ignore[arg-type]
    square = np.zeros((2, 2), dtype=np.uint64)
    refused(simdb.InvalidArgumentError, "not of shape (2, 2)", lambda db: db.within_batch(square))
    refused(simdb.InvalidArgumentError, "is not a time", lambda db: db.insert(1, FERRY, arrival="today"))
    refused(TypeError, "an arrival time (datetime", lambda db: db.insert(1, FERRY, arrival=True))
    refused(TypeError, "a radius (int) is expected, not bool", lambda db: db.within(FERRY, True))
    limits: list[tuple[str, int, Callable[[int], object]]] = [
        ("memory_bytes", 1, lambda number: db.bulk_load([], memory_bytes=number)),
        ("limit", 0, lambda number: db.within(FERRY, limit=number)),
        ("count", 0, lambda number: db.nearest(FERRY, number)),
        ("max_pairs", 0, lambda number: db.pairs(max_pairs=number)),
        ("cache_bytes", 1, lambda number: simdb.open("missing.simdb", cache_bytes=number)),
        ("frames", 2, lambda number: simdb.open("missing.simdb", frames=number)),
    ]
    for name, least, use in limits:
        limit = f"{name} is an int of at least {least}, which -1 is not"
        with pytest.raises(simdb.InvalidArgumentError, match=limit):
            use(-1)
        with pytest.raises(TypeError, match=rf"{name} \(int\) is expected, not bool"):
            use(True)
    refused(simdb.InvalidArgumentError, "before 1970", lambda db: db.insert(1, FERRY, arrival=-1))
    refused(simdb.InvalidArgumentError, "at most 65535", lambda _: simdb.open("missing.simdb", frames=70_000))
    refused(simdb.InvalidArgumentError, "keeps no keys", lambda db: "a" in db)
    assert -1 not in db and 2**64 not in db and np.int64(-5) not in db and len(db) == 0
    assert db.within(FERRY, limit=2**70) == []


def test_damaged_file_is_an_error(path: Path) -> None:
    with simdb.open(path, "c", keep_texts=True) as db:
        db.bulk_load(list(enumerate(sentences(2000))))
        assert db.check() == []
    content = bytearray(path.read_bytes())
    content[20_000:60_000] = bytes(40_000)
    path.write_bytes(content)
    with pytest.raises(simdb.CorruptError, match="is damaged.* save what is left with `simdb.salvage`"):
        with simdb.open(path) as db:
            list(db.documents())


def test_damaged_file_is_salvaged(path: Path) -> None:
    texts = sentences(2000)
    with simdb.open(path, "c", keep_texts=True) as db:
        db.bulk_load(enumerate(texts))
    content = bytearray(path.read_bytes())
    content[20_000:40_000] = bytes(20_000)
    path.write_bytes(content)
    saved = path.with_name("saved.simdb")
    report = simdb.salvage(path, saved)
    assert report["damage"] and 1000 < report["documents"] <= 2000
    assert path.read_bytes() == content
    with simdb.open(saved, "w") as db:
        assert db.check() == [] and len(db) == report["documents"]
        for document in db.documents():
            assert document.text in (None, texts[document.id])
    with pytest.raises(simdb.AlreadyExistsError):
        simdb.salvage(path, saved)
    path.write_bytes(b"x" * 20_000)
    with pytest.raises(simdb.CorruptError, match="nothing in .* was written by simdb"):
        simdb.salvage(path, path.with_name("other.simdb"))


def test_vacuum_gives_space_back(path: Path) -> None:
    with simdb.open(path, "c", keep_texts=True) as db:
        db.bulk_load(enumerate(sentences(5000)))
        with pytest.raises(simdb.LockedError):
            simdb.vacuum(path)
        with db.write_batch() as batch:
            for id in range(100, 5000):
                batch.remove(id)
    stages = set()
    report = simdb.vacuum(path, progress=lambda stage, _done, _total: stages.add(stage))
    assert report["after_bytes"] == path.stat().st_size < report["before_bytes"] / 2
    assert "copying" in stages
    with simdb.open(path, "w") as db:
        assert list(db) == list(range(100)) and db.check() == []


def test_stats_doctor_and_backup(db: simdb.Database, tmp_path: Path) -> None:
    db.insert(1, FERRY)
    db.insert(2, FERRY)
    db.insert(3, "x")
    stats = db.stats()
    assert (stats["documents"], stats["unreliable"], stats["texts"]) == (3, 1, 3)
    copy = tmp_path / "copy.simdb"
    db.backup(copy)
    with simdb.open(copy) as copied:
        assert list(copied.documents()) == list(db.documents())
        found = copied.doctor()
        assert (found["documents"], found["duplicate_groups"]) == (2, 1)
        assert found["largest_groups"][0]["samples"] == [1, 2]


def test_answers_are_frozen_and_have_useful_reprs(db: simdb.Database) -> None:
    db.insert(7, FERRY)
    match = db.within(FERRY)[0]
    with pytest.raises(AttributeError):
        match.id = 8  # type: ignore[misc]
    assert match == db.within(FERRY)[0] and hash(match) == hash(db.within(FERRY)[0])
    assert repr(match) == f"Match(id=7, distance=0, fingerprint=0x{match.fingerprint.hex()})"
    assert repr(db.get(7)).endswith('text="The ferry to the islands was cancelled d"...)')
    assert "similar=True" in repr(db.settings) and "docs.simdb" in repr(db)
    assert repr(db.similar(FERRY)[0]).startswith("Similar(id=7, verdict='same', distance=0")


def test_answers_are_pickled(db: simdb.Database) -> None:
    db.insert(7, FERRY)
    more = db.similar(FERRY + " The captain waits.")
    for answer in (db.within(FERRY)[0], db.get(7), more[0], more[0].resemblance, more[0].fingerprint):
        assert pickle.loads(pickle.dumps(answer)) == answer and answer is not None
    assert more[0].missing_in_b


def test_fingerprint_is_a_type_of_its_own(db: simdb.Database) -> None:
    made = simdb.Fingerprint(0x4CB7A9D30CDFD7D8)
    assert int(made) == 0x4CB7A9D30CDFD7D8 and hex(made) == "0x4cb7a9d30cdfd7d8"
    assert made.hex() == str(made) == "4cb7a9d30cdfd7d8" and repr(made) == "Fingerprint(0x4cb7a9d30cdfd7d8)"
    assert made == simdb.Fingerprint(np.uint64(made)) and made != simdb.Fingerprint(1)
    other: Any = int(made)
    assert made != other and len({made, simdb.Fingerprint(made), simdb.Fingerprint(1)}) == 2
    assert made.distance(made) == 0 and simdb.Fingerprint(0).distance(simdb.Fingerprint(2**64 - 1)) == 64
    assert sorted([made, simdb.Fingerprint(3)])[0] == simdb.Fingerprint(3)
    assert np.array([made, made], dtype=np.uint64).tolist() == [int(made)] * 2
    for bits, error in ((-1, simdb.InvalidArgumentError), (2**64, simdb.InvalidArgumentError), ("1", TypeError)):
        with pytest.raises(error):
            simdb.Fingerprint(bits)  # type: ignore[arg-type]
    assert db.insert(1, FERRY) and db.insert(2, made).kind == "inserted"
    assert isinstance(simdb.Fingerprinter().fingerprint(FERRY), simdb.Fingerprint)
    document = db.get(2)
    assert document is not None and document.fingerprint == made
    assert db.upsert(2, simdb.Fingerprint(5)).stored == made


def test_other_types_in_place_of_a_text_are_refused_with_advice(db: simdb.Database) -> None:
    """Years are near fingerprints, and no duplicates."""
    wrong: list[tuple[Any, str]] = [
        (1984, "not the int 1984; give str(1984) for a text"),
        (np.uint64(1984), "not the uint64 1984; give str(1984)"),
        (19.84, "not the float 19.84; give str(19.84)"),
        (True, "not the bool True"),
        (None, "not None; leave it out, or give an empty text"),
        (float("nan"), "not nan; leave it out"),
        (b"bytes", "not bytes; decode the bytes: data.decode('utf-8')"),
        (np.array([1, 2]), "not ndarray"),
        (["a list"], "not list"),
    ]
    batch = db.write_batch()
    takes_fingerprints: list[Callable[[Any], object]] = [
        lambda value: db.insert(1, value),
        lambda value: db.upsert(1, value),
        lambda value: db.insert_unique(1, value),
        lambda value: db.insert_unless_similar(1, value),
        lambda value: batch.insert(1, value),
        lambda value: db.within(value),
        lambda value: db.nearest(value),
    ]
    takes_texts: list[Callable[[Any], object]] = [
        lambda value: db.similar(value),
        lambda value: simdb.compare("a", value),
        lambda value: simdb.explain(value, "a"),
        lambda value: simdb.Fingerprinter().fingerprint(value),
        lambda value: simdb.Fingerprinter().features(value),
    ]
    for value, message in wrong:
        for use in takes_fingerprints + takes_texts:
            with pytest.raises(TypeError, match=re.escape(message)) as raised:
                use(value)
            advice = "or simdb.Fingerprint(1984) for a fingerprint"
            if value is wrong[0][0]:
                assert (advice in str(raised.value)) == (use in takes_fingerprints)
    for use in takes_fingerprints + takes_texts:
        with pytest.raises(simdb.InvalidArgumentError, match="lone surrogate at character 3, .* replace it"):
            use("abc\ud83d")
    assert len(db) == 0 and len(batch) == 0
    kinds = [db.insert_unique(year, str(year)).kind for year in (1984, 1985, 1988, 2000)]
    assert kinds == ["inserted"] * 4


def test_compare_and_explain() -> None:
    a, b = "MongoDB integration component", "Memcached integration component"
    found = simdb.compare(a, b)
    assert found.verdict == "template"
    assert [word for word, _ in found.missing_in_b] == ["mongodb"]
    assert [word for word, _ in found.missing_in_a] == ["memcached"]
    assert found.resemblance.edit_similarity is not None
    assert 0.7 < found.resemblance.edit_similarity < 0.8 and found.resemblance.jaccard == 0
    assert not found.resemblance.same_wording
    explained = simdb.explain(a, b)
    assert explained.verdict == "template"
    assert [word for word, _, counterpart in explained.a if counterpart is None] == ["mongodb"]
    assert str(explained).splitlines()[1].startswith("a: [mongodb ")


def test_docstrings_are_shown_by_help() -> None:
    for name in simdb.__all__:
        assert getattr(simdb, name).__doc__, name
    for member in vars(simdb.Database).values():
        if callable(member) and not member.__name__.startswith("_"):
            assert member.__doc__, member
