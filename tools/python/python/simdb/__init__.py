"""An embedded near-duplicate database: do we have this text already, or nearly this?

>>> import simdb, tempfile, os
>>> path = os.path.join(tempfile.mkdtemp(), "news.simdb")
>>> with simdb.open(path, "c") as db:
...     db.insert(1, "The cat sat on the mat and looked at the rain outside.")
...     db.insert_unique(2, "the cat sat on the mat, and looked at the rain outside")
Outcome('inserted')
Outcome('duplicate', of=Match(id=1, distance=0, fingerprint=0x4cb7a9d30cdfd7d8))
"""

from simdb._simdb import (
    BulkReport,
    Comparison,
    Database,
    Document,
    DocumentIterator,
    Explanation,
    Fingerprinter,
    IdIterator,
    Match,
    Outcome,
    Recipe,
    Resemblance,
    Settings,
    Similar,
    Snapshot,
    Table,
    bulk_load,
    compare,
    explain,
    open,
    recipes,
)
from simdb.corpus import Dedup, Removal, clusters, dedup, pairs
from simdb.errors import (
    AlreadyExistsError,
    BusyError,
    ClosedError,
    CommitUnknownError,
    CorruptError,
    Error,
    ForkError,
    InternalError,
    InvalidArgumentError,
    LockedError,
    MismatchError,
    NotADatabaseError,
    NotFoundError,
    ReadOnlyError,
    StorageError,
)

__all__ = [
    "AlreadyExistsError",
    "BulkReport",
    "BusyError",
    "ClosedError",
    "CommitUnknownError",
    "Comparison",
    "CorruptError",
    "Database",
    "Dedup",
    "Document",
    "DocumentIterator",
    "Error",
    "Explanation",
    "Fingerprinter",
    "ForkError",
    "IdIterator",
    "InternalError",
    "InvalidArgumentError",
    "LockedError",
    "Match",
    "MismatchError",
    "NotADatabaseError",
    "NotFoundError",
    "Outcome",
    "ReadOnlyError",
    "Recipe",
    "Removal",
    "Resemblance",
    "Settings",
    "Similar",
    "Snapshot",
    "StorageError",
    "Table",
    "bulk_load",
    "clusters",
    "compare",
    "dedup",
    "explain",
    "open",
    "pairs",
    "recipes",
]
