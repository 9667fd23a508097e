//! The sorts of a bulk load, each fed by what the one before gives, so that at most two are in
//! memory: by id gives `fingerprints`; by fingerprint gives `block0`; each distinct fingerprint,
//! rotated once more each time, gives `block1`, `block2` and `block3`, in the memory of `block0`
//! where that is in memory. Arrival times, where they are kept, are sorted beside them: by id for
//! `times`, then by time for `arrivals`.

use redb::ReadableTable;

use super::BulkReport;
use super::pushed::{PushedSorter, Split};
use super::texts::{BulkBands, BulkTexts};
use super::watch::LoadReporter;
use crate::block::BLOCK_BITS;
use crate::error::Result;
use crate::store::bulk::new_file::NewFile;
use crate::store::bulk::sort::{SortContext, Sorted, Sorter};
use crate::store::commit::write_transaction::WriteTransaction;
use crate::store::tables::packed::chunk::{Entry, pair, swapped};
use crate::store::tables::packed::{Op, Packed, Step};
use crate::store::tables::{ARRIVALS_TABLE, BANDS_TABLE, ROTATED_TABLES, TIMES_TABLE, TableOf};

/// Where a bulk load goes.
pub(super) enum Target {
    /// A new file, committed to as the load goes on: nobody sees it before it is whole.
    New(Box<NewFile>),
    /// A database with documents: one transaction.
    Existing(Box<WriteTransaction>),
}

impl Target {
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
                Ok(table(&mut transaction.tables_mut()?).apply(puts)?.added)
            }
        }
    }
}

/// A bulk load that is being written.
pub(super) struct Stages<'o> {
    target: Target,
    reporter: LoadReporter<'o>,
    workplace: SortContext,
    sorter_bytes: usize,
}

impl<'o> Stages<'o> {
    pub(super) fn new(
        target: Target,
        reporter: LoadReporter<'o>,
        workplace: SortContext,
        sorter_bytes: usize,
    ) -> Self {
        Self {
            target,
            reporter,
            workplace,
            sorter_bytes,
        }
    }

    /// Writes everything and makes it durable. `split` has taken what is in `fingerprints`
    /// already; `pushed` came after it.
    pub(super) fn run(
        mut self,
        mut split: Split,
        pushed: PushedSorter,
        texts: BulkTexts,
    ) -> Result<BulkReport> {
        self.write_fingerprints(&mut split, pushed)?;
        let mut strange_texts = split.strange_texts.sorted()?;
        let bands = self.take_back(texts, strange_texts.iter())?;
        if let Some(bands) = bands {
            self.write_bands(bands)?;
        }
        let unreliable = self.target.write(
            |tables| &mut tables.unreliable,
            split.unreliable.sorted()?.iter(),
        )?;
        if let Some(times) = split.times {
            self.write_times(times)?;
        }
        let distinct_fingerprints = self.write_blocks(split.by_fingerprint)?;

        let (mut transaction, file) = match self.target {
            Target::New(file) => (file.write()?, Some(file)),
            Target::Existing(transaction) => (*transaction, None),
        };
        let counters = transaction.counters_mut();
        counters.add(split.report.inserted, distinct_fingerprints, unreliable);
        counters.latest_arrival = counters.latest_arrival.max(split.latest_arrival);
        transaction.commit()?;
        file.map_or(Ok(()), |file| file.publish())?;
        Ok(split.report)
    }

    /// Writes what is new of the documents pushed into `fingerprints`.
    fn write_fingerprints(&mut self, split: &mut Split, pushed: PushedSorter) -> Result<()> {
        if pushed.len() > 0 {
            let mut pushed = pushed.sorted()?;
            let reporter = &mut self.reporter;
            match &mut self.target {
                Target::New(file) if split.report.inserted == 0 => {
                    let fresh = split.fresh(pushed.iter(), reporter, |_| Ok(None));
                    file.append(|tables| &mut tables.fingerprints, fresh)?;
                }
                Target::New(file) => {
                    // A table is written once, in order: what is there is written once more.
                    let there = file.read()?.fingerprints;
                    file.clear(|tables| &mut tables.fingerprints)?;
                    let fresh = split.fresh(pushed.iter(), reporter, fingerprints_of(&there));
                    let all = merged(there.entries()?, fresh);
                    file.append(|tables| &mut tables.fingerprints, all)?;
                }
                Target::Existing(transaction) => {
                    // The table cannot be asked while it is written: first ask, then write.
                    let mut fresh = Sorter::new(self.sorter_bytes / 4, &self.workplace);
                    let tables = transaction.tables()?;
                    let stored = fingerprints_of(&tables.fingerprints);
                    for entry in split.fresh(pushed.iter(), reporter, stored) {
                        fresh.push(entry?)?;
                    }
                    drop(tables);
                    let mut fresh = fresh.sorted()?;
                    self.target
                        .write(|tables| &mut tables.fingerprints, fresh.iter())?;
                }
            }
        }
        self.reporter.table_is_done()
    }

    /// Removes the texts of these documents; gives the bands of all others.
    fn take_back(
        &mut self,
        texts: BulkTexts,
        strange: impl Iterator<Item = Result<u64>>,
    ) -> Result<Option<BulkBands>> {
        match &mut self.target {
            Target::New(file) => {
                let mut transaction = file.write()?;
                let bands = texts.take_back(&mut transaction, strange)?;
                transaction.commit()?;
                Ok(bands)
            }
            Target::Existing(transaction) => texts.take_back(transaction, strange),
        }
    }

    fn write_bands(&mut self, bands: BulkBands) -> Result<()> {
        let BulkBands { entries, gone, .. } = bands;
        let (mut entries, mut gone) = (entries.sorted()?, gone.sorted()?);
        let kept = without(entries.iter(), gone.iter());
        self.write_pairs(BANDS_TABLE, kept, |_| Ok(()))
    }

    /// Writes `times` from ids and times, then `arrivals`.
    fn write_times(&mut self, by_id: Sorter<u128>) -> Result<()> {
        match by_id.sorted()? {
            Sorted::Memory(mut pairs) => {
                self.write_pairs(TIMES_TABLE, pairs.iter().copied().map(Ok), |_| Ok(()))?;
                for entry in &mut pairs {
                    *entry = swapped(*entry);
                }
                self.workplace.sort(&mut pairs);
                self.write_pairs(ARRIVALS_TABLE, pairs.iter().copied().map(Ok), |_| Ok(()))
            }
            Sorted::Merge(pairs) => {
                let mut by_time = Sorter::new(self.sorter_bytes, &self.workplace);
                self.write_pairs(TIMES_TABLE, pairs, |entry| by_time.push(swapped(entry)))?;
                let mut by_time = by_time.sorted()?;
                self.write_pairs(ARRIVALS_TABLE, by_time.iter(), |_| Ok(()))
            }
        }
    }

    /// Writes one table of pairs, and gives each pair.
    fn write_pairs(
        &mut self,
        table: TableOf<u128>,
        pairs: impl Iterator<Item = Result<u128>>,
        mut each: impl FnMut(u128) -> Result<()>,
    ) -> Result<()> {
        let entries = pairs.map(|entry| {
            let entry = entry?;
            self.reporter.step()?;
            each(entry)?;
            Ok(entry)
        });
        self.target.write(table, entries)?;
        self.reporter.table_is_done()
    }

    /// Writes `block0` and the rotated tables, and gives how many fingerprints are new there.
    fn write_blocks(&mut self, by_fingerprint: Sorter<u128>) -> Result<u64> {
        match by_fingerprint.sorted()? {
            Sorted::Memory(mut pairs) => {
                self.write_block0(pairs.iter().copied().map(Ok), |_| Ok(()))?;
                self.write_rotated_in_place(rotated_in_place(&mut pairs), 0)
            }
            Sorted::Merge(pairs) => {
                let mut rotated = Sorter::new(self.sorter_bytes, &self.workplace);
                self.write_block0(pairs, |word| rotated.push(word))?;
                self.write_rotated(rotated)
            }
        }
    }

    /// Writes `block0`, and gives each distinct fingerprint, rotated once.
    fn write_block0(
        &mut self,
        pairs: impl Iterator<Item = Result<u128>>,
        mut rotated: impl FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let mut last = None;
        let entries = pairs.map(|pair| {
            let pair = pair?;
            self.reporter.step()?;
            let fingerprint = pair.first();
            if last.replace(fingerprint) != Some(fingerprint) {
                rotated(fingerprint.rotate_left(BLOCK_BITS))?;
            }
            Ok(pair)
        });
        self.target.write(|tables| &mut tables.block0, entries)?;
        self.reporter.table_is_done()
    }

    /// Writes `block1`, `block2` and `block3`.
    fn write_rotated(&mut self, mut rotated: Sorter<u64>) -> Result<u64> {
        let mut added = 0;
        for (position, table) in ROTATED_TABLES.into_iter().enumerate() {
            let mut sorted = match rotated.sorted()? {
                Sorted::Memory(mut words) => {
                    return self.write_rotated_in_place(&mut words, position);
                }
                sorted => sorted,
            };
            rotated = Sorter::new(self.sorter_bytes, &self.workplace);
            let entries = sorted.iter().map(|word| {
                let word = word?;
                self.reporter.step()?;
                if position + 1 < ROTATED_TABLES.len() {
                    rotated.push(word.rotate_left(BLOCK_BITS))?;
                }
                Ok(word)
            });
            added = self.target.write(table, entries)?;
            self.reporter.table_is_done()?;
        }
        Ok(added)
    }

    /// Writes what is left of `block1`, `block2` and `block3` from words in memory, which are
    /// rotated and sorted where they are.
    fn write_rotated_in_place(&mut self, words: &mut [u64], from: usize) -> Result<u64> {
        let mut added = 0;
        for (position, table) in ROTATED_TABLES.into_iter().enumerate().skip(from) {
            if position > from {
                for word in &mut *words {
                    *word = word.rotate_left(BLOCK_BITS);
                }
            }
            self.workplace.sort(words);
            let entries = words.iter().map(|word| {
                self.reporter.step()?;
                Ok(*word)
            });
            added = self.target.write(table, entries)?;
            self.reporter.table_is_done()?;
        }
        Ok(added)
    }
}

/// Each distinct fingerprint of sorted pairs, rotated once, in the memory of the pairs.
fn rotated_in_place(pairs: &mut [u128]) -> &mut [u64] {
    let words: &mut [u64] = bytemuck::cast_slice_mut(pairs);
    let (mut count, mut last) = (0, None);
    for position in (0..words.len()).step_by(2) {
        let pair: u128 = bytemuck::cast([words[position], words[position + 1]]);
        if last.replace(pair.first()) != Some(pair.first()) {
            words[count] = pair.first().rotate_left(BLOCK_BITS);
            count += 1;
        }
    }
    &mut words[..count]
}

/// Looks up the fingerprints of ids, which must ascend: each chunk is read once.
fn fingerprints_of<T: ReadableTable<u128, &'static [u8]>>(
    table: &Packed<T>,
) -> impl FnMut(u64) -> Result<Option<u64>> {
    // What follows in the table from the id that was looked up in it last.
    let mut following: Vec<u128> = Vec::new();
    let mut is_at_end = false;
    move |id| {
        let is_beyond = following.last().is_none_or(|last| last.first() < id);
        if is_beyond && !is_at_end {
            following.clear();
            table.visit(pair(id, 0), u128::MAX, |_, chunk| {
                following.extend(chunk.entries_from(pair(id, 0)));
                Ok(if following.is_empty() {
                    Step::Next
                } else {
                    Step::Stop
                })
            })?;
            is_at_end = following.is_empty();
        }
        let db_path = following.partition_point(|entry| entry.first() < id);
        let entry = following.get(db_path).filter(|entry| entry.first() == id);
        Ok(entry.map(|entry| entry.second()))
    }
}

/// An ascending sequence without the members of another, all of which it has.
fn without(
    all: impl Iterator<Item = Result<u128>>,
    gone: impl Iterator<Item = Result<u128>>,
) -> impl Iterator<Item = Result<u128>> {
    let mut gone = gone.peekable();
    all.filter_map(move |entry| match (&entry, gone.peek()) {
        (Ok(entry), Some(Ok(next))) if entry == next => gone.next().and(None),
        (Ok(_), Some(Err(_))) => gone.next(),
        _ => Some(entry),
    })
}

/// Two ascending sequences as one.
fn merged(
    left: impl Iterator<Item = Result<u128>>,
    right: impl Iterator<Item = Result<u128>>,
) -> impl Iterator<Item = Result<u128>> {
    let (mut left, mut right) = (left.peekable(), right.peekable());
    std::iter::from_fn(move || match (left.peek(), right.peek()) {
        (Some(Ok(first)), Some(Ok(second))) if second < first => right.next(),
        (None, _) | (_, Some(Err(_))) => right.next(),
        _ => left.next(),
    })
}
