//! Brings the changes of a journal into the tables.
//!
//! Many changes go slice by slice, each a commit of its own, so that none takes long or much
//! memory, and what the old pages took is used again. In between the tables hold something of
//! before and something of after. Whoever looks meanwhile takes every document that changes from
//! the tail, and what the tables say of it does not count. A merge that was cut short is begun
//! anew and comes to the same: an edit says what was there before and what shall be, and to put
//! what is there, or remove what is not, changes nothing.

use crate::block::BLOCKS;
use crate::error::Result;
use crate::store::commit::flush_options::FlushOptions;
use crate::store::commit::write_transaction::{WriteTransaction, block0_changes, rotated_changes};
use crate::store::tables::edit::{DocumentEdit, TextEdit};
use crate::store::tables::packed::Op;
use crate::store::tables::packed::chunk::Entry;

/// Texts in a commit.
const TEXT_BYTES_A_SLICE: usize = 16 << 20;
/// More keys than a text has.
const KEYS_OF_TEXT: usize = 64;

/// Merges edits, which ascend by id, at most one of each document, in transactions that `begin`
/// gives. The last of them is given to `finish` before it is committed.
pub(crate) fn merge(
    edits: &[DocumentEdit],
    flush_options: FlushOptions,
    begin: impl Fn() -> Result<WriteTransaction>,
    finish: impl FnOnce(&mut WriteTransaction) -> Result<()>,
) -> Result<()> {
    let mut last = begin()?;
    let are_few = edits.len() <= flush_options.at_once()
        && text_bytes(edits) <= TEXT_BYTES_A_SLICE
        && (!last.keeps_bands()
            || edits.iter().map(most_bands).sum::<usize>() <= flush_options.bands_at_once());
    if are_few {
        last.apply(edits.to_vec())?;
    } else {
        let keeps_bands = last.keeps_bands();
        drop(last);
        merge_documents(edits, flush_options, keeps_bands, &begin)?;
        merge_blocks(edits, flush_options, &begin)?;
        last = begin()?;
    }
    finish(&mut last)?;
    last.commit()
}

/// Merges the tables of documents.
fn merge_documents(
    edits: &[DocumentEdit],
    flush_options: FlushOptions,
    keeps_bands: bool,
    begin: &impl Fn() -> Result<WriteTransaction>,
) -> Result<()> {
    let mut rest = edits;
    while !rest.is_empty() {
        let count = if keeps_bands {
            documents_in_group(rest, flush_options)
        } else {
            rest.len()
        };
        let (mut group, others) = rest.split_at(count);
        if keeps_bands {
            merge_bands(group, flush_options, begin)?;
        }
        while !group.is_empty() {
            let (slice, others) = group.split_at(documents_in_slice(group, flush_options));
            commit(begin, |transaction| transaction.apply_documents(slice))?;
            group = others;
        }
        rest = others;
    }
    Ok(())
}

/// Merges `bands`, before the texts of the same documents. What goes is told by the old text, which
/// is there until all of its bands are as they shall be: begun anew, this comes to the same.
fn merge_bands(
    edits: &[DocumentEdit],
    flush_options: FlushOptions,
    begin: &impl Fn() -> Result<WriteTransaction>,
) -> Result<()> {
    let transaction = begin()?;
    let changes = transaction.band_changes(edits)?;
    let chunks = transaction.band_chunks()?;
    drop(transaction);
    // Where there are several changes for each page, so many that a commit writes as many pages.
    let changes_a_page = changes.len() / usize::try_from(chunks).unwrap_or(usize::MAX).max(1);
    let slice = flush_options.slice() * changes_a_page.max(1);
    let mut changes = changes.into_sorted().peekable();
    while changes.peek().is_some() {
        commit(begin, |transaction| {
            transaction.apply_bands(changes.by_ref().take(slice))
        })?;
    }
    Ok(())
}

/// Merges the tables of blocks.
fn merge_blocks(
    edits: &[DocumentEdit],
    flush_options: FlushOptions,
    begin: &impl Fn() -> Result<WriteTransaction>,
) -> Result<()> {
    let block0 = block0_changes(edits);
    let mut distinct = Vec::with_capacity(block0.len());
    let mut rest = block0.as_slice();
    while !rest.is_empty() {
        let (slice, others) = rest.split_at(entries_in_slice(rest, flush_options));
        commit(begin, |transaction| {
            distinct.append(&mut transaction.apply_block0(slice)?);
            Ok(())
        })?;
        rest = others;
    }
    drop(block0);
    for block in 1..BLOCKS {
        // Two of its entries are as long as one of block 0.
        for slice in rotated_changes(block, &distinct).chunks(2 * flush_options.slice()) {
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

/// How many of these documents have their bands merged together: at least one.
fn documents_in_group(edits: &[DocumentEdit], flush_options: FlushOptions) -> usize {
    let mut bands = 0;
    let fits = edits.iter().take_while(|edit| {
        bands += most_bands(edit);
        bands <= flush_options.gathered_bands()
    });
    fits.count().max(1)
}

/// How many entries of `bands` an edit may change.
fn most_bands(edit: &DocumentEdit) -> usize {
    let may_go = edit.before.is_some() && edit.text != TextEdit::Keep;
    edit.text.keys().len() + usize::from(may_go) * KEYS_OF_TEXT
}

fn text_bytes(edits: &[DocumentEdit]) -> usize {
    edits.iter().map(|edit| edit.text.len_bytes()).sum()
}

/// How many of these documents go into one commit: at least one.
fn documents_in_slice(edits: &[DocumentEdit], flush_options: FlushOptions) -> usize {
    let mut bytes = 0;
    let fits = edits.iter().take(flush_options.slice()).take_while(|edit| {
        bytes += edit.text.len_bytes();
        bytes <= TEXT_BYTES_A_SLICE
    });
    fits.count().max(1)
}

/// How many of these changes go into one commit: those of one fingerprint together.
fn entries_in_slice(changes: &[(u128, Op)], flush_options: FlushOptions) -> usize {
    let Some((last, _)) = changes.get(flush_options.slice() - 1) else {
        return changes.len();
    };
    changes.partition_point(|(entry, _)| entry.first() <= last.first())
}
