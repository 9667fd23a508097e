"""The names of other packages, backed by simdb."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Iterable, List, Optional, Union

import simdb
from simdb.errors import InvalidArgumentError

Key = Union[int, str]


class MinHash:
    """The words of a text, in order, as datasketch.MinHash takes them.

    Give words, not shingles: simdb cuts its own shingles of three words.
    """

    def __init__(self, num_perm: int = 128, *_ignored: Any, **_also_ignored: Any) -> None:
        self.num_perm = num_perm
        self._words: List[str] = []

    def update(self, word: Union[bytes, str]) -> None:
        """Adds a word."""
        word = word.decode() if isinstance(word, bytes) else word
        if not isinstance(word, str):
            raise TypeError(f"a word is a str or bytes, not {type(word).__name__}")
        self._words.append(word)

    def update_batch(self, words: Iterable[Union[bytes, str]]) -> None:
        """Adds words."""
        for word in words:
            self.update(word)

    @property
    def text(self) -> str:
        """The words, with a space between two of them."""
        return " ".join(self._words)


_Text = Union[str, MinHash, Iterable[Union[bytes, str]]]


class MinHashLSH:
    """The index of datasketch, in a file, durable, and shared by threads.

    ``query`` returns the keys of the texts whose Jaccard index with the text of the query is at least
    ``threshold``. The index is the Jaccard index of shingles of three words, computed exactly for all candidates;
    datasketch estimates the index of the sets that its user makes. A candidate is missed with the
    probability that ``Snapshot::similar`` of the Rust library states: below 1 % for texts that share
    half of their shingles of characters. ``num_perm`` is accepted and ignored.

    Without ``path`` the index is in a temporary folder, which ``close`` or the garbage collection
    removes. Keys are strings of at most 1,022 bytes, or integers. They are the keys of the database, so that
    ``simdb-cli`` shows them.

    >>> from simdb.compat import MinHashLSH
    >>> with MinHashLSH(threshold=0.5) as lsh:
    ...     lsh.insert("a", "the quick brown fox jumps over the lazy dog near the river bank")
    ...     lsh.query("the quick brown fox jumps over the lazy dog near the river")
    ...     "a" in lsh
    ['a']
    True
    """

    def __init__(
        self,
        threshold: float = 0.9,
        num_perm: int = 128,
        *,
        path: Optional[Union[str, os.PathLike[str]]] = None,
    ) -> None:
        if not 0 <= threshold <= 1:
            raise InvalidArgumentError(f"threshold is a Jaccard index from 0 to 1, which {threshold} is not")
        self.threshold = threshold
        self.num_perm = num_perm
        self._folder: Optional[tempfile.TemporaryDirectory[str]] = None
        if path is None:
            self._folder = tempfile.TemporaryDirectory(prefix="simdb-lsh-")
            path = os.path.join(self._folder.name, "lsh.simdb")
        self._db = simdb.open(path, "c", similar=True, keys=True)

    def insert(self, key: Key, minhash: _Text, check_duplication: bool = True) -> None:
        """Stores a text under a new key: a string, a MinHash of this module, or words. Without
        check_duplication, in place of the text with the key if there is one."""
        store = self._db.insert if check_duplication else self._db.upsert
        if not store(_stored(key), _text_of(minhash)):
            raise InvalidArgumentError(f"the key {key!r} is stored already; remove it first")

    def query(self, minhash: _Text) -> List[Key]:
        """The keys of the similar texts, the most similar first."""
        # An edit similarity above 1 is not possible, so 1 leaves the decision to the Jaccard index.
        found = self._db.similar(
            _text_of(minhash), jaccard=self.threshold, edit_similarity=1.0, decision="alike"
        )
        return [_given(similar.key or "") for similar in found]

    def remove(self, key: Key) -> None:
        """Removes a key. A key that is not stored raises KeyError."""
        if not self._db.remove(_stored(key)):
            raise KeyError(key)

    def __contains__(self, key: Key) -> bool:
        return _stored(key) in self._db

    def __len__(self) -> int:
        return len(self._db)

    def is_empty(self) -> bool:
        """Returns True if no text is stored."""
        return len(self) == 0

    def close(self) -> None:
        """Closes the index, and removes a temporary one."""
        self._db.close()
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> MinHashLSH:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


_MARK = "\0"
"""Begins the stored keys that are no strings as they were given: an integer is the mark and its digits."""


def _stored(key: Key) -> str:
    """The key of the database. No two keys have the same."""
    if isinstance(key, int) and not isinstance(key, bool):
        return f"{_MARK}{key}"
    if not isinstance(key, str):
        raise InvalidArgumentError(f"a key is a string or an integer, not a {type(key).__name__}")
    # The database has no empty key, and no integer has a second mark.
    return key if key and not key.startswith(_MARK) else _MARK + _MARK + key


def _given(stored: str) -> Key:
    if not stored.startswith(_MARK):
        return stored
    return stored[2:] if stored.startswith(_MARK + _MARK) else int(stored[1:])


def _text_of(minhash: _Text) -> str:
    if isinstance(minhash, str):
        return minhash
    if isinstance(minhash, MinHash):
        return minhash.text
    words = MinHash()
    try:
        words.update_batch(minhash)
    except TypeError:
        raise InvalidArgumentError(
            f"a text, a list of words or a simdb.compat.MinHash is expected, not a {type(minhash).__name__}"
        ) from None
    return words.text
