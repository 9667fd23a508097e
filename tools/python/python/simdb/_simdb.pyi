from __future__ import annotations

import os
import pathlib
from datetime import datetime, timedelta
from types import TracebackType
from typing import (
    Any,
    Callable,
    Dict,
    Generic,
    Iterable,
    Iterator,
    Literal,
    Mapping,
    Optional,
    Protocol,
    Sequence,
    SupportsIndex,
    Tuple,
    Type,
    TypedDict,
    TypeVar,
    Union,
    final,
)

import numpy as np
from numpy.typing import NDArray

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object: ...

class _ArrowArray(Protocol):
    def __arrow_c_array__(
        self, requested_schema: Optional[object] = None
    ) -> Tuple[object, object]: ...

class _ProgressBar(Protocol):
    """A progress bar of tqdm."""

    def update(self, n: Any = 1) -> Any: ...
    def reset(self, total: Any = None) -> Any: ...
    def set_description(self, desc: Any = None) -> Any: ...

__version__: str

_Arrow = Union[_ArrowStream, _ArrowArray]
_Path = Union[str, os.PathLike[str]]
_Content = Union[str, Fingerprint]
_Id = Union[SupportsIndex, str]
_Fields = Dict[str, Any]
_Scopes = Union[str, Iterable[str]]
_Arrival = Union[SupportsIndex, str, datetime]
_Texts = Union[Iterable[str], NDArray[Any], _Arrow]
_Fingerprints = Union[NDArray[np.uint64], Iterable[Union[Fingerprint, SupportsIndex]], _Arrow]
_Records = Union[Iterable[Tuple[_Id, Union[_Content, SupportsIndex]]], Iterable[Mapping[str, Any]], _Arrow]
_Progress = Union[Callable[[str, int, Optional[int]], object], _ProgressBar]
_Decision = Literal["contained", "news", "alike"]
_Verdict = Literal["same", "a_in_b", "same_body", "b_in_a", "template", "different"]
_Missing = list[Tuple[str, float]]
_BatchAnswer = Tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.uint8]]
_RemovalRow = Tuple[int, int, Optional[str], _Missing, Optional[float], float]
_Written = TypeVar("_Written")

class _TableStats(TypedDict):
    entries: int
    chunks: int
    fill: float

class _Stats(TypedDict):
    documents: int
    expired: int
    distinct_fingerprints: int
    unreliable: int
    texts: int
    oldest_arrival: Optional[int]
    latest_arrival: Optional[int]
    unmerged_changes: int
    file_bytes: int
    packed_bytes: int
    tables: dict[str, _TableStats]

class _Vacuumed(TypedDict):
    before_bytes: int
    after_bytes: int

class _Salvage(TypedDict):
    documents: int
    from_one_table: int
    from_text: int
    ambiguous: int
    without_fingerprint: int
    lost_ids: list[int]
    without_text: int
    without_arrival: int
    without_key: int
    damage: list[str]

class _HotKey(TypedDict):
    key: int
    distinct_fingerprints: int
    documents: int
    samples: list[int]

class _Group(TypedDict):
    fingerprint: Fingerprint
    documents: int
    samples: list[int]

class _Diagnosis(TypedDict):
    documents: int
    distinct_fingerprints: int
    unreliable: int
    unmerged_changes: int
    ones: list[int]
    hottest_keys: list[list[_HotKey]]
    duplicate_groups: int
    duplicate_documents: int
    largest_groups: list[_Group]

@final
class Fingerprint:
    def __new__(cls, bits: SupportsIndex) -> Fingerprint: ...
    def distance(self, other: Fingerprint) -> int: ...
    def hex(self) -> str: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def __hash__(self) -> int: ...
    def __lt__(self, other: Fingerprint, /) -> bool: ...
    def __le__(self, other: Fingerprint, /) -> bool: ...
    def __gt__(self, other: Fingerprint, /) -> bool: ...
    def __ge__(self, other: Fingerprint, /) -> bool: ...

@final
class Match:
    def __new__(
        cls, id: int, distance: int, fingerprint: Fingerprint, key: Optional[str] = None
    ) -> Match: ...
    @property
    def key(self) -> Optional[str]: ...
    @property
    def id(self) -> int: ...
    @property
    def distance(self) -> int: ...
    @property
    def fingerprint(self) -> Fingerprint: ...
    def __hash__(self) -> int: ...

@final
class Resemblance:
    def __new__(
        cls, same_wording: bool, edit_similarity: Optional[float], jaccard: float
    ) -> Resemblance: ...
    @property
    def same_wording(self) -> bool: ...
    @property
    def edit_similarity(self) -> Optional[float]: ...
    @property
    def jaccard(self) -> float: ...

@final
class Similar:
    def __new__(
        cls,
        id: int,
        fingerprint: Fingerprint,
        distance: Optional[int],
        resemblance: Resemblance,
        verdict: Optional[str],
        missing_in_b: _Missing,
        missing_in_a: _Missing,
        key: Optional[str] = None,
    ) -> Similar: ...
    @property
    def key(self) -> Optional[str]: ...
    @property
    def id(self) -> int: ...
    @property
    def fingerprint(self) -> Fingerprint: ...
    @property
    def distance(self) -> Optional[int]: ...
    @property
    def resemblance(self) -> Resemblance: ...
    @property
    def verdict(self) -> Optional[_Verdict]: ...
    @property
    def missing_in_b(self) -> _Missing: ...
    @property
    def missing_in_a(self) -> _Missing: ...

@final
class Document:
    def __new__(
        cls,
        id: int,
        fingerprint: Fingerprint,
        reliable: bool,
        arrival: Optional[int],
        text: Optional[str],
        key: Optional[str],
        fields_json: Optional[str],
        scope: Optional[str],
    ) -> Document: ...
    @property
    def key(self) -> Optional[str]: ...
    @property
    def fields_json(self) -> Optional[str]: ...
    @property
    def scope(self) -> Optional[str]: ...
    @property
    def fields(self) -> Optional[_Fields]: ...
    @property
    def id(self) -> int: ...
    @property
    def fingerprint(self) -> Fingerprint: ...
    @property
    def reliable(self) -> bool: ...
    @property
    def arrival(self) -> Optional[int]: ...
    @property
    def text(self) -> Optional[str]: ...

@final
class Outcome:
    @property
    def kind(
        self,
    ) -> Literal[
        "inserted",
        "exists",
        "duplicate",
        "similar",
        "extends",
        "supersedes",
        "seen",
        "expired",
        "replaced",
        "removed",
        "missing",
    ]: ...
    @property
    def inserted(self) -> bool: ...
    @property
    def of(self) -> Union[Match, Similar, None]: ...
    @property
    def superseded(self) -> list[Similar]: ...
    @property
    def stored(self) -> Optional[Fingerprint]: ...
    def __bool__(self) -> bool: ...

@final
class BulkReport:
    @property
    def inserted(self) -> int: ...
    @property
    def present(self) -> int: ...
    @property
    def conflicts(self) -> int: ...
    @property
    def conflict_ids(self) -> list[int]: ...
    @property
    def expired(self) -> int: ...

@final
class Settings:
    @property
    def recipe(self) -> str: ...
    @property
    def keep_texts(self) -> bool: ...
    @property
    def similar(self) -> bool: ...
    @property
    def frozen(self) -> bool: ...
    @property
    def arrivals(self) -> bool: ...
    @property
    def retention(self) -> Optional[timedelta]: ...
    @property
    def keys(self) -> bool: ...
    @property
    def fields(self) -> bool: ...
    @property
    def copies(self) -> Optional[int]: ...
    @property
    def scopes(self) -> bool: ...
    @property
    def frames(self) -> Optional[int]: ...

@final
class Copies:
    @property
    def count(self) -> int: ...
    @property
    def first_seen(self) -> int: ...
    @property
    def last_seen(self) -> int: ...
    @property
    def newest(self) -> list[Sighting]: ...
    def __len__(self) -> int: ...

@final
class Sighting:
    @property
    def key(self) -> Optional[str]: ...
    @property
    def id(self) -> Optional[int]: ...
    @property
    def seen(self) -> int: ...
    @property
    def kind(self) -> Literal["duplicate", "same", "a_in_b", "same_body", "alike"]: ...
    @property
    def distance(self) -> Optional[int]: ...

@final
class Recipe:
    def __new__(
        cls,
        name: str = "ngram",
        *,
        dictionary: Optional[bytes] = None,
        idf: Optional[bytes] = None,
        stop_words: Optional[bytes] = None,
        top: Optional[int] = None,
        characters: Optional[str] = None,
    ) -> Recipe: ...
    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def description(self) -> str: ...

@final
class Table:
    @property
    def column_names(self) -> list[str]: ...
    @property
    def num_rows(self) -> Optional[int]: ...
    def to_pyarrow(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class Fingerprinter:
    def __new__(cls, recipe: Union[str, Recipe, None] = None) -> Fingerprinter: ...
    @property
    def recipe(self) -> Recipe: ...
    def fingerprint(self, text: str) -> Fingerprint: ...
    def fingerprint128(self, text: str) -> int: ...
    def unreliable_reason(self, text: str) -> Optional[str]: ...
    def fingerprints(
        self, texts: _Texts, *, progress: Optional[_Progress] = None
    ) -> Tuple[NDArray[np.uint64], NDArray[np.bool_]]: ...
    def features(self, text: str) -> list[Tuple[str, float, int]]: ...
    def fingerprint_tokens(self, tokens: Sequence[Tuple[str, float]]) -> Fingerprint: ...
    def normalise(self, text: str) -> str: ...

@final
class Comparison:
    @property
    def verdict(self) -> _Verdict: ...
    @property
    def missing_in_b(self) -> _Missing: ...
    @property
    def missing_in_a(self) -> _Missing: ...
    @property
    def resemblance(self) -> Resemblance: ...

@final
class Explanation:
    @property
    def verdict(self) -> _Verdict: ...
    @property
    def a(self) -> list[Tuple[str, float, Optional[int]]]: ...
    @property
    def b(self) -> list[Tuple[str, float, Optional[int]]]: ...

@final
class DocumentIterator(Iterator[Document]):
    def __iter__(self) -> DocumentIterator: ...
    def __next__(self) -> Document: ...

@final
class IdIterator(Iterator[int]):
    def __iter__(self) -> IdIterator: ...
    def __next__(self) -> int: ...

class _Reader:
    def within(
        self,
        query: _Content,
        radius: SupportsIndex = 3,
        *,
        limit: Optional[int] = None,
        within_scope: Optional[_Scopes] = None,
        since: Optional[_Arrival] = None,
    ) -> list[Match]: ...
    def within_batch(
        self,
        fingerprints: _Fingerprints,
        radius: SupportsIndex = 3,
        *,
        limit: Optional[int] = None,
        progress: Optional[_Progress] = None,
        within_scope: Optional[_Scopes] = None,
        since: Optional[_Arrival] = None,
    ) -> _BatchAnswer: ...
    def nearest(
        self,
        query: _Content,
        count: int = 1,
        *,
        within_scope: Optional[_Scopes] = None,
        since: Optional[_Arrival] = None,
    ) -> list[Match]: ...
    def similar(
        self,
        text: str,
        *,
        edit_similarity: Optional[float] = None,
        jaccard: Optional[float] = None,
        decision: _Decision = "contained",
        within_scope: Optional[_Scopes] = None,
        since: Optional[_Arrival] = None,
    ) -> list[Similar]: ...
    def get(self, id: _Id) -> Optional[Document]: ...
    def __getitem__(self, id: _Id, /) -> Document: ...
    def key(self, id: SupportsIndex) -> Optional[str]: ...
    def keys(self, ids: _Fingerprints) -> list[Optional[str]]: ...
    def id(self, key: str) -> Optional[int]: ...
    def copies(self, id: _Id) -> Optional[Copies]: ...
    def most_copied(
        self, limit: int = 10, *, since: Optional[_Arrival] = None
    ) -> list[Tuple[int, Copies]]: ...
    def __contains__(self, id: _Id, /) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> IdIterator: ...
    def documents(self, first: int = 0) -> DocumentIterator: ...
    def to_arrow(self) -> Table: ...
    def pairs(
        self,
        radius: SupportsIndex = 3,
        *,
        max_pairs: int = 100_000_000,
        progress: Optional[_Progress] = None,
        within_scope: Optional[_Scopes] = None,
        since: Optional[_Arrival] = None,
    ) -> Table: ...
    def clusters(
        self,
        radius: SupportsIndex = 3,
        *,
        shape: Literal["star", "connected"] = "star",
        keep: Literal["first", "oldest", "longest", "cleanest"] = "first",
        compare_texts: bool = False,
        progress: Optional[_Progress] = None,
        within_scope: Optional[_Scopes] = None,
        since: Optional[_Arrival] = None,
    ) -> Table: ...
    @property
    def settings(self) -> Settings: ...
    def close(self) -> None: ...
    def __exit__(
        self,
        kind: Optional[Type[BaseException]] = None,
        value: Optional[BaseException] = None,
        traceback: Optional[TracebackType] = None,
    ) -> None: ...

@final
class Snapshot(_Reader):
    def __enter__(self) -> Snapshot: ...

class _Writer(Generic[_Written]):
    def insert(
        self,
        id: _Id,
        content: _Content,
        *,
        arrival: Optional[_Arrival] = None,
        fields: Optional[_Fields] = None,
        scope: Optional[str] = None,
    ) -> _Written: ...
    def upsert(
        self,
        id: _Id,
        content: _Content,
        *,
        arrival: Optional[_Arrival] = None,
        fields: Optional[_Fields] = None,
        scope: Optional[str] = None,
    ) -> _Written: ...
    def insert_unique(
        self,
        id: _Id,
        content: _Content,
        radius: SupportsIndex = 3,
        *,
        arrival: Optional[_Arrival] = None,
        fields: Optional[_Fields] = None,
        scope: Optional[str] = None,
    ) -> _Written: ...
    def insert_unless_similar(
        self,
        id: _Id,
        text: str,
        *,
        edit_similarity: Optional[float] = None,
        jaccard: Optional[float] = None,
        decision: _Decision = "contained",
        replace: bool = False,
        arrival: Optional[_Arrival] = None,
        fields: Optional[_Fields] = None,
        scope: Optional[str] = None,
    ) -> _Written: ...
    def remove(self, id: _Id) -> _Written: ...

@final
class Database(_Reader, _Writer[Outcome]):
    def write_batch(self) -> WriteBatch: ...
    def prune(self, older_than: _Arrival) -> int: ...
    def bulk_load(
        self,
        records: _Records,
        *,
        id: Optional[str] = "id",
        text: Union[str, Sequence[str]] = "text",
        fingerprints: Optional[str] = None,
        key: Optional[str] = None,
        scope: Optional[str] = None,
        arrival: Optional[str] = None,
        keep: Sequence[str] = (),
        memory_bytes: int = ...,
        progress: Optional[_Progress] = None,
    ) -> BulkReport: ...
    def snapshot(self) -> Snapshot: ...
    def stats(self) -> _Stats: ...
    def doctor(self) -> _Diagnosis: ...
    def check(self, *, progress: Optional[_Progress] = None) -> list[str]: ...
    def backup(self, path: _Path, *, progress: Optional[_Progress] = None) -> None: ...
    def frames(self) -> list[Tuple[str, int, Optional[str]]]: ...
    def set_frames(self, lines: Sequence[str]) -> None: ...
    def flush(self) -> None: ...
    @property
    def path(self) -> pathlib.Path: ...
    def __bool__(self) -> bool: ...
    def __enter__(self) -> Database: ...

@final
class WriteBatch(_Writer[None]):
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    @property
    def outcomes(self) -> list[Outcome]: ...
    def __enter__(self) -> WriteBatch: ...
    def __exit__(
        self,
        kind: Optional[Type[BaseException]] = None,
        value: Optional[BaseException] = None,
        traceback: Optional[TracebackType] = None,
    ) -> None: ...

@final
class Deduplicator:
    def __new__(
        cls,
        edit_similarity: Optional[float] = None,
        jaccard: Optional[float] = None,
        decision: _Decision = "contained",
    ) -> Deduplicator: ...
    def decide(
        self, texts: _Texts, numbers: NDArray[np.uint64], keep: bool
    ) -> list[_RemovalRow]: ...
    @property
    def kept(self) -> int: ...
    @property
    def len_bytes(self) -> int: ...

def open(
    path: _Path,
    mode: Literal["r", "w", "c", "x"] = "r",
    *,
    recipe: Union[str, Recipe, None] = None,
    keep_texts: bool = False,
    similar: bool = False,
    retention: Optional[timedelta] = None,
    keys: bool = False,
    fields: bool = False,
    copies: Optional[int] = None,
    scopes: bool = False,
    frames: Optional[int] = None,
    cache_bytes: Optional[int] = None,
) -> Database: ...
def bulk_load(
    path: _Path,
    records: _Records,
    *,
    id: Optional[str] = "id",
    text: Union[str, Sequence[str]] = "text",
    fingerprints: Optional[str] = None,
    key: Optional[str] = None,
    scope: Optional[str] = None,
    arrival: Optional[str] = None,
    keep: Sequence[str] = (),
    recipe: Union[str, Recipe, None] = None,
    keep_texts: bool = False,
    similar: bool = False,
    retention: Optional[timedelta] = None,
    frozen: bool = False,
    memory_bytes: int = ...,
    progress: Optional[_Progress] = None,
) -> BulkReport: ...
def vacuum(path: _Path, *, progress: Optional[_Progress] = None) -> _Vacuumed: ...
def salvage(
    damaged: _Path,
    target: _Path,
    *,
    recipe: Union[str, Recipe, None] = None,
    keep_texts: bool = False,
    similar: bool = False,
    retention: Optional[timedelta] = None,
    memory_bytes: int = ...,
    progress: Optional[_Progress] = None,
) -> _Salvage: ...
def compare(a: str, b: str) -> Comparison: ...
def explain(a: str, b: str) -> Explanation: ...
def frames(texts: Iterable[str], in_documents: int = 10) -> list[Tuple[str, int]]: ...
def recipes() -> list[Recipe]: ...
def load_texts(
    path: _Path,
    texts: Iterable[Tuple[int, str]],
    memory_bytes: int,
    progress: Optional[_Progress],
) -> None: ...
def find_removals(
    path: _Path,
    keep: Union[str, NDArray[np.float64]],
    edit_similarity: Optional[float],
    jaccard: Optional[float],
    decision: _Decision,
    memory_bytes: int,
    progress: Optional[_Progress],
) -> list[_RemovalRow]: ...
def similar_pairs(
    texts: _Texts,
    numbers: NDArray[np.uint64],
    edit_similarity: Optional[float],
    jaccard: Optional[float],
    decision: _Decision,
    max_pairs: int,
    progress: Optional[_Progress],
) -> Table: ...
def removal_table(
    first_column: str,
    removed: NDArray[Any],
    keeper: NDArray[Any],
    verdict: NDArray[Any],
    edit_similarity: NDArray[Any],
    jaccard: NDArray[Any],
    missing: Mapping[int, Sequence[str]],
) -> Table: ...
