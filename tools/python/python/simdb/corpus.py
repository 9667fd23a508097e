"""Whole corpora: a copy without near-duplicates, all pairs, and clusters.

The texts of a corpus are compared by what they say, in memory and without a database: a text is removed
if an earlier kept text says all that it says. ``simdb.compare`` shows the decision about two texts.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sized, Tuple, Union

import numpy as np

from simdb._simdb import Deduplicator, Table, removal_table, similar_pairs
from simdb.errors import InvalidArgumentError

_RECORDS_PER_CHUNK = 4096


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


def records(dataset: Any) -> Iterator[Any]:
    """The records of a data set: rows of an Arrow table as dicts, or the items of an iterable.

    A table needs pyarrow.
    """
    if hasattr(dataset, "__arrow_c_stream__") and not hasattr(dataset, "features"):
        import pyarrow

        for batch in pyarrow.RecordBatchReader.from_stream(dataset):
            for start in range(0, batch.num_rows, _RECORDS_PER_CHUNK):
                yield from batch.slice(start, _RECORDS_PER_CHUNK).to_pylist()
    else:
        yield from dataset


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


class Dedup(Iterator[Any]):
    """The kept records of a data set, in order. ``removals`` grows while they are read."""

    removals: List[Removal]
    """Every removed record, in the order of the decisions."""

    def __init__(
        self,
        dataset: Iterable[Any],
        text: str,
        keep: Union[str, Callable[[Any], float]],
        progress: Any,
        options: Dict[str, Any],
    ) -> None:
        if isinstance(keep, str) and keep not in ("first", "longest"):
            raise InvalidArgumentError(
                f"there is no rule {keep!r} for the record to keep; known are 'first', 'longest', and "
                "a function that returns the score of a record"
            )
        self._deduplicator = Deduplicator(**options)
        self._text = text
        self._progress = progress
        self._total = len(dataset) if isinstance(dataset, Sized) else None
        self._read = 0
        self._kept: List[int] = []
        self.removals = []
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
    def memory_bytes(self) -> int:
        """The bytes of memory that the index of kept texts takes."""
        return self._deduplicator.len_bytes

    def report(self) -> Table:
        """The removals as a table: removed, keeper, verdict, missing, edit_similarity, jaccard."""
        return removal_table("removed", self.removals)

    def _report(self, count: int) -> None:
        self._read += count
        if self._progress is None:
            return
        if hasattr(self._progress, "update"):
            self._progress.update(count)
        else:
            self._progress("deciding", self._read, self._total)

    def _in_order(self, dataset: Iterable[Any]) -> Iterator[Any]:
        chunk: List[Any] = []
        for record in records(dataset):
            chunk.append(record)
            if len(chunk) == _RECORDS_PER_CHUNK:
                yield from self._chunk(chunk)
                chunk = []
        yield from self._chunk(chunk)

    def _chunk(self, chunk: List[Any]) -> Iterator[Any]:
        first = self._read
        texts = [text_of(record, self._text, first + i) for i, record in enumerate(chunk)]
        removed = set()
        for row in self._deduplicator.decide(texts):
            self.removals.append(Removal(*row))
            removed.add(row[0])
        self._report(len(chunk))
        for index, record in enumerate(chunk, first):
            if index not in removed:
                self._kept.append(index)
                yield record

    def _by_score(
        self, dataset: Iterable[Any], keep: Union[str, Callable[[Any], float]]
    ) -> Iterator[Any]:
        """Decides about all records by descending score, then yields them in order."""
        every = list(records(dataset))
        texts = [text_of(record, self._text, index) for index, record in enumerate(every)]
        if callable(keep):
            scores = [keep(record) for record in every]
        else:
            scores = [float(len(text)) for text in texts]
        order = sorted(range(len(every)), key=lambda index: -scores[index])
        removed = set()
        for start in range(0, len(order), _RECORDS_PER_CHUNK):
            part = order[start : start + _RECORDS_PER_CHUNK]
            for row in self._deduplicator.decide([texts[index] for index in part]):
                removal = Removal(*row)
                removal = removal._replace(
                    removed=order[removal.removed], keeper=order[removal.keeper]
                )
                self.removals.append(removal)
                removed.add(removal.removed)
            self._report(len(part))
        for index, record in enumerate(every):
            if index not in removed:
                self._kept.append(index)
                yield record


def dedup(
    dataset: Iterable[Any],
    text: str = "text",
    *,
    keep: Union[str, Callable[[Any], float]] = "first",
    edit_similarity: Optional[float] = None,
    jaccard: Optional[float] = None,
    decision: str = "contained",
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
    highest score of a function of the record. With ``"first"`` records are read and yielded as a
    stream. Memory: the index of the kept texts, some 600 bytes for a text of one line, and the
    removals. Other rules hold all records in memory.

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
    return Dedup(dataset, text, keep, progress, options)


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
        progress=progress,
    ).run()
    members: Dict[int, List[Removal]] = {}
    for removal in result.removals:
        itself = Removal(removal.keeper, removal.keeper, "same", [], 1.0, 1.0)
        members.setdefault(removal.keeper, [itself]).append(removal)
    return removal_table("id", [row for keeper in sorted(members) for row in members[keeper]])
