//! The journals beside a damaged database.

use std::path::Path;

use crate::error::Result;
use crate::store::disk::path::DbPath;
use crate::store::journal::{Identity, Journal};

/// Returns `true` if a journal of any database lies beside the file.
pub(super) fn has_journal(db_path: &DbPath) -> bool {
    let file = db_path.disk().resolve(db_path.path());
    file.is_ok_and(|file| owners(&file, db_path).any(|owner| matches!(owner, Ok(Some(_)))))
}

/// The owner of each journal beside the file; `None` for a number without a journal.
pub(super) fn owners(
    file: &Path,
    db_path: &DbPath,
) -> impl Iterator<Item = Result<Option<Identity>>> {
    [1, 2]
        .map(|number| Journal::owner_of(file, number, db_path))
        .into_iter()
}
