"""Documents with keys, fields and copies."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pyarrow as pa
import pytest
import simdb

CATS = "Three cats sat on the mat and would not be moved by anyone."
FERRY = "The ferry to the islands was cancelled because of fog."
URL = "https://example.org/cats"


def test_documents_are_stored_and_found_by_key(tmp_path: Path) -> None:
    path = tmp_path / "pages.simdb"
    with simdb.open(path, "x", keys=True, fields=True, keep_texts=True) as db:
        assert db.settings.keys and db.settings.fields
        fields = {"title": "Katzen 猫", "n": [1, 2.5, None]}
        assert db.insert_unique(URL, CATS, fields=fields).inserted
        refused = db.insert_unique("https://example.org/copy", CATS.lower())
        assert isinstance(refused.of, simdb.Match) and db.key(refused.of.id) == URL
        assert refused.of.key == URL and f'key="{URL}"' in repr(refused)
        assert db.insert(URL, FERRY).kind == "exists"
        with db.write_batch() as batch:
            batch.insert("ferry", FERRY)
            batch.upsert(URL, CATS, fields={"title": "new"})
            batch.remove("unknown")
        assert [outcome.kind for outcome in batch.outcomes] == ["inserted", "replaced", "missing"]
    with simdb.open(path) as db:
        page = db[URL]
        assert (page.key, page.text, page.fields) == (URL, CATS, {"title": "new"})
        assert pickle.loads(pickle.dumps(page)) == page
        assert db.id("ferry") == 2 and db["ferry"].fields is None
        assert URL in db and "unknown" not in db and db.get("unknown") is None
        with pytest.raises(KeyError, match="unknown"):
            db["unknown"]
        table = db.to_arrow()
        assert [document.key for document in db.documents()] == [URL, "ferry"]
        assert table is not None


def test_matches_name_keys(tmp_path: Path) -> None:
    with simdb.open(tmp_path / "pages.simdb", "x", keys=True, similar=True) as db:
        with db.write_batch() as batch:
            batch.insert(URL, CATS)
            batch.insert("copy", CATS.upper())
            batch.insert_unique("third", CATS)
        assert batch.outcomes[2].of is not None and batch.outcomes[2].of.key == URL
        for found in (db.within(CATS), db.nearest(CATS, 2), db.similar(CATS)):
            assert [match.key for match in found] == [URL, "copy"]
            assert pickle.loads(pickle.dumps(found)) == found
        longer = db.insert_unless_similar("longer", CATS + " They slept.")
        assert longer.kind == "extends" and longer.of is not None
        assert longer.of.key in (URL, "copy")
        # Columns of tables, and the arrays of a batch.
        pairs = pa.table(db.pairs())
        assert (db.keys(pairs["a"]), db.keys(pairs["b"])) == ([URL], ["copy"])
        _, ids, _ = db.within_batch([db[URL].fingerprint])
        assert db.keys(ids)[:2] == [URL, "copy"]
        assert db.keys([2, 99, 1]) == ["copy", None, URL] and db.keys([]) == []
        assert db.snapshot().keys([2]) == ["copy"]
        with pytest.raises(TypeError):
            db.keys(["copy"])  # type: ignore[list-item]
    with simdb.open(tmp_path / "ids.simdb", "x") as db:
        db.insert(1, CATS)
        assert db.within(CATS)[0].key is None and db.keys([1]) == [None]
        assert "key" not in repr(db.within(CATS))


def test_keys_and_ids_do_not_mix(tmp_path: Path) -> None:
    with simdb.open(tmp_path / "keys.simdb", "x", keys=True) as db:
        with pytest.raises(simdb.InvalidArgumentError, match="has no key"):
            db.insert(1, CATS)
        with pytest.raises(simdb.InvalidArgumentError, match="1 to 1,024 bytes"):
            db.insert("", CATS)
    with simdb.open(tmp_path / "ids.simdb", "x") as db:
        with pytest.raises(simdb.InvalidArgumentError, match="keeps no keys"):
            db.insert("key", CATS)
        with pytest.raises(TypeError, match="fields"):
            db.insert(1, CATS, fields="title")  # type: ignore[arg-type]


def test_parts_that_a_database_does_not_keep_are_refused(tmp_path: Path) -> None:
    """As a scope is, and not dropped in silence."""
    rows = [{"id": 1, "text": CATS, "title": "Cats"}]
    with simdb.open(tmp_path / "ids.simdb", "x", similar=True) as db:
        dropped: list[tuple[dict[str, Any], str]] = [
            ({"fields": {"title": "Cats"}}, "keeps no fields; leave them out, .* with fields=True"),
            ({"arrival": 7}, "keeps no arrival times; leave them out, .* with retention="),
        ]
        for parts, message in dropped:
            for method in ("insert", "upsert", "insert_unique", "insert_unless_similar"):
                with pytest.raises(simdb.InvalidArgumentError, match=message):
                    getattr(db, method)(1, CATS, **parts)
                with pytest.raises(simdb.InvalidArgumentError, match=message):
                    with db.write_batch() as batch:
                        getattr(batch, method)(1, CATS, **parts)
        with pytest.raises(simdb.InvalidArgumentError, match=dropped[0][1]):
            db.bulk_load(rows, keep=["title"])
        assert len(db) == 0 and db.bulk_load(rows).inserted == 1


def test_lone_surrogates_and_numbers_without_json_are_named(tmp_path: Path) -> None:
    with simdb.open(tmp_path / "pages.simdb", "x", scopes=True, fields=True) as db:
        uses: list[tuple[str, Callable[[str], object]]] = [
            ("the key", lambda bad: db.insert(bad, CATS)),
            ("the key", lambda bad: db.write_batch().remove(bad)),
            ("the key", lambda bad: db.id(bad)),
            ("the key", lambda bad: bad in db),
            ("the scope", lambda bad: db.insert("a", CATS, scope=bad)),
            ("the scope", lambda bad: db.within(CATS, within_scope=bad)),
            ("the scope", lambda bad: db.within(CATS, within_scope=["en", bad])),
            ("the JSON of the fields", lambda bad: db.insert("a", CATS, fields={"title": bad})),
        ]
        for name, use in uses:
            with pytest.raises(simdb.InvalidArgumentError, match=f"^{name} has a lone surrogate at character"):
                use("b\ud800")
        with pytest.raises(simdb.InvalidArgumentError, match="^the fields are no JSON: Out of range float"):
            db.insert("a", CATS, fields={"n": [float("nan")]})
        rows = [{"url": "a", "text": CATS, "title": "b\ud800"}]
        with pytest.raises(simdb.InvalidArgumentError, match="^document \"a\": the JSON .* lone surrogate"):
            db.bulk_load(rows, key="url", keep=["title"])
        assert len(db) == 0


def test_copies_are_counted_once(tmp_path: Path) -> None:
    path = tmp_path / "feed.simdb"
    with simdb.open(path, "x", keys=True, copies=2) as db:
        assert db.settings.copies == 2 and db.copies(URL) is None
        kinds = [
            db.insert_unique(key, CATS, arrival=hour).kind
            for hour, key in enumerate([URL, "b", "c", "b", "d", URL])
        ]
        assert kinds == ["inserted", "duplicate", "duplicate", "seen", "duplicate", "exists"]
        assert not db.insert_unique("b", FERRY)
    with simdb.open(path) as db:
        copies = db.copies(URL)
        assert copies is not None and len(copies) == copies.count == 3
        assert (copies.first_seen, copies.last_seen) == (1, 4)
        assert [(copy.key, copy.kind, copy.distance) for copy in copies.newest] == [
            ("d", "duplicate", 0),
            ("c", "duplicate", 0),
        ]
        assert db.most_copied(since=4) == [(1, copies)] and db.most_copied(since=5) == []
    with simdb.open(tmp_path / "without.simdb", "x") as db:
        with pytest.raises(simdb.InvalidArgumentError, match="records no copies"):
            db.copies(1)
    with pytest.raises(simdb.InvalidArgumentError, match="1 to 1,000"):
        simdb.open(tmp_path / "bad.simdb", "x", copies=0)


def test_feed_goes_on_after_a_restart() -> None:
    python = Path(__file__).parents[1]
    corpus = python.parents[1] / "tests" / "data" / "quotes_and_news.jsonl"
    command = [sys.executable, str(python / "examples" / "feed.py"), str(corpus)]
    shown = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8")
    assert "950 articles stored, 48 live" in shown.stdout


def test_documents_are_compared_and_found_within_scopes(tmp_path: Path) -> None:
    with simdb.open(tmp_path / "pages.simdb", "x", scopes=True, similar=True) as db:
        assert db.settings.scopes and db.settings.keys
        assert db.insert_unique("a", CATS, scope="en").inserted
        assert db.insert_unique("b", CATS, scope="fr").inserted
        assert not db.insert_unique("c", CATS.lower(), scope="fr").inserted
        assert not db.insert_unless_similar("d", CATS.lower(), scope="en").inserted
        assert db.insert("e", CATS).inserted
        snapshot = db.snapshot()
        for reader in [db, snapshot]:

            def keys(found: list) -> list:  # type: ignore[type-arg]
                return sorted(reader.key(each.id) or "" for each in found)

            assert keys(reader.within(CATS)) == ["a", "b", "e"]
            assert keys(reader.within(CATS, within_scope="fr")) == ["b"]
            assert keys(reader.nearest(CATS, 9, within_scope=["fr", ""])) == ["b", "e"]
            assert keys(reader.similar(CATS, within_scope="en")) == ["a"]
            made = [int(db["a"].fingerprint)]
            _, ids, _ = reader.within_batch(made, within_scope=["en", "unknown"])
            assert [reader.key(int(number)) for number in ids] == ["a"]
            assert pa.table(reader.pairs()).num_rows == 3
            assert pa.table(reader.pairs(within_scope=["fr", ""])).num_rows == 1
            assert pa.table(reader.clusters(within_scope=["en"])).num_rows == 0
        page = db["b"]
        assert page.scope == "fr" and "scope=" in repr(page)
        assert pickle.loads(pickle.dumps(page)) == page
        with pytest.raises(TypeError, match="scope"):
            db.within(CATS, within_scope=7)  # type: ignore[arg-type]
    with simdb.open(tmp_path / "keys.simdb", "x", keys=True) as db:
        with pytest.raises(simdb.InvalidArgumentError, match="arrival"):
            db.within(CATS, since=7)
        with pytest.raises(simdb.InvalidArgumentError, match="keeps no scopes"):
            db.insert("a", CATS, scope="en")
        with pytest.raises(simdb.InvalidArgumentError, match="keeps no scopes"):
            db.within(CATS, within_scope="en")
