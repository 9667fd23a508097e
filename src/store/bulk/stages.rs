//! The sorts of a bulk load, each fed by what the one before gives, so that at most two are in
//! memory: by id gives `fingerprints`; by fingerprint gives `block0`; each distinct fingerprint,
//! rotated once more each time, gives `block1`, `block2` and `block3`.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::BulkReport;
use super::arrival::{Arrival, Split};
use super::watch::{BulkEvent, Watch};
use crate::block::BLOCK_BITS;
use crate::document::DocId;
use crate::error::Result;
use crate::store::chunk::Entry;
use crate::store::index::Index;
use crate::store::new_file::NewFile;
use crate::store::packed::Op;
use crate::store::sort::Sorter;
use crate::store::tables::{ROTATED_TABLES, TableOf};
use crate::store::write::WriteTransaction;

/// Where a bulk load goes.
pub(super) enum Target {
    /// A new file, committed to as the load goes on: nobody sees it before it is whole.
    New(NewFile),
    /// A database with documents: one transaction.
    Existing(Box<WriteTransaction>),
}

impl Target {
    pub(super) fn keeps_texts(&self) -> bool {
        match self {
            Self::New(file) => file.header().keep_texts,
            Self::Existing(transaction) => transaction.keeps_texts(),
        }
    }

    /// Writes entries in ascending order into one table, and returns how many of them are new.
    fn write<E: Entry>(
        &mut self,
        table: TableOf<E>,
        entries: impl Iterator<Item = Result<E>>,
    ) -> Result<u64> {
        match self {
            Self::New(file) => file.append(table, entries),
            Self::Existing(transaction) => {
                let puts = entries.map(|entry| entry.map(|entry| (entry, Op::Put)));
                Ok(table(&mut transaction.tables_to_change()?)
                    .apply(puts)?
                    .added)
            }
        }
    }
}

/// A bulk load that is being written.
pub(super) struct Stages<O> {
    target: Target,
    watch: Watch<O>,
    folder: PathBuf,
    sorter_bytes: usize,
}

impl<O: FnMut(BulkEvent) -> ControlFlow<()>> Stages<O> {
    pub(super) fn new(target: Target, watch: Watch<O>, folder: &Path, sorter_bytes: usize) -> Self {
        Self {
            target,
            watch,
            folder: folder.to_path_buf(),
            sorter_bytes,
        }
    }

    /// Writes everything and makes it durable.
    pub(super) fn run(mut self, arrivals: Sorter<Arrival>) -> Result<BulkReport> {
        let (split, documents) = self.write_fingerprints(arrivals)?;
        let unreliable = self
            .target
            .write(|tables| &mut tables.unreliable, split.unreliable.sorted()?)?;
        let rotated = self.write_block0(split.by_fingerprint)?;
        let distinct_fingerprints = self.write_rotated(rotated)?;

        let (mut transaction, file) = match self.target {
            Target::New(file) => (file.write()?, Some(file)),
            Target::Existing(transaction) => (*transaction, None),
        };
        transaction.remove_texts(split.strange_texts.sorted()?)?;
        let counters = transaction.counters();
        counters.add(documents, distinct_fingerprints, unreliable);
        transaction.commit()?;
        file.map_or(Ok(()), NewFile::place)?;
        Ok(split.report)
    }

    /// Writes `fingerprints`, and gives what goes where next and how many documents are new.
    fn write_fingerprints(&mut self, arrivals: Sorter<Arrival>) -> Result<(Split, u64)> {
        let mut split = Split::new(self.sorter_bytes, &self.folder);
        let mut arrivals = arrivals.sorted()?;
        let watch = &mut self.watch;
        let added = match &self.target {
            Target::New(_) => {
                let mut next = || split.next(&mut arrivals, watch, |_| Ok(None));
                let fresh = std::iter::from_fn(|| next().transpose());
                self.target
                    .write(|tables| &mut tables.fingerprints, fresh)?
            }
            Target::Existing(transaction) => {
                // The table cannot be asked while it is written: first ask, then write.
                let mut fresh = Sorter::new(self.sorter_bytes / 4, &self.folder);
                let tables = transaction.tables()?;
                let stored = |id| {
                    let document = tables.document(DocId(id))?;
                    Ok(document.map(|(fingerprint, _)| fingerprint.bits()))
                };
                while let Some(entry) = split.next(&mut arrivals, watch, stored)? {
                    fresh.push(entry)?;
                }
                drop(tables);
                self.target
                    .write(|tables| &mut tables.fingerprints, fresh.sorted()?)?
            }
        };
        self.watch.stage_is_done(1)?;
        Ok((split, added))
    }

    /// Writes `block0`, and gives each distinct fingerprint, rotated once.
    fn write_block0(&mut self, by_fingerprint: Sorter<u128>) -> Result<Sorter<u64>> {
        let mut rotated = Sorter::new(self.sorter_bytes, &self.folder);
        let mut last = None;
        let entries = by_fingerprint.sorted()?.map(|entry| {
            let entry = entry?;
            self.watch.step()?;
            let fingerprint = entry.first();
            if last.replace(fingerprint) != Some(fingerprint) {
                rotated.push(fingerprint.rotate_left(BLOCK_BITS))?;
            }
            Ok(entry)
        });
        self.target.write(|tables| &mut tables.block0, entries)?;
        self.watch.stage_is_done(2)?;
        Ok(rotated)
    }

    /// Writes `block1`, `block2` and `block3`, and gives how many fingerprints are new there.
    fn write_rotated(&mut self, mut rotated: Sorter<u64>) -> Result<u64> {
        let mut added = 0;
        for (position, table) in ROTATED_TABLES.into_iter().enumerate() {
            let mut next = Sorter::new(self.sorter_bytes, &self.folder);
            let is_last = position + 1 == ROTATED_TABLES.len();
            let entries = rotated.sorted()?.map(|rotated| {
                let rotated = rotated?;
                self.watch.step()?;
                if !is_last {
                    next.push(rotated.rotate_left(BLOCK_BITS))?;
                }
                Ok(rotated)
            });
            added = self.target.write(table, entries)?;
            rotated = next;
            self.watch.stage_is_done(3 + position as u64)?;
        }
        Ok(added)
    }
}
