//! [`PushedKeys`]: the keys of the documents of a bulk load.

use bytemuck::{Pod, Zeroable};
use rdst::RadixKey;

use crate::error::Result;
use crate::ids::{DocId, Fingerprint};
use crate::record::key_hash;
use crate::store::bulk::new_documents::{NewDocuments, PushedDocument};
use crate::store::bulk::reporter::{Conflict, LoadReporter};
use crate::store::bulk::sort::{SortContext, Sorter};
use crate::store::commit::write_transaction::WriteTransaction;
use crate::store::tables::keys;
use crate::store::tables::packed::entry::{Entry, pair};
use crate::store::tables::schema::KEYS;

/// A pushed document, ordered by the hash of its key, then by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
struct KeyRecord {
    hash: u64,
    position: u64,
    id: u64,
    fingerprint: u64,
}

impl RadixKey for KeyRecord {
    const LEVELS: usize = 16;

    fn get_level(&self, level: usize) -> u8 {
        let word = if level < 8 { self.position } else { self.hash };
        (word >> (level % 8 * 8)) as u8
    }
}

/// Sorts the keys of pushed documents.
pub(super) struct PushedKeys {
    records: Sorter<KeyRecord>,
}

/// The entries of table `keys`, and the documents whose keys other documents have.
pub(super) struct SelectedKeys {
    pub(super) entries: Sorter<u128>,
    pub(super) repeated: Sorter<u64>,
}

impl PushedKeys {
    pub(super) fn new(memory_bytes: usize, context: &SortContext) -> Self {
        Self {
            records: Sorter::new(memory_bytes, context),
        }
    }

    pub(super) fn push(&mut self, key: &str, document: PushedDocument) -> Result<()> {
        self.records.push(KeyRecord {
            hash: key_hash(key),
            position: document.position,
            id: document.id.0,
            fingerprint: document.fingerprint.bits(),
        })
    }

    /// Selects the first document of each key: a stored document, or the first pushed. Counts and
    /// reports the other documents, whose keys and records are in the table of texts.
    pub(super) fn select(
        self,
        transaction: &WriteTransaction,
        mut selected: SelectedKeys,
        new_documents: &mut NewDocuments,
        reporter: &mut LoadReporter<'_>,
    ) -> Result<SelectedKeys> {
        let tables = transaction.tables()?;
        let texts = transaction.texts_to_read()?;
        let key_of = |id| match &texts {
            Some(texts) => keys::get(texts, id, &tables.db_path),
            None => Ok(None),
        };
        // The documents with different keys of one hash: nearly always one.
        let mut holders: Vec<(DocId, Fingerprint)> = Vec::new();
        let mut last_hash = None;
        for record in self.records.sorted()? {
            let KeyRecord {
                hash,
                position,
                id,
                fingerprint,
            } = record?;
            let (id, fingerprint) = (DocId(id), Fingerprint::from_bits(fingerprint));
            reporter.step()?;
            if last_hash.replace(hash) != Some(hash) {
                holders.clear();
                let mut stored = Vec::new();
                tables
                    .table(KEYS)
                    .visit_entries(pair(hash, 0), pair(hash, u64::MAX), |entry| {
                        stored.push(DocId(entry.second()));
                        true
                    })?;
                for id in stored {
                    holders.extend(tables.fingerprint(id)?.map(|stored| (id, stored)));
                }
            }
            let mut holder = None;
            for candidate in &holders {
                if key_of(candidate.0)? == key_of(id)? {
                    holder = Some(*candidate);
                }
            }
            let Some((holder, stored)) = holder else {
                holders.push((id, fingerprint));
                selected.entries.push(pair(hash, id.0))?;
                continue;
            };
            selected.repeated.push(id.0)?;
            new_documents.orphaned_texts.push(id.0)?;
            if stored == fingerprint {
                new_documents.report.present += 1;
            } else {
                new_documents.report.conflicts += 1;
                reporter.conflict(Conflict {
                    position,
                    id: holder,
                    stored,
                })?;
            }
        }
        Ok(selected)
    }
}
