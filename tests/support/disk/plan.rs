//! The plan of a disk: the fault and the operation that fails.

use std::io;

use super::file::Unsynced;

/// An operation of a disk, by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    Open,
    Create,
    Info,
    Read,
    Write,
    SetLen,
    Sync,
    Lock,
    Rename,
    Remove,
    Permissions,
    SyncFolder,
}

impl Operation {
    /// Returns `true` if the operation changes the disk or makes changes durable.
    pub fn changes(self) -> bool {
        !matches!(self, Self::Open | Self::Info | Self::Read | Self::Lock)
    }
}

/// The failure of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The device reports an error; the operation has no effect.
    Device,
    /// The disk is full; the operation has no effect. Applies to writes only.
    Full,
    /// Part of the bytes is written. Applies to writes only.
    Short,
    /// A sync fails, with this fate of the unsynced data.
    Sync(Unsynced),
}

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 6] = [
        Self::Device,
        Self::Full,
        Self::Short,
        Self::Sync(Unsynced::Stays),
        Self::Sync(Unsynced::StaysInMemory),
        Self::Sync(Unsynced::Goes),
    ];

    /// Returns `true` if an operation can fail in this way.
    pub fn concerns(self, operation: Operation) -> bool {
        match self {
            Self::Device => true,
            Self::Full => matches!(
                operation,
                Operation::Create | Operation::Write | Operation::SetLen
            ),
            Self::Short => operation == Operation::Write,
            Self::Sync(_) => operation == Operation::Sync,
        }
    }

    pub fn error(self) -> io::Error {
        match self {
            Self::Full => io::Error::new(io::ErrorKind::StorageFull, "the simulated disk is full"),
            _ => io::Error::other("the simulated disk has a fault"),
        }
    }
}

/// The planned fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plan {
    #[default]
    Nothing,
    /// Power is cut at this operation, counting those that change the disk. The operation itself is
    /// done if `is_done`.
    Cut { at: u64, is_done: bool },
    /// The operation of this number fails, counting those that the fault applies to, and all later
    /// ones if it lasts.
    Fault { at: u64, fault: Fault, lasts: bool },
}
