"""Whole corpora: a copy without near-duplicates, all pairs, and clusters.

A text is removed if a kept text covers it, as by ``simdb-cli dedup``. ``simdb.compare`` shows the
decision about two texts.
"""

from __future__ import annotations

import math
import numbers
import os
import pickle
import tempfile
import weakref
from array import array
from typing import Any, Callable, Dict, Iterable, Iterator, List, Literal, Mapping, NamedTuple
from typing import Optional, Sequence, Set, Sized, Tuple, Union, overload

import numpy as np

from simdb._simdb import Deduplicator, Table, find_removals, load_texts, removal_table, similar_pairs
from simdb.errors import IncompleteError, InvalidArgumentError

_RECORDS_PER_CHUNK = 4096
_CHARACTERS_PER_CHUNK = 4 << 20
_VERDICTS = ("same", "a_in_b", "same_body", None)


class Removal(NamedTuple):
    """A removed record, by its position in the data set, and the reason."""

    removed: int
    """The position of the removed record."""
    keeper: int
    """The position of the kept record that covers the removed record."""
    verdict: Optional[str]
    """``"same"``, ``"a_in_b"`` or ``"same_body"``: a is the removed text, b its keeper. None with decision "alike"."""
    missing: List[Tuple[str, float]]
    """The words that the keeper does not have, with their weights in nats: at most 3 in all."""
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
    if isinstance(dataset, (str, bytes, bytearray)):
        raise InvalidArgumentError("a data set is expected, not one text")
    if isinstance(dataset, Mapping):
        raise InvalidArgumentError(
            f"a data set is an iterable of records; of a {type(dataset).__name__} give one split, or "
            "make a table of its columns, for example pyarrow.table(columns)"
        )
    if type(dataset).__name__ == "LazyFrame":
        raise TypeError("a data set is expected, not a LazyFrame, which has no rows yet; give frame.collect()")
    if hasattr(dataset, "__arrow_c_stream__"):
        return
    try:
        iter(dataset)
    except TypeError:
        raise TypeError(
            f"a data set is an iterable of records, or an Arrow table, not {type(dataset).__name__}"
        ) from None


def _check_fields(text: Any) -> None:
    """Refuses what is no name, or an empty list of names."""
    if isinstance(text, str):
        return
    if not isinstance(text, Sequence) or not all(isinstance(name, str) for name in text):
        raise TypeError(
            f"text, the name of a field (str) or a list of names, is expected, not {type(text).__name__}"
        )
    if not text:
        raise InvalidArgumentError("the names of the fields of the text are expected, and there is none")


def records(dataset: Any) -> Iterator[Any]:
    """The records of a data set: rows of an Arrow table as dicts, or the items of an iterable. A column,
    such as a Series, is an iterable of its values."""
    if not _is_table(dataset):
        if hasattr(dataset, "to_pylist") and hasattr(dataset, "slice"):
            # An array of pyarrow, which yields objects of its own.
            for start in range(0, len(dataset), _RECORDS_PER_CHUNK):
                yield from dataset.slice(start, _RECORDS_PER_CHUNK).to_pylist()
        else:
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


def _is_table(dataset: Any) -> bool:
    """Returns True for an Arrow stream that is no single column, and no ``datasets.Dataset``."""
    # Of the class: a column of a DataFrame, or a value of the index of a Series, is an attribute.
    if not hasattr(dataset, "__arrow_c_stream__") or hasattr(type(dataset), "features"):
        return False
    has_columns = any(hasattr(type(dataset), name) for name in ("columns", "column_names", "schema"))
    return has_columns or not (hasattr(dataset, "to_list") or hasattr(dataset, "to_pylist"))


def text_of(record: Any, field: Union[str, Sequence[str]], index: int) -> Optional[str]:
    """The text of a record, which is a string, or has the text in a field, or in several. None for a missing
    text."""
    if isinstance(record, str):
        return record
    if not isinstance(field, str):
        return _joined_text(record, field, index)
    if isinstance(record, dict):
        try:
            text = record[field]
        except KeyError:
            raise InvalidArgumentError(
                f"record {index} has no field {field!r}; its fields are {list(record)}"
            ) from None
        if isinstance(text, str):
            return text
    if _is_missing(record):
        return None
    if isinstance(record, (bytes, bytearray, numbers.Number, np.generic)):
        raise _no_text(record, f"record {index}")
    try:
        text = record[field]
    except (KeyError, TypeError, IndexError):
        raise InvalidArgumentError(
            f"record {index} has no field {field!r}: it is of type {type(record).__name__}"
        ) from None
    if isinstance(text, str):
        return text
    if _is_missing(text):
        return None
    raise _no_text(text, f"field {field!r} of record {index}")


def _joined_text(record: Any, fields: Sequence[str], index: int) -> Optional[str]:
    """One text of several fields, in their order, with a line feed between two. A field that is missing or
    empty is left out; a record without any of them is refused."""
    texts: List[Optional[str]] = []
    for name in fields:
        try:
            texts.append(text_of(record, name, index))
        except InvalidArgumentError:
            if name == fields[-1] and not texts:
                raise
    found = [text for text in texts if text is not None]
    return "\n".join(text for text in found if text.strip()) if found else None


def _is_missing(value: Any) -> bool:
    """Returns True for None, NaN, and the missing values of pandas."""
    if isinstance(value, (float, np.floating)):
        return math.isnan(value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _no_text(value: Any, place: str) -> TypeError:
    """The exception for a value in place of a text."""
    name = type(value).__name__
    if isinstance(value, (bytes, bytearray)):
        return TypeError(f"{place} is of type {name}, not a text (str); decode it: data.decode('utf-8')")
    if isinstance(value, (numbers.Number, np.generic)):
        return TypeError(
            f"{place} is the {name} {value}, not a text (str); give str({value}) if it is to be compared as one"
        )
    return TypeError(f"{place} is of type {name}, not a text (str)")


class _Spool:
    """Records in a temporary file."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="simdb-")
        # Otherwise a ResourceWarning says that nobody closed it.
        weakref.finalize(self, self._file.close)
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
    """Records that are decided together, each with its position. Records without a text are in
    ``records`` alone."""

    records: List[Tuple[int, Any]]
    positions: List[int]
    texts: List[str]


class Dedup(Iterator[Any]):
    """The kept records of a data set, in order. ``removals`` has the removed records.

    After an exception, of the data set or by Ctrl-C, each further use raises ``IncompleteError``.
    """

    removals: Removals
    """Every removed record. With keep="earlier" it grows while records are read."""

    def __init__(
        self,
        dataset: Iterable[Any],
        text: Union[str, Sequence[str]],
        keep: Union[str, Callable[[Any], float]],
        memory_bytes: int,
        progress: Any,
        options: Dict[str, Any],
    ) -> None:
        _check_iterable(dataset)
        _check_fields(text)
        if not callable(keep) and keep not in ("first", "longest", "cleanest", "earlier"):
            raise InvalidArgumentError(
                f"there is no rule {keep!r} for the record to keep; known are 'first', 'longest', 'cleanest', "
                "'earlier', and a function that returns the score of a record"
            )
        if isinstance(memory_bytes, bool) or not isinstance(memory_bytes, (int, np.integer)):
            raise TypeError(f"memory_bytes is a number of bytes (int), not {type(memory_bytes).__name__}")
        if memory_bytes < 1:
            raise InvalidArgumentError(
                f"memory_bytes is an int of at least 1, which {memory_bytes} is not"
            )
        self._options = options
        # Refuses wrong options, with any rule.
        self._index = Deduplicator(**options)
        self._text = text
        self._memory_bytes = int(memory_bytes)
        self._progress = progress
        self._total = len(dataset) if isinstance(dataset, Sized) else None
        self._drops_records = False
        self._is_complete = False
        self._failure: Optional[BaseException] = None
        self._read_count = 0
        self._decided_count = 0
        self._kept = array("q")
        self.removals = Removals()
        self._records = self._in_order(dataset) if keep == "earlier" else self._of_all(dataset, keep)

    def __next__(self) -> Any:
        self._refuse_if_failed()
        try:
            return next(self._records)
        except StopIteration:
            self._is_complete = True
            raise
        except BaseException as error:
            self._failure = error
            raise

    def run(self) -> Dedup:
        """Decides about all records that were not read yet, and drops them: ``kept`` and
        ``removals`` are then complete."""
        self._refuse_if_failed()
        self._drops_records = True
        try:
            for _ in self:
                pass
        except BaseException as error:
            # Ctrl-C between two records.
            self._failure = self._failure or error
            raise
        return self

    @property
    def is_complete(self) -> bool:
        """True if all records are decided and read."""
        return self._is_complete

    @property
    def kept(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The positions of the kept records that were read: an index of a table or a data set."""
        self._refuse_if_failed()
        return np.array(self._kept, dtype=np.int64)

    @property
    def index_bytes(self) -> int:
        """With keep="earlier", the bytes of memory that the index of kept texts takes."""
        return self._index.len_bytes

    def report(self) -> Table:
        """The removals as a table: removed, keeper, verdict, missing, edit_similarity, jaccard."""
        self._refuse_if_failed()
        return self.removals._to_table("removed")

    def __repr__(self) -> str:
        state = "" if self._is_complete else ", incomplete"
        return f"<simdb.Dedup: {len(self._kept)} kept, {len(self.removals)} removed{state}>"

    def _refuse_if_failed(self) -> None:
        if self._failure is not None:
            raise IncompleteError(
                f"this Dedup is not complete: it ended with {type(self._failure).__name__} after "
                f"{self._read_count} records; call simdb.dedup again"
            ) from self._failure

    def _numbered(self, dataset: Iterable[Any]) -> Iterator[Tuple[int, Any]]:
        for position, record in enumerate(records(dataset)):
            yield position, record
            self._read_count = position + 1

    def _of_all(
        self, dataset: Iterable[Any], keep: Union[str, Callable[[Any], float]]
    ) -> Iterator[Any]:
        """Decides about all records as the command line does, then yields the kept ones in order."""
        every: Optional[Union[Sequence[Any], _Spool]] = None
        if isinstance(dataset, (list, tuple)):
            every = dataset
        elif not self._drops_records:
            every = _Spool()
        spool = every if isinstance(every, _Spool) else None
        scores = array("d")

        def texts() -> Iterator[Tuple[int, str]]:
            for position, record in self._numbered(dataset):
                text = text_of(record, self._text, position)
                if callable(keep):
                    scores.append(0.0 if text is None else _score(keep, record, position))
                if spool is not None:
                    spool.append(record)
                if text is not None:
                    yield position, text

        with tempfile.TemporaryDirectory(prefix="simdb-") as folder:
            path = os.path.join(folder, "corpus.simdb")
            load_texts(path, texts(), self._memory_bytes, self._progress)
            found = find_removals(
                path,
                np.array(scores) if callable(keep) else keep,
                memory_bytes=self._memory_bytes,
                progress=self._progress,
                **self._options,
            )
        for removal in found:
            self.removals._append(removal)
        is_kept = np.ones(self._read_count, dtype=np.bool_)
        is_kept[np.array(self.removals._removed, dtype=np.int64)] = False
        positions = np.flatnonzero(is_kept).tolist()
        if self._drops_records or every is None:
            self._kept.extend(positions)
            return
        for position in positions:
            self._kept.append(position)
            yield None if self._drops_records else every[position]

    def _in_order(self, dataset: Iterable[Any]) -> Iterator[Any]:
        """Yields each record when it is decided."""
        for position, record in self._decided(self._numbered(dataset)):
            self._kept.append(position)
            yield record

    def _decided(self, pending: Iterable[Tuple[int, Any]]) -> Iterator[Tuple[int, Any]]:
        """The positions and the kept records. When the index is full, later records are compared with
        it and put aside, and then compared with each other in the same way."""
        while True:
            put_aside: Optional[_Spool] = None
            for chunk in self._chunks(pending):
                removed, is_decided = self._decide(chunk)
                if not is_decided and put_aside is None:
                    put_aside = _Spool()
                for position, record in chunk.records:
                    if position in removed:
                        continue
                    if put_aside is not None:
                        put_aside.append((position, record))
                    else:
                        yield position, record
            if put_aside is None:
                return
            pending = put_aside  # type: ignore[assignment]
            self._index = Deduplicator(**self._options)

    def _chunks(self, pending: Iterable[Tuple[int, Any]]) -> Iterator[_Chunk]:
        chunk, characters = _Chunk([], [], []), 0
        for position, record in pending:
            chunk.records.append((position, record))
            text = text_of(record, self._text, position)
            if text is not None:
                chunk.positions.append(position)
                chunk.texts.append(text)
                characters += len(text)
            if len(chunk.records) == _RECORDS_PER_CHUNK or characters >= _CHARACTERS_PER_CHUNK:
                yield chunk
                chunk, characters = _Chunk([], [], []), 0
        if chunk.records:
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
        decided = len(removed) if is_full else len(chunk.records)
        self._decided_count += decided
        if hasattr(self._progress, "update"):
            self._progress.update(decided)
        elif self._progress is not None:
            self._progress("deciding", self._decided_count, self._total)
        return removed, not is_full


def _score(keep: Callable[[Any], float], record: Any, position: int) -> float:
    """The score of a record, which is a number."""
    score = keep(record)
    if isinstance(score, str):
        raise TypeError(f"the score of record {position} is of type str, not a number")
    try:
        number = float(score)
    except (TypeError, ValueError):
        raise TypeError(
            f"the score of record {position} is of type {type(score).__name__}, not a number"
        ) from None
    if math.isnan(number):
        raise InvalidArgumentError(
            f"the score of record {position} is NaN, which no number is above or below; give a number"
        )
    return number


def dedup(
    dataset: Iterable[Any],
    text: Union[str, Sequence[str]] = "text",
    *,
    keep: Union[Literal["first", "longest", "cleanest", "earlier"], Callable[[Any], float]] = "first",
    edit_similarity: Optional[float] = None,
    jaccard: Optional[float] = None,
    decision: Literal["contained", "news", "alike"] = "contained",
    memory_bytes: int = 1 << 30,
    progress: Any = None,
) -> Dedup:
    """Removes near-duplicates: yields the records of a data set that no kept record covers.

    ``dataset`` is an iterable of dicts or of strings, a ``datasets.Dataset``, or a table with the
    Arrow C stream interface. ``text`` names the field with the text; several fields make one text,
    ``text=["title", "body"]``, with a line feed between two, without those that are missing or empty.

    A record is removed if a kept record covers it; texts of one template that differ in a
    name or a number all stay. Texts are compared if one of the thresholds ``edit_similarity`` (0.5) and
    ``jaccard`` (0.4) is reached, as by ``simdb-cli dedup``. With ``decision="alike"``, each text is
    removed that reaches one of them (0.65 and 0.55).

    A record without a text (None, NaN, or an empty text) is a duplicate of no record, and stays. Texts
    without a letter or a digit are duplicates if they are equal. A number or bytes in place of a text is
    a ``TypeError``.

    ``keep`` says which record is kept of several whose texts cover all others: the ``"first"``, the
    ``"longest"``, the ``"cleanest"`` (the shortest), or the record with the highest score of a function, as ``--keep`` and ``--score`` of
    ``simdb-cli dedup`` do. All records are read before the first one is yielded: the texts are written to
    a temporary database, and the records, unless they are in a list, to a temporary file, so they must be
    picklable. The work takes about ``memory_bytes``, and at least 64 MiB.

    With ``keep="earlier"``, records are yielded while they are read: a record is removed only if an
    *earlier* kept record covers it, so fewer records are removed. The index of kept texts takes some
    600 bytes for a text of one line, and at most about ``memory_bytes``. When it is full, the undecided
    records are written to a temporary file, and compared in one more pass for each ``memory_bytes``.

    Each rule also takes 33 bytes for each removal and 8 to 40 for each record.

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
    text: Union[str, Sequence[str]] = "text",
    *,
    edit_similarity: Optional[float] = None,
    jaccard: Optional[float] = None,
    decision: Literal["contained", "news", "alike"] = "contained",
    max_pairs: int = 100_000_000,
    progress: Any = None,
) -> Table:
    """All pairs of records with similar texts, as a table.

    The columns a and b are positions of records, a < b; verdict, edit_similarity and jaccard compare
    their texts. With decision "contained" one text covers the other. All texts are held in memory.

    >>> import simdb
    >>> found = simdb.pairs(["the cat sat on the mat today", "A cat sat on a mat today!", "a dog"])
    >>> found
    <Table 1 rows, a: UInt64, b: UInt64, verdict: Utf8, edit_similarity: Float64, jaccard: Float64>
    """
    _check_iterable(dataset)
    _check_fields(text)
    positions, texts = array("Q"), []
    for index, record in enumerate(records(dataset)):
        found = text_of(record, text, index)
        if found is not None:
            positions.append(index)
            texts.append(found)
    return similar_pairs(texts, np.array(positions), edit_similarity, jaccard, decision, max_pairs, progress)


def clusters(
    dataset: Iterable[Any],
    text: Union[str, Sequence[str]] = "text",
    *,
    keep: Union[Literal["first", "longest", "cleanest", "earlier"], Callable[[Any], float]] = "first",
    edit_similarity: Optional[float] = None,
    jaccard: Optional[float] = None,
    decision: Literal["contained", "news", "alike"] = "contained",
    memory_bytes: int = 1 << 30,
    progress: Any = None,
) -> Table:
    """The groups of near-duplicates, as a table with a row for each record that belongs to one.

    The columns are id and keeper, both positions of records, and verdict, missing, edit_similarity
    and jaccard as in ``Removal``. The keeper of a group covers each member. Keepers come
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
