//! The sorted changes that edits of documents make in one table, as `Packed::apply` takes them.

use crate::block;
use crate::ids::{DocId, Fingerprint};
use crate::store::tables::edit::{DocumentEdit, StoredDocument};
use crate::store::tables::packed::Op;
use crate::store::tables::packed::entry::pair;

/// The changes of `block0`: reliable documents only.
pub(super) fn block0_changes(edits: &[DocumentEdit]) -> Vec<(u128, Op)> {
    table_changes(edits, |id, state| {
        let entry = pair(state.fingerprint.bits(), id.0);
        state.reliable.then_some(entry)
    })
}

/// The changes of the table of a block other than 0, from the changes of distinct fingerprints.
pub(super) fn rotated_changes(block: usize, fingerprints: &[(u64, Op)]) -> Vec<(u64, Op)> {
    let mut changes: Vec<(u64, Op)> = fingerprints
        .iter()
        .map(|(bits, op)| (block::rotate(Fingerprint::from_bits(*bits), block), *op))
        .collect();
    changes.sort_unstable_by_key(|(rotated, _)| *rotated);
    changes
}

/// The changes of one table. `edits` has at most one edit of each document. `entry` returns the
/// entry of a document in the table; `None` if the table does not list the document.
pub(super) fn table_changes<E: Ord + Copy>(
    edits: &[DocumentEdit],
    entry: impl Fn(DocId, StoredDocument) -> Option<E>,
) -> Vec<(E, Op)> {
    let mut changes = Vec::with_capacity(edits.len());
    for edit in edits {
        let before = edit.before.and_then(|state| entry(edit.id, state));
        let after = edit.after.and_then(|state| entry(edit.id, state));
        // An unchanged entry must not be both removed and put: `Packed::apply` allows one change
        // for each entry. Two documents never change one entry, because an entry contains the id.
        if before != after {
            changes.extend(before.map(|entry| (entry, Op::Remove)));
            changes.extend(after.map(|entry| (entry, Op::Put)));
        }
    }
    changes.sort_unstable_by_key(|(entry, _)| *entry);
    changes
}
