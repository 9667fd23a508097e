//! Table `frames`: the [`FrameLearner`] of a database that keeps frames.
//!
//! A key is `frames-` and the number of a [row](crate::analysis::frames::rows), two hexadecimal
//! digits; a row that is missing is empty. The keys are strings, because a scan of damaged pages
//! would take a row with a number for a text.

use redb::{ReadableTable, TableDefinition};

use crate::analysis::frames::FrameLearner;
use crate::analysis::frames::rows::ROWS;
use crate::error::Result;
use crate::store::disk::checksum::{verify_crc, with_crc};
use crate::store::disk::path::{DbPath, RedbResult};

pub(crate) const FRAMES: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("frames");

fn key(row: u8) -> String {
    format!("frames-{row:02x}")
}

/// Reads all rows.
pub(crate) fn read(
    table: &impl ReadableTable<&'static str, &'static [u8]>,
    in_documents: u16,
    db_path: &DbPath,
) -> Result<FrameLearner> {
    let mut learner = FrameLearner::new(u64::from(in_documents));
    for row in 0..=(ROWS - 1) as u8 {
        let key = key(row);
        if let Some(stored) = table.get(&*key).reading(db_path)? {
            let added = verify_crc(stored.value()).and_then(|bytes| learner.add_row(row, bytes));
            added
                .ok_or_else(|| db_path.corrupt(format!("row {key} of table frames is damaged")))?;
        }
    }
    Ok(learner.of_rows())
}

/// Writes rows.
pub(crate) fn write(
    table: &mut redb::Table<'_, &'static str, &'static [u8]>,
    rows: &[(u8, Vec<u8>)],
    db_path: &DbPath,
) -> Result<()> {
    for (row, bytes) in rows {
        table
            .insert(&*key(*row), with_crc(bytes).as_slice())
            .writing(db_path)?;
    }
    Ok(())
}
