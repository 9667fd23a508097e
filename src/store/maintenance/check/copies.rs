//! The copies of documents: table `copied` has an entry for each record with copies and no others,
//! and table `refused` has the newest refused documents.

use super::entry_sum::EntrySum;
use super::{NAMED, TableCheck};
use crate::copies::{Copies, Sighting, refused_hash};
use crate::error::Result;
use crate::ids::DocId;
use crate::record::Record;
use crate::store::tables::copies::copied_entry;
use crate::store::tables::packed::damaged_ranges::split_damage;
use crate::store::tables::packed::entry::Entry;
use crate::store::tables::schema::{COPIED, REFUSED};
use crate::store::view::access::SnapshotTables;

impl TableCheck {
    /// Looks up the stored sightings of a document in table `refused`. Returns a sentence for the
    /// first sighting that the table lacks. In a database with a window, the table has no entries
    /// of expired documents.
    pub(super) fn lost_refusal(
        &self,
        tables: &SnapshotTables,
        id: DocId,
        copies: &Copies,
    ) -> Option<String> {
        if self.has_window || !self.is_flushed {
            return None;
        }
        let is_lost = |sighting: &&Sighting| {
            // Damage to the table is named when the table is read.
            let found = split_damage(tables.refused(refused_hash(&sighting.document)));
            matches!(found, Ok(Ok(None)))
        };
        let Sighting { document, .. } = copies.newest.iter().find(is_lost)?;
        Some(format!(
            "table refused lacks document {document}, a copy of document {id}"
        ))
    }

    /// Reads both tables, and compares `copied` with `made`, the entries that the records make;
    /// `None` if a record cannot be read.
    pub(super) fn copies(&mut self, tables: &SnapshotTables, made: Option<EntrySum>) -> Result<()> {
        let (Some(copied), Some(refused)) = (tables.kept(COPIED), tables.kept(REFUSED)) else {
            return Ok(());
        };
        let (mut last, mut twins) = (None, Vec::new());
        self.read(refused, |entry: u128| {
            // A key is refused once, so two entries of one hash contradict each other.
            if last.replace(entry.first()) == Some(entry.first()) && twins.len() < NAMED {
                twins.push(entry.first());
            }
            Ok(())
        })?;
        let mut found = EntrySum::default();
        let is_whole = self.read(copied, |entry: u128| {
            found.add(entry);
            Ok(())
        })?;
        if !self.is_flushed {
            return Ok(());
        }
        for hash in twins {
            self.damage.push(format!(
                "table refused holds hash {hash:016x} more than once"
            ));
        }
        let Some(made) = made.filter(|made| is_whole && found != *made) else {
            return Ok(());
        };
        self.damage.push(format!(
            "table copied does not hold the copies of the documents: it has {} entries, table texts \
             makes {}",
            found.count, made.count
        ));
        self.name(copied.entries()?.map(|entry: Result<u128>| {
            let entry = entry?;
            let id = DocId(entry.first());
            let copies = tables.record(id)?.as_ref().and_then(Record::copies);
            let is_other = copies.is_none_or(|copies| copied_entry(id, &copies) != entry);
            let what = || {
                format!("table copied holds document {id} with copies of another number or time")
            };
            Ok(is_other.then(what))
        }))
    }
}
