//! [`LockHolder`]: the holder of the lock of a database file.

use std::fmt;

/// The holder of the lock of a database file, in [`Error::Locked`](crate::Error::Locked).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LockHolder {
    /// A [`Database`](crate::Database) of this process.
    Database,
    /// A database of this process that is open for reading only.
    ReadOnlyDatabase,
    /// A [`BulkLoad`](crate::bulk::BulkLoad) of this process into the database.
    BulkLoad,
    /// A [`vacuum`](crate::Builder::vacuum) of this process.
    Vacuum,
    /// A [`salvage`](crate::Builder::salvage) of this process.
    Salvage,
    /// A [`Snapshot`](crate::Snapshot) of this process whose database was closed or dropped.
    Snapshot,
    /// Another process, by its id. Known on Linux only, and not from within every container.
    Process(u32),
    /// Another process with an unknown id.
    AnotherProcess,
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database => f.write_str(
                "this process has it open already; share that Database, for example in an Arc, or \
                 close it",
            ),
            Self::ReadOnlyDatabase => f.write_str(
                "this process has it open for reading only; close that Database and try again",
            ),
            Self::BulkLoad => {
                f.write_str("a bulk load of this process has it open; finish or drop the load")
            }
            Self::Vacuum => {
                f.write_str("a vacuum of this process has it open; try again when it has ended")
            }
            Self::Salvage => {
                f.write_str("a salvage of this process reads it; try again when it has ended")
            }
            Self::Snapshot => f.write_str(
                "a snapshot of this process holds it, although its Database was closed or dropped; \
                 drop the snapshot and try again",
            ),
            Self::Process(id) => write!(
                f,
                "process {id} has it open; close it there or wait for that process, and try again"
            ),
            Self::AnotherProcess => {
                f.write_str("another process has it open; close it there and try again")
            }
        }
    }
}
