"""Whole corpora: a copy without near-duplicates, all pairs, and clusters.

The texts of a corpus are compared without a database: a text is removed if an earlier kept text covers
it. ``simdb.compare`` shows the decision about two texts.
"""

from __future__ import annotations

import math
import pickle
import tempfile
from array import array
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional
from typing import Sequence, Set, Sized, Tuple, Union, overload

import numpy as np

from simdb._simdb import Deduplicator, Table, removal_table, similar_pairs
from simdb.errors import InvalidArgumentError

_RECORDS_PER_CHUNK = 4096
_CHARACTERS_PER_CHUNK = 4 << 20
_VERDICTS = ("same", "a_in_b", None)


class Removal(NamedTuple):
    """A removed record, by its position in the data set, and the reason."""

    removed: int
    """The position of the removed record."""
    keeper: int
    """The position of the kept record that says all that the removed record says."""
    verdict: Optional[str]
    """``"same"`` or ``"a_in_b"``: a is the removed text, b its keeper. None with decision "alike"."""
    missing: List[Tuple[str, float]]
    """The words that the keeper does not say, with their weights in nats: at most 3 in all."""
    edit_similarity: Optional[float]
    """The share of the longer text that stays as it is; None for long texts."""
    jaccard: float
    """The Jaccard index of the shingles of three tokens."""


class Removals(Sequence[Removal]):
    """Removals in the order of the decisions, in 33 bytes each and the missing words."""

    def __init__(self) -> None:
        self._removed, self._keeper = array("Q"), array("Q")
        self._verdict, self._edit, self._jaccard = array("B"), array("d"), array("d")
        self._missing: Dict[int, List[Tuple[str, float]]] = {}

    def _append(self, removal: Tuple[Any, ...]) -> None:
        removed, keeper, verdict, missing, edit_similarity, jaccard = removal
        if missing:
            self._missing[len(self)] = missing
        self._removed.append(removed)
        self._keeper.append(keeper)
        self._verdict.append(_VERDICTS.index(verdict))
        self._edit.append(math.nan if edit_similarity is None else edit_similarity)
        self._jaccard.append(jaccard)

    def _to_table(self, first_column: str) -> Table:
        words = {row: [word for word, _ in missing] for row, missing in self._missing.items()}
        return removal_table(
            first_column,
            np.array(self._removed),
            np.array(self._keeper),
            np.array(self._verdict),
            np.array(self._edit),
            np.array(self._jaccard),
            words,
        )

    def __len__(self) -> int:
        return len(self._removed)

    @overload
    def __getitem__(self, index: int) -> Removal: ...

    @overload
    def __getitem__(self, index: slice) -> List[Removal]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Removal, List[Removal]]:
        if isinstance(index, slice):
            return [self[row] for row in range(*index.indices(len(self)))]
        row = range(len(self))[index]
        edit_similarity = self._edit[row]
        return Removal(
            self._removed[row],
            self._keeper[row],
            _VERDICTS[self._verdict[row]],
            self._missing.get(row, []),
            None if math.isnan(edit_similarity) else edit_similarity,
            self._jaccard[row],
        )

    def __repr__(self) -> str:
        return f"<simdb.Removals of {len(self)} records>"


def _check_iterable(dataset: Any) -> None:
    """Refuses what would be taken apart into wrong records."""
    if isinstance(dataset, (str, bytes)):
        raise InvalidArgumentError("a data set is expected, not one text")
    if isinstance(dataset, Mapping):
        raise InvalidArgumentError(
            f"a data set is an iterable of records; of a {type(dataset).__name__} give one split, or "
            "make a table of its columns, for example pyarrow.table(columns)"
        )
    if hasattr(dataset, "__arrow_c_stream__"):
        return
    try:
        iter(dataset)
    except TypeError:
        raise TypeError(
            f"a data set is an iterable of records, or an Arrow table, not {type(dataset).__name__}"
        ) from None


def records(dataset: Any) -> Iterator[Any]:
    """The records of a data set: rows of an Arrow table as dicts, or the items of an iterable."""
    if not hasattr(dataset, "__arrow_c_stream__") or hasattr(dataset, "features"):
        yield from dataset
        return
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            f"the rows of a {type(dataset).__name__} are read with pyarrow: pip install pyarrow"
        ) from None
    for batch in pyarrow.RecordBatchReader.from_stream(dataset):
        for start in range(0, batch.num_rows, _RECORDS_PER_CHUNK):
            yield from batch.slice(start, _RECORDS_PER_CHUNK).to_pylist()


def text_of(record: Any, field: str, index: int) -> str:
    """The text of a record, which is a string, or has the text in a field."""
    if isinstance(record, str):
        return record
    try:
        text = record[field]
    except (KeyError, TypeError, IndexError):
        known = f"; its fields are {list(record)}" if isinstance(record, dict) else ""
        raise InvalidArgumentError(f"record {index} has no field {field!r}{known}") from None
    if not isinstance(text, str):
        raise InvalidArgumentError(
            f"field {field!r} of record {index} is no string but {type(text).__name__}; "
            "give an empty text, or leave the record out"
        )
    return text


class _Spool:
    """Records in a temporary file."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="simdb-")
        self._starts, self._end = array("Q"), 0

    def append(self, record: Any) -> None:
        """Adds a record. No record was read before."""
        self._starts.append(self._end)
        self._end += self._file.write(pickle.dumps(record, pickle.HIGHEST_PROTOCOL))

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, index: int) -> Any:
        self._file.seek(self._starts[index])
        return pickle.load(self._file)


class _Chunk(NamedTuple):
    """Records that are decided together, each with the item that leads to it."""

    positions: List[int]
    items: List[Any]
    texts: List[str]


class Dedup(Iterator[Any]):
    """The kept records of a data set, in order. ``removals`` grows while they are read."""

    removals: Removals
    """Every removed record, in the order of the decisions."""

    def __init__(
        self,
        dataset: Iterable[Any],
        text: str,
        keep: Union[str, Callable[[Any], float]],
        memory_bytes: int,
        progress: Any,
        options: Dict[str, Any],
    ) -> None:
        _check_iterable(dataset)
        if not callable(keep) and keep not in ("first", "longest"):
            raise InvalidArgumentError(
                f"there is no rule {keep!r} for the record to keep; known are 'first', 'longest', and "
                "a function that returns the score of a record"
            )
        self._options = options
        self._index = Deduplicator(**options)
        self._text = text
        self._memory_bytes = memory_bytes
        self._progress = progress
        self._total = len(dataset) if isinstance(dataset, Sized) else None
        self._decided_count = 0
        self._kept = array("q")
        self.removals = Removals()
        self._records = self._in_order(dataset) if keep == "first" else self._by_score(dataset, keep)

    def __next__(self) -> Any:
        return next(self._records)

    def run(self) -> Dedup:
        """Decides about all records that were not read yet, and drops them: ``kept`` and
        ``removals`` are then complete."""
        for _ in self._records:
            pass
        return self

    @property
    def kept(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The positions of the kept records that were read: an index of a table or a data set."""
        return np.array(self._kept, dtype=np.int64)

    @property
    def index_bytes(self) -> int:
        """The bytes of memory that the index of kept texts takes."""
        return self._index.len_bytes

    def report(self) -> Table:
        """The removals as a table: removed, keeper, verdict, missing, edit_similarity, jaccard."""
        return self.removals._to_table("removed")

    def __repr__(self) -> str:
        return f"<simdb.Dedup: {len(self._kept)} kept, {len(self.removals)} removed>"

    def _in_order(self, dataset: Iterable[Any]) -> Iterator[Any]:
        """Yields each record when it is decided."""
        for position, record in self._decided(enumerate(records(dataset)), lambda record: record):
            self._kept.append(position)
            yield record

    def _by_score(
        self, dataset: Iterable[Any], keep: Union[str, Callable[[Any], float]]
    ) -> Iterator[Any]:
        """Decides about all records by descending score, then yields them in order."""
        every = dataset if isinstance(dataset, (list, tuple)) else _Spool()
        scores = array("d")
        for index, record in enumerate(records(dataset)):
            text = text_of(record, self._text, index)
            scores.append(keep(record) if callable(keep) else len(text))
            if isinstance(every, _Spool):
                every.append(record)
        order = array("q", np.argsort(-np.array(scores), kind="stable").tobytes())
        kept = self._decided(zip(order, order), every.__getitem__)
        for position in np.sort(np.fromiter((position for position, _ in kept), np.int64)):
            self._kept.append(position)
            yield every[position]

    def _decided(
        self, pending: Iterable[Tuple[int, Any]], record_of: Callable[[Any], Any]
    ) -> Iterator[Tuple[int, Any]]:
        """The positions and items of the kept records. When the index is full, later records are
        compared with it and put aside, and then compared with each other in the same way."""
        while True:
            put_aside: Optional[_Spool] = None
            for chunk in self._chunks(pending, record_of):
                removed, is_decided = self._decide(chunk)
                if not is_decided and put_aside is None:
                    put_aside = _Spool()
                for position, item in zip(chunk.positions, chunk.items):
                    if position in removed:
                        continue
                    if put_aside is not None:
                        put_aside.append((position, item))
                    else:
                        yield position, item
            if put_aside is None:
                return
            pending = put_aside  # type: ignore[assignment]
            self._index = Deduplicator(**self._options)

    def _chunks(
        self, pending: Iterable[Tuple[int, Any]], record_of: Callable[[Any], Any]
    ) -> Iterator[_Chunk]:
        chunk, characters = _Chunk([], [], []), 0
        for position, item in pending:
            text = text_of(record_of(item), self._text, position)
            chunk.positions.append(position)
            chunk.items.append(item)
            chunk.texts.append(text)
            characters += len(text)
            if len(chunk.texts) == _RECORDS_PER_CHUNK or characters >= _CHARACTERS_PER_CHUNK:
                yield chunk
                chunk, characters = _Chunk([], [], []), 0
        if chunk.texts:
            yield chunk

    def _decide(self, chunk: _Chunk) -> Tuple[Set[int], bool]:
        """The positions of the removed records, and whether the others are kept: a full index takes no
        more texts."""
        is_full = self._index.kept > 0 and self._index.len_bytes >= self._memory_bytes
        positions = np.array(chunk.positions, dtype=np.uint64)
        removed = set()
        for removal in self._index.decide(chunk.texts, positions, not is_full):
            self.removals._append(removal)
            removed.add(removal[0])
        decided = len(removed) if is_full else len(chunk.texts)
        self._decided_count += decided
        if hasattr(self._progress, "update"):
            self._progress.update(decided)
        elif self._progress is not None:
            self._progress("deciding", self._decided_count, self._total)
        return removed, not is_full


def dedup(
    dataset: Iterable[Any],
    text: str = "text",
    *,
    keep: Union[str, Callable[[Any], float]] = "first",
    edit_similarity: Optional[float] = None,
    jaccard: Optional[float] = None,
    decision: str = "contained",
    memory_bytes: int = 1 << 30,
    progress: Any = None,
) -> Dedup:
    """Removes near-duplicates: yields the records of a data set that say something new.

    ``dataset`` is an iterable of dicts or of strings, a ``datasets.Dataset``, or a table with the
    Arrow C stream interface. ``text`` names the field with the text.

    A record is removed if a kept record says all that it says; texts of one template that differ in a
    name or a number all stay. Texts are compared if one of the thresholds ``edit_similarity`` (0.5) and
    ``jaccard`` (0.4) is reached, as by ``simdb-cli dedup``. With ``decision="alike"``, each text is
    removed that reaches one of them (0.65 and 0.55).

    ``keep`` says which record of several is kept: the ``"first"``, the ``"longest"``, or that with the
    highest score of a function of the record. With ``"first"``, records are read and yielded as a
    stream. For the other rules, all records that are not in a list are first written to a temporary
    file, so they must be picklable.

    The index of kept texts takes some 600 bytes for a text of one line, and at most about
    ``memory_bytes``. When it is full, the undecided records are written to a temporary file, and compared
    in one more pass for each ``memory_bytes``. Beside the index there are 33 bytes for each removal and
    8 to 40 for each record.

    ``progress`` is a progress bar of tqdm, or a function of (stage, done, total).

    >>> import simdb
    >>> news = [
    ...     {"id": 1, "text": "The ferry to the islands was cancelled because of fog."},
    ...     {"id": 2, "text": "MongoDB integration component for Plone"},
    ...     {"id": 3, "text": "Memcached integration component for Plone"},
    ...     {"id": 4, "text": "The ferry to the islands was canceled because of fog!"},
    ... ]
    >>> result = simdb.dedup(news)
    >>> [record["id"] for record in result]
    [1, 2, 3]
    >>> result.removals[0].removed, result.removals[0].keeper, result.removals[0].verdict
    (3, 0, 'same')
    """
    options = {"edit_similarity": edit_similarity, "jaccard": jaccard, "decision": decision}
    return Dedup(dataset, text, keep, memory_bytes, progress, options)


def pairs(
    dataset: Iterable[Any],
    text: str = "text",
    *,
    edit_similarity: Optional[float] = None,
    jaccard: Optional[float] = None,
    decision: str = "contained",
    max_pairs: int = 100_000_000,
    progress: Any = None,
) -> Table:
    """All pairs of records with similar texts, as a table.

    The columns a and b are positions of records, a < b; verdict, edit_similarity and jaccard compare
    their texts. With decision "contained" one text says all that the other says. All texts are held in
    memory.

    >>> import simdb
    >>> found = simdb.pairs(["the cat sat on the mat today", "A cat sat on a mat today!", "a dog"])
    >>> found
    <Table 1 rows, a: UInt64, b: UInt64, verdict: Utf8, edit_similarity: Float64, jaccard: Float64>
    """
    _check_iterable(dataset)
    texts = [text_of(record, text, index) for index, record in enumerate(records(dataset))]
    return similar_pairs(texts, edit_similarity, jaccard, decision, max_pairs, progress)


def clusters(
    dataset: Iterable[Any],
    text: str = "text",
    *,
    keep: Union[str, Callable[[Any], float]] = "first",
    edit_similarity: Optional[float] = None,
    jaccard: Optional[float] = None,
    decision: str = "contained",
    memory_bytes: int = 1 << 30,
    progress: Any = None,
) -> Table:
    """The groups of near-duplicates, as a table with a row for each record that belongs to one.

    The columns are id and keeper, both positions of records, and verdict, missing, edit_similarity
    and jaccard as in ``Removal``. The keeper of a group says all that each member says. Keepers come
    first in their groups.

    >>> import simdb
    >>> found = simdb.clusters(["the cat sat on the mat today", "A cat sat on a mat today!", "a dog"])
    >>> found.num_rows
    2
    """
    result = dedup(
        dataset,
        text,
        keep=keep,
        edit_similarity=edit_similarity,
        jaccard=jaccard,
        decision=decision,
        memory_bytes=memory_bytes,
        progress=progress,
    ).run()
    rows, last = Removals(), None
    for removal in sorted(result.removals, key=lambda removal: removal.keeper):
        if removal.keeper != last:
            last = removal.keeper
            rows._append((last, last, "same", [], 1.0, 1.0))
        rows._append(removal)
    return rows._to_table("id")
