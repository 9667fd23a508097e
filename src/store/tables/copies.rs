//! Tables `copied` and `refused`. The copies themselves are in the record of their document.
//!
//! Table `copied` finds the documents with the most copies without a read of their records. An
//! entry has the id of the document and, in one number, the time of the last copy in the upper 44
//! bits and the number of copies in the lower 20 bits. A larger time or number is stored as the
//! largest, and the record has the exact one.
//!
//! Table `refused` knows the keys or ids of refused documents, also after the documents that they
//! repeat have expired, so that a document that arrives again is neither stored nor counted again.

use std::collections::BTreeMap;

use crate::copies::{Copies, refused_hash};
use crate::error::Result;
use crate::ids::{DocId, Timestamp};
use crate::record::Record;
use crate::store::tables::edit::{DocumentEdit, Refused, TextEdit};
use crate::store::tables::packed::Op;
use crate::store::tables::packed::entry::{Entry, pair};
use crate::store::tables::schema::{COPIED, REFUSED};
use crate::store::tables::{Access, Tables};

const COUNT_BITS: u32 = 20;
/// The largest number of copies in table `copied`; stands for itself and all larger numbers.
pub(crate) const MAX_COUNT: u64 = (1 << COUNT_BITS) - 1;
/// The latest time in table `copied`, in the year 2527; stands for itself and all later times.
const MAX_TIME_MS: u64 = (1 << (u64::BITS - COUNT_BITS)) - 1;

/// For each new entry of `refused`, four entries behind it are examined, and removed if they have
/// expired. So at most a quarter of the entries have, without a scan of the table.
const EXAMINED: usize = 4;

/// The entry of a document in table `copied`.
pub(crate) fn copied_entry(id: DocId, copies: &Copies) -> u128 {
    let time = copies.last_seen.0.min(MAX_TIME_MS);
    pair(id.0, time << COUNT_BITS | copies.count.min(MAX_COUNT))
}

/// A document with its last copy and its number of copies, as table `copied` has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copied {
    pub(crate) id: DocId,
    /// At most [`MAX_COUNT`].
    pub(crate) count: u64,
    last_seen_ms: u64,
}

impl Copied {
    pub(crate) fn new(entry: u128) -> Self {
        Self {
            id: DocId(entry.first()),
            count: entry.second() & MAX_COUNT,
            last_seen_ms: entry.second() >> COUNT_BITS,
        }
    }

    /// Returns `false` if all copies came before `since`.
    pub(crate) fn may_have_since(self, since: Timestamp) -> bool {
        self.last_seen_ms >= since.0.min(MAX_TIME_MS)
    }
}

/// The entries of table `refused` for the sightings that a document is put with.
pub(crate) fn refused_of(copies: &Copies, id: DocId, has_window: bool) -> Vec<Refused> {
    // Oldest first: the last refusal of a document counts.
    let refused = copies.newest.iter().rev().map(|sighting| Refused {
        hash: refused_hash(&sighting.document),
        value: if has_window { sighting.seen.0 } else { id.0 },
    });
    refused.collect()
}

/// The most changes of scope after which the refused keys of a document are known.
const MAX_MOVES: usize = 64;

/// The id of a document that may have had other ids, in other scopes. `next` returns the id after
/// an id, if table `refused` has one.
pub(crate) fn id_after_moves(
    mut id: DocId,
    mut next: impl FnMut(DocId) -> Result<Option<u64>>,
) -> Result<DocId> {
    for _ in 0..MAX_MOVES {
        match next(id)? {
            Some(next) => id = DocId(next),
            None => break,
        }
    }
    Ok(id)
}

/// The changes of both tables, each ascending.
#[derive(Default)]
pub(crate) struct CopiesChanges {
    pub(crate) copied: BTreeMap<u128, Op>,
    pub(crate) refused: BTreeMap<u128, Op>,
}

impl CopiesChanges {
    /// The changes of the entries of a hash in table `refused`.
    fn of_refused(&self, hash: u64) -> impl Iterator<Item = (u128, Op)> {
        let entries = self.refused.range(pair(hash, 0)..=pair(hash, u64::MAX));
        entries.map(|(entry, op)| (*entry, *op))
    }
}

impl<A: Access> Tables<A> {
    fn copied(&self, id: DocId) -> Result<Option<u128>> {
        self.table(COPIED)
            .first_in(pair(id.0, 0), pair(id.0, u64::MAX))
    }

    /// The value of a hash in table `refused`.
    pub(crate) fn refused(&self, hash: u64) -> Result<Option<u64>> {
        let Some(table) = self.kept(REFUSED) else {
            return Ok(None);
        };
        let entry = table.first_in(pair(hash, 0), pair(hash, u64::MAX))?;
        Ok(entry.map(|entry: u128| entry.second()))
    }

    /// The changes that edits make. Each hash was refused by one edit. `cutoff` is the time before
    /// which documents are expired.
    pub(crate) fn copies_changes(
        &self,
        edits: &[DocumentEdit],
        cutoff: Option<Timestamp>,
    ) -> Result<CopiesChanges> {
        let mut changes = CopiesChanges::default();
        for edit in edits {
            let own = edit.text.record().and_then(Record::copies);
            let new = edit.new_copies().map(|copies| &**copies).or(own.as_ref());
            if new.is_none() && edit.text == TextEdit::Keep {
                continue;
            }
            let new = new.filter(|_| edit.after.is_some());
            self.replace_copied(edit.id, new, &mut changes)?;
        }
        // Also of a document that was removed: another document may get its id.
        for Refused { hash, value } in edits.iter().flat_map(DocumentEdit::refused) {
            self.put_refused(*hash, *value, cutoff, &mut changes)?;
        }
        Ok(changes)
    }

    /// The changes for documents that are put with copies.
    pub(crate) fn new_copies_changes<'c>(
        &self,
        documents: impl Iterator<Item = (DocId, &'c Copies)>,
        has_window: bool,
    ) -> Result<CopiesChanges> {
        let mut changes = CopiesChanges::default();
        for (id, copies) in documents {
            self.replace_copied(id, Some(copies), &mut changes)?;
            for Refused { hash, value } in refused_of(copies, id, has_window) {
                // Documents come in order of their ids, not of the refusals.
                let put = changes.of_refused(hash).find(|(_, op)| *op == Op::Put);
                let known = match put {
                    Some((entry, _)) => Some(entry.second()),
                    None => self.refused(hash)?,
                };
                if !known.is_some_and(|known| has_window && known >= value) {
                    self.put_refused(hash, value, None, &mut changes)?;
                }
            }
        }
        Ok(changes)
    }

    /// The changes for refused documents whose copies are set elsewhere.
    pub(crate) fn refused_changes(&self, refused: &[Refused]) -> Result<CopiesChanges> {
        let mut changes = CopiesChanges::default();
        for Refused { hash, value } in refused {
            self.put_refused(*hash, *value, None, &mut changes)?;
        }
        Ok(changes)
    }

    /// The changes for documents that are removed.
    pub(crate) fn removed_copies_changes(&self, id: DocId) -> Result<CopiesChanges> {
        let mut changes = CopiesChanges::default();
        self.replace_copied(id, None, &mut changes)?;
        Ok(changes)
    }

    fn replace_copied(
        &self,
        id: DocId,
        copies: Option<&Copies>,
        changes: &mut CopiesChanges,
    ) -> Result<()> {
        let new = copies.map(|copies| copied_entry(id, copies));
        let old = self.copied(id)?;
        if new != old {
            changes.copied.extend(old.map(|old| (old, Op::Remove)));
            changes.copied.extend(new.map(|new| (new, Op::Put)));
        }
        Ok(())
    }

    fn put_refused(
        &self,
        hash: u64,
        value: u64,
        cutoff: Option<Timestamp>,
        changes: &mut CopiesChanges,
    ) -> Result<()> {
        // Another document of the same changes may have refused the hash: table `refused` has one
        // entry for a hash.
        let before: Vec<u128> = changes.of_refused(hash).map(|(entry, _)| entry).collect();
        for entry in before {
            changes.refused.remove(&entry);
        }
        let old = self.refused(hash)?;
        if old != Some(value) {
            let old = old.map(|old| (pair(hash, old), Op::Remove));
            changes.refused.extend(old);
            changes.refused.insert(pair(hash, value), Op::Put);
        }
        let (Some(Timestamp(cutoff)), Some(behind)) = (cutoff, hash.checked_add(1)) else {
            return Ok(());
        };
        let mut examined = 0;
        self.table(REFUSED)
            .visit_entries(pair(behind, 0), u128::MAX, |entry: u128| {
                if entry.second() < cutoff {
                    changes.refused.insert(entry, Op::Remove);
                }
                examined += 1;
                examined < EXAMINED
            })
    }
}
