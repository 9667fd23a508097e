"""The façade of datasketch."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import simdb
from conftest import sentences
from simdb.compat import MinHash, MinHashLSH

FOX = "the quick brown fox jumps over the lazy dog near the river bank in the morning"


def test_index_is_used_as_that_of_datasketch() -> None:
    def minhash(text: str) -> MinHash:
        made = MinHash(num_perm=128)
        for word in text.split():
            made.update(word.encode())
        return made

    lsh = MinHashLSH(threshold=0.6, num_perm=128)
    lsh.insert("a", minhash(FOX))
    lsh.insert("b", minhash("another text about a lantern and a garden in the winter"))
    lsh.insert(7, minhash(FOX + " again"))
    assert lsh.query(minhash(FOX)) == ["a", 7]
    assert lsh.query(FOX + " again and again")[0] == 7
    assert "a" in lsh and 7 in lsh and "c" not in lsh and 8 not in lsh and len(lsh) == 3
    with pytest.raises(ValueError, match="the key 'a' is stored already"):
        lsh.insert("a", minhash("other words of a key that is taken"))
    lsh.remove("a")
    assert lsh.query(FOX) == [7] and "a" not in lsh
    for missing in ("a", 8):
        with pytest.raises(KeyError):
            lsh.remove(missing)
    lsh.insert("a", FOX.split())
    assert lsh.query(FOX) == ["a", 7]
    lsh.insert("b", [word.encode() for word in FOX.split()], check_duplication=False)
    assert sorted(lsh.query(FOX), key=str) == [7, "a", "b"] and len(lsh) == 3
    lsh.insert("c", "", check_duplication=False)
    lsh.remove("c")
    for threshold in (1.5, -1, float("nan")):
        with pytest.raises(simdb.InvalidArgumentError, match="a Jaccard index from 0 to 1"):
            MinHashLSH(threshold)
    with pytest.raises(simdb.InvalidArgumentError, match="1 to 1,024 bytes"):
        lsh.insert("k" * 1025, FOX)
    with pytest.raises(simdb.InvalidArgumentError, match="a string or an integer, not a tuple"):
        lsh.insert(("a", 1), FOX)  # type: ignore[arg-type]
    with pytest.raises(simdb.InvalidArgumentError, match="expected, not a object"):
        lsh.query(object())  # type: ignore[arg-type]
    lsh.close()


def test_threshold_selects() -> None:
    with MinHashLSH(threshold=0.95) as lsh:
        lsh.insert("a", FOX)
        assert lsh.query(FOX.upper()) == ["a"]
        assert lsh.query(FOX.replace("lazy", "busy")) == []
        assert not lsh.is_empty()


def test_threads_share_an_index() -> None:
    texts = sentences(200)
    with MinHashLSH(threshold=0.9) as lsh, ThreadPoolExecutor(8) as pool:
        list(pool.map(lsh.insert, map(str, range(200)), texts))
        assert list(pool.map(lsh.query, texts)) == [[str(number)] for number in range(200)]
        list(pool.map(lsh.remove, map(str, range(0, 200, 2))))
        assert len(lsh) == 100 and "1" in lsh and "2" not in lsh


def test_no_two_keys_are_one() -> None:
    keys: list[int | str] = ["7", 7, -7, 0, 2**70, "", "\0", "\0" + "7", "\0\0", "\0\0" + "7", "é", "e\u0301"]
    with MinHashLSH(0.9) as lsh:
        for key, text in zip(keys, sentences(len(keys))):
            lsh.insert(key, text)
        assert len(lsh) == len(keys)
        for key, text in zip(keys, sentences(len(keys))):
            assert key in lsh and lsh.query(text) == [key]
            lsh.remove(key)
        assert lsh.is_empty()


def test_index_in_a_file_is_durable(path: Path) -> None:
    with MinHashLSH(0.5, path=path) as lsh:
        lsh.insert("a key", FOX)
    with simdb.open(path, "r") as db:
        assert "a key" in db
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    with MinHashLSH(0.5, path=path) as lsh:
        assert "a key" in lsh and lsh.query(FOX) == ["a key"]
        lsh.remove("a key")
    with MinHashLSH(0.5, path=path) as lsh:
        assert lsh.is_empty() and lsh.query(FOX) == []
