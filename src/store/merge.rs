//! Brings the changes of a journal into the tables.
//!
//! Many changes go slice by slice, each a commit of its own, so that none takes long or much
//! memory, and what the old pages took is used again. In between the tables hold something of
//! before and something of after. Whoever looks meanwhile takes every document that changes from
//! the tail, and what the tables say of it does not count. A merge that was cut short is begun
//! anew and comes to the same: an edit says what was there before and what shall be, and to put
//! what is there, or remove what is not, changes nothing.

use super::chunk::Entry;
use super::edit::DocumentEdit;
use super::packed::Op;
use super::write::{WriteTransaction, block0_changes, rotated_changes};
use crate::block::BLOCKS;
use crate::error::Result;

/// So few documents are merged in one commit.
const FEW: usize = if cfg!(test) { 64 } else { 2048 };
/// Changes of one table in a commit. In a table of millions each touches a page or half of one,
/// so that a commit writes about as many pages.
const CHANGES_A_SLICE: usize = if cfg!(test) { 100 } else { 8 << 10 };
/// Texts in a commit.
const TEXT_BYTES_A_SLICE: usize = 16 << 20;

/// Merges edits, which ascend by id, at most one of each document, in transactions that `begin`
/// gives. The last of them is given to `finish` before it is committed.
pub(super) fn merge(
    edits: &[DocumentEdit],
    begin: impl Fn() -> Result<WriteTransaction>,
    finish: impl FnOnce(&mut WriteTransaction) -> Result<()>,
) -> Result<()> {
    let mut last = begin()?;
    if edits.len() <= FEW && text_bytes(edits) <= TEXT_BYTES_A_SLICE {
        last.apply(edits.to_vec())?;
    } else {
        drop(last);
        merge_in_slices(edits, &begin)?;
        last = begin()?;
    }
    finish(&mut last)?;
    last.commit()
}

fn merge_in_slices(
    edits: &[DocumentEdit],
    begin: &impl Fn() -> Result<WriteTransaction>,
) -> Result<()> {
    let mut rest = edits;
    while !rest.is_empty() {
        let (slice, others) = rest.split_at(documents_in_slice(rest));
        commit(begin, |transaction| transaction.apply_documents(slice))?;
        rest = others;
    }
    let block0 = block0_changes(edits);
    let mut distinct = Vec::with_capacity(block0.len());
    let mut rest = block0.as_slice();
    while !rest.is_empty() {
        let (slice, others) = rest.split_at(entries_in_slice(rest));
        commit(begin, |transaction| {
            distinct.append(&mut transaction.apply_block0(slice)?);
            Ok(())
        })?;
        rest = others;
    }
    drop(block0);
    for block in 1..BLOCKS {
        // Two of its entries are as long as one of block 0.
        for slice in rotated_changes(block, &distinct).chunks(2 * CHANGES_A_SLICE) {
            commit(begin, |transaction| transaction.apply_rotated(block, slice))?;
        }
    }
    Ok(())
}

fn commit(
    begin: impl Fn() -> Result<WriteTransaction>,
    change: impl FnOnce(&mut WriteTransaction) -> Result<()>,
) -> Result<()> {
    let mut transaction = begin()?;
    change(&mut transaction)?;
    transaction.commit()
}

fn text_bytes(edits: &[DocumentEdit]) -> usize {
    edits.iter().map(|edit| edit.text.len_bytes()).sum()
}

/// How many of these documents go into one commit: at least one.
fn documents_in_slice(edits: &[DocumentEdit]) -> usize {
    let mut bytes = 0;
    let fits = edits.iter().take(CHANGES_A_SLICE).take_while(|edit| {
        bytes += edit.text.len_bytes();
        bytes <= TEXT_BYTES_A_SLICE
    });
    fits.count().max(1)
}

/// How many of these changes go into one commit: those of one fingerprint together.
fn entries_in_slice(changes: &[(u128, Op)]) -> usize {
    let Some((last, _)) = changes.get(CHANGES_A_SLICE - 1) else {
        return changes.len();
    };
    changes.partition_point(|(entry, _)| entry.first() <= last.first())
}
