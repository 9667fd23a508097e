//! What shall go wrong, and when.

use std::io;

use super::file::Unsynced;

/// What is asked of a disk, by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asked {
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

impl Asked {
    /// Whether it may change what is on the disk, or makes durable what is.
    pub fn changes(self) -> bool {
        !matches!(self, Self::Open | Self::Info | Self::Read | Self::Lock)
    }
}

/// What goes wrong with an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The device gives an error; nothing was done.
    Device,
    /// There is no room; nothing was done. Only what writes is concerned.
    Full,
    /// Part of what was to be written was written. Only writes are concerned.
    Short,
    /// A sync fails, and this becomes of what was not durable.
    Sync(Unsynced),
}

impl Fault {
    /// Every kind there is.
    pub const ALL: [Self; 6] = [
        Self::Device,
        Self::Full,
        Self::Short,
        Self::Sync(Unsynced::Stays),
        Self::Sync(Unsynced::StaysInMemory),
        Self::Sync(Unsynced::Goes),
    ];

    /// Whether an operation can fail in this way.
    pub fn concerns(self, asked: Asked) -> bool {
        match self {
            Self::Device => true,
            Self::Full => matches!(asked, Asked::Create | Asked::Write | Asked::SetLen),
            Self::Short => asked == Asked::Write,
            Self::Sync(_) => asked == Asked::Sync,
        }
    }

    pub fn error(self) -> io::Error {
        match self {
            Self::Full => io::Error::new(io::ErrorKind::StorageFull, "the simulated disk is full"),
            _ => io::Error::other("the simulated disk has a fault"),
        }
    }
}

/// What shall go wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plan {
    #[default]
    Nothing,
    /// Power fails at this operation of those that change something. What it does may be done or
    /// not.
    Cut { at: u64, is_done: bool },
    /// The operation of this number among those that the fault concerns fails, and all later ones
    /// too if it lasts.
    Fault { at: u64, fault: Fault, lasts: bool },
}
