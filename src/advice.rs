//! [`Advice`]: the next step after an error. [`ForeignFile`]: a file that is not a database.

use std::fmt;

/// The next step after an [`Error`](crate::Error). `Display` names the functions of this library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Advice {
    /// Give the path of a file, not of a folder.
    NameAFile,
    /// Check the path. If the file is empty after a failed copy, restore a backup.
    RestoreEmpty,
    /// Check the path. If the file was a database, save what is left.
    CheckPath,
    /// Check the path: the file is of another program.
    OtherProgram,
    /// Use a newer version of simdb, or rebuild the database.
    Upgrade,
    /// Use the version of simdb that created the file, or export its documents with that version
    /// and load them into a new database.
    Rebuild,
    /// Find out how much is damaged; then save what is left, or restore a backup.
    Salvage,
    /// Remove the journal if the database was restored from an older copy, or save the documents.
    RemoveNewerJournal,
    /// Move the journal to the database that it belongs to, or elsewhere.
    MoveJournal,
    /// Repair the disk and try again: a new file could not be read back, and was not published.
    CheckDisk,
    /// Put the journal back, restore a backup, or save the content of the database file.
    FindJournal,
    /// Name the recipe of the database to be salvaged, and its window and frames if it had them.
    NameRecipe,
    /// Check the arrival time and its unit, or accept times that lie farther ahead.
    CheckTime,
    /// Load the documents into a new database that keeps their arrival times.
    KeepArrivals,
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NameAFile => "give the path of a file",
            Self::RestoreEmpty => {
                "check the path, restore a backup, or delete the file and create the database again"
            }
            Self::CheckPath => {
                "check the path; if it was a database, save what is left with `Builder::salvage`, or \
                 restore a backup"
            }
            Self::OtherProgram => "check the path",
            Self::Upgrade => {
                "upgrade simdb, or load the documents into a new database with `Builder::bulk_create`"
            }
            Self::Rebuild => {
                "use the simdb version that created the file, or export the documents with that \
                 version and load them into a new database with `Builder::bulk_create`"
            }
            Self::Salvage => {
                "find out how much is damaged with `Database::check`, then save what is left with \
                 `Builder::salvage`, or restore a backup"
            }
            Self::RemoveNewerJournal => {
                "if the database was restored from an older copy, remove that journal; if not, save \
                 the documents with `Builder::salvage`"
            }
            Self::MoveJournal => "move that journal to the database that it belongs to, or elsewhere",
            Self::CheckDisk => {
                "the new file was not published, and nothing was changed; check the disk and try again"
            }
            Self::FindJournal => {
                "put the journal back, restore a backup, or save the content of the database file \
                 with `Builder::salvage`"
            }
            Self::NameRecipe => {
                "name the recipe of the database with `Builder::recipe`, and its window and frames, if \
                 it had them, with `Builder::retention` and `Builder::frames`"
            }
            Self::CheckTime => {
                "check the time and its unit, milliseconds since 1970, or create the database with \
                 another `Retention::max_ahead`"
            }
            Self::KeepArrivals => {
                "load its documents into a new one with `Builder::retention`"
            }
        })
    }
}

/// The content of a file that is not a database, in
/// [`Error::NotADatabase`](crate::Error::NotADatabase).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ForeignFile {
    /// The path is a folder.
    Folder,
    /// The path is neither a file nor a folder, for example a pipe or a device.
    Special,
    /// The file is empty.
    Empty,
    /// The file is a redb database.
    Redb,
    /// The file is an SQLite database.
    Sqlite,
    /// The file is a journal of simdb.
    Journal,
    /// The file is text.
    Text,
    /// The file begins with other bytes than a database.
    Other,
    /// The file is a redb database without the tables of simdb.
    NoTables,
}

impl ForeignFile {
    pub(crate) fn advice(self) -> Advice {
        match self {
            Self::Folder | Self::Special => Advice::NameAFile,
            Self::Empty => Advice::RestoreEmpty,
            Self::Redb | Self::Sqlite | Self::Journal | Self::Text => Advice::OtherProgram,
            Self::Other | Self::NoTables => Advice::CheckPath,
        }
    }
}

impl fmt::Display for ForeignFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Folder => "it is a folder",
            Self::Special => "it is not a regular file",
            Self::Empty => "it is empty",
            Self::Redb => "it is a plain redb file, of another program",
            Self::Sqlite => "it is an SQLite database",
            Self::Journal => "it is the journal of a database",
            Self::Text => "it is a text file",
            Self::Other => "it does not begin with the superblock of a database",
            Self::NoTables => "it has no tables of simdb",
        })
    }
}
