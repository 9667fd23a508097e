//! The next step after an error.

use super::{Advice, Error};

impl Error {
    /// The next step, if it is one of this library's functions. The text of the error ends with the
    /// text of the advice, so that a program with other words for the step can replace them.
    ///
    /// ```
    /// use simdb::error::Advice;
    /// use simdb::Database;
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let path = folder.path().join("docs.simdb");
    /// std::fs::write(&path, [7; 5000]).unwrap();
    ///
    /// let error = Database::open(&path).unwrap_err();
    /// let advice = error.advice().unwrap();
    /// assert_eq!(advice, Advice::CheckPath);
    /// assert!(error.to_string().ends_with(&advice.to_string()));
    /// ```
    pub fn advice(&self) -> Option<Advice> {
        match self {
            Self::NotADatabase { found, .. } => Some(found.advice()),
            Self::FormatVersion {
                found, supported, ..
            } => Some(format_advice(*found, *supported)),
            Self::ForestMismatch { .. } => Some(Advice::Rebuild),
            Self::Corrupt { advice, .. } => Some(*advice),
            Self::JournalMissing { .. } => Some(Advice::FindJournal),
            Self::ArrivalAhead { .. } => Some(Advice::CheckTime),
            Self::NoArrivals { .. } => Some(Advice::KeepArrivals),
            _ => None,
        }
    }
}

/// The next step after a file of another format version.
pub(super) fn format_advice(found: u32, supported: u32) -> Advice {
    if found < supported {
        Advice::Rebuild
    } else {
        Advice::Upgrade
    }
}
