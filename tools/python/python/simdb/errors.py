"""The errors of simdb. Each text names the failure, the place and the next step."""

from __future__ import annotations


class Error(Exception):
    """An error of simdb, the base of all others."""


class NotFoundError(Error, FileNotFoundError):
    """There is no database at the path."""


class AlreadyExistsError(Error, FileExistsError):
    """The file to be created exists already. Nothing was changed."""


class NotADatabaseError(Error):
    """The file is no database, or a database of another version."""


class MismatchError(Error):
    """The database was created with another recipe or setting than the one asked for."""


class LockedError(Error):
    """Another process, or another object of this process, has the database open."""


class ClosedError(Error, ValueError):
    """The database or the snapshot was closed."""


class ReadOnlyError(Error):
    """The database is open for reading only, or frozen."""


class InvalidArgumentError(Error, ValueError):
    """An argument is not possible. Nothing was changed."""


class IncompleteError(Error):
    """The answer is not complete, because an exception ended the work before."""


class CorruptError(Error):
    """The file is damaged: the bytes read are not the bytes written."""


class StorageError(Error, OSError):
    """A read or a write failed. The cause is the error of the operating system."""


class CommitUnknownError(StorageError):
    """All changes of the call are durable, or none. Open the database again and repeat them."""


class BusyError(Error):
    """Another call on the database is not finished. Nothing was changed."""


class ForkError(Error):
    """The database was opened before the process was forked."""


class InternalError(Error):
    """simdb failed: a bug, to be reported."""
