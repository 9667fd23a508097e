//! [`TableWriter`]: the last phase of a bulk load, which writes one table after another.
//!
//! The entries of each table, as they are written, feed the sorter of the next, so that at most two
//! sorts are in memory: by id for `fingerprints`, which shows the new documents; by fingerprint for
//! `block0`; then each distinct fingerprint rotated once, twice and three times. Arrival times are
//! sorted beside them: by id for `times`, then by time for `arrivals`.

use std::sync::Arc;

use redb::ReadableTable;

use crate::block::BLOCK_BITS;
use crate::error::Result;
use crate::ids::{DocId, Timestamp};
use crate::retention::{Expiry, Retention};
use crate::store::bulk::BulkReport;
use crate::store::bulk::keys::{PushedKeys, SelectedKeys};
use crate::store::bulk::new_documents::{NewDocuments, PushedSorter};
use crate::store::bulk::new_file::NewFile;
use crate::store::bulk::reporter::LoadReporter;
use crate::store::bulk::sort::{SortContext, SortRecord, Sorted, Sorter};
use crate::store::bulk::text_writer::TextWriter;
use crate::store::commit::write_transaction::{MAX_REMOVED_AT_ONCE, WriteTransaction};
use crate::store::tables::TableEntry;
use crate::store::tables::packed::entry::{Entry, merged, pair, swapped};
use crate::store::tables::packed::{Op, Packed, VisitFlow};
use crate::store::tables::schema::{
    ARRIVALS, BLOCK0, FINGERPRINTS, KEYS, ROTATED, TEXT_KEYS, TIMES, TableSpec, UNRELIABLE,
};
use crate::store::tables::scopes::ScopeNames;

/// The file that a bulk load writes.
pub(super) enum Target {
    /// In many transactions, which are visible once the file has its name.
    New(Box<NewFile>),
    /// In one transaction.
    Existing(Box<WriteTransaction>),
}

impl Target {
    /// Writes ascending entries, and returns the number of new ones.
    fn write<E: TableEntry>(
        &mut self,
        table: TableSpec<E>,
        entries: impl Iterator<Item = Result<E>>,
    ) -> Result<u64> {
        match self {
            Self::New(file) => file.append(table, entries),
            Self::Existing(transaction) => {
                let puts = entries.map(|entry| Ok((entry?, Op::Put)));
                Ok(transaction.table_mut(table)?.apply(puts)?.added)
            }
        }
    }

    /// Runs `work` in the transaction of the load; in a new file, in one of its own.
    pub(super) fn in_transaction<R>(
        &mut self,
        work: impl FnOnce(&mut WriteTransaction) -> Result<R>,
    ) -> Result<R> {
        match self {
            Self::New(file) => {
                let mut transaction = file.write()?;
                let result = work(&mut transaction)?;
                transaction.commit()?;
                Ok(result)
            }
            Self::Existing(transaction) => work(transaction),
        }
    }

    fn commit(self) -> Result<()> {
        match self {
            Self::New(file) => file.publish(),
            Self::Existing(transaction) => transaction.commit(),
        }
    }
}

pub(super) struct TableWriter<'o> {
    pub(super) target: Target,
    pub(super) reporter: LoadReporter<'o>,
    pub(super) context: SortContext,
    pub(super) sorter_bytes: usize,
    /// Documents pushed: the steps of each table except the table of text keys.
    pub(super) documents: u64,
    pub(super) retention: Option<Retention>,
    /// The names of the scopes; `None` in a database without scopes.
    pub(super) scopes: Option<Arc<ScopeNames>>,
    /// The rows of table `frames`, in a new file that keeps frames.
    pub(super) frame_rows: Vec<(u8, Vec<u8>)>,
    /// The largest [sequence](crate::ids::scope::sequence) of an id given to a document with a key;
    /// 0 in a database without keys.
    pub(super) last_id: DocId,
    /// The system clock as the load began.
    pub(super) now: Timestamp,
}

impl TableWriter<'_> {
    /// The documents in `new_documents` are in `fingerprints` already; `pushed` came after them.
    pub(super) fn run(
        mut self,
        mut new_documents: NewDocuments,
        pushed: PushedSorter,
        texts: TextWriter,
        keys: Option<PushedKeys>,
    ) -> Result<BulkReport> {
        let repeated = match keys {
            Some(keys) => Some(self.write_keys(&mut new_documents, keys)?),
            None => None,
        };
        if !pushed.is_empty() {
            self.write_fingerprints(&mut new_documents, pushed, repeated)?;
        }
        self.reporter.finish_table(self.documents)?;
        self.write_text_keys(texts, new_documents.orphaned_texts.sorted()?)?;
        let unreliable = self
            .target
            .write(UNRELIABLE, new_documents.unreliable.sorted()?)?;
        // Few documents, except in a load of old documents.
        let mut expired = Sorter::new(self.sorter_bytes / 64, &self.context);
        if let Some(times) = new_documents.times {
            let by_time = self.write_and_sort(TIMES, times, swapped)?;
            let cutoff = self.cutoff(new_documents.latest_arrival)?;
            let entries = feeding(by_time.sorted()?, |entry| {
                if Some(Timestamp(entry.first())) < cutoff {
                    expired.push(entry.second())?;
                }
                Ok(())
            });
            self.write(ARRIVALS, entries)?;
        }
        let distinct_fingerprints = self.write_blocks(new_documents.by_fingerprint)?;

        let mut report = new_documents.report;
        self.target.in_transaction(|transaction| {
            let counters = transaction.counters_mut();
            counters.add(report.inserted, distinct_fingerprints, unreliable);
            counters.latest_arrival = counters.latest_arrival.max(new_documents.latest_arrival);
            counters.last_id = counters.last_id.max(self.last_id);
            transaction.write_frames(&self.frame_rows)?;
            match &self.scopes {
                Some(scopes) => transaction.write_scopes(scopes),
                None => Ok(()),
            }
        })?;
        report.expired = expired.len();
        report.inserted -= report.expired;
        self.remove(expired)?;
        self.reporter.finish()?;
        self.target.commit()?;
        Ok(report)
    }

    /// Removes loaded documents. The latest arrival, which expires documents, is known only at the
    /// end of the load.
    fn remove(&mut self, expired: Sorter<u64>) -> Result<()> {
        let mut ids = expired.sorted()?;
        loop {
            let part = ids.by_ref().take(MAX_REMOVED_AT_ONCE);
            let part = part.collect::<Result<Vec<u64>>>()?;
            if part.is_empty() {
                return Ok(());
            }
            (self.target).in_transaction(|transaction| {
                transaction.remove_documents(part.into_iter().map(DocId))
            })?;
        }
    }

    /// The arrival time before which documents are expired after the load; `None` if no document
    /// is.
    fn cutoff(&mut self, latest_arrival: u64) -> Result<Option<Timestamp>> {
        let counts = (self.target).in_transaction(|transaction| Ok(transaction.counts()))?;
        let latest = counts.latest_arrival.max(Some(Timestamp(latest_arrival)));
        Ok(Expiry::new(self.retention, latest, || self.now).cutoff())
    }

    /// Writes table `keys`, and returns the documents whose keys other documents have.
    fn write_keys(
        &mut self,
        new_documents: &mut NewDocuments,
        keys: PushedKeys,
    ) -> Result<Sorted<u64>> {
        let selected = SelectedKeys {
            entries: Sorter::new(self.sorter_bytes / 2, &self.context),
            repeated: Sorter::new(self.sorter_bytes / 64, &self.context),
        };
        let reporter = &mut self.reporter;
        let selected = self.target.in_transaction(|transaction| {
            keys.select(transaction, selected, new_documents, reporter)
        })?;
        self.target.write(KEYS, selected.entries.sorted()?)?;
        self.reporter.finish_table(self.documents)?;
        selected.repeated.sorted()
    }

    /// Leaves out the documents in `repeated`.
    fn write_fingerprints(
        &mut self,
        new_documents: &mut NewDocuments,
        pushed: PushedSorter,
        repeated: Option<Sorted<u64>>,
    ) -> Result<()> {
        let mut repeated = repeated.into_iter().flatten().peekable();
        let pushed = pushed.sorted()?.filter_map(move |document| {
            let is_repeated = |id: &Result<u64>| match (id, &document) {
                (Ok(id), Ok(document)) => *id == document.id.0,
                // An error ends the load.
                (Err(_), _) => true,
                (Ok(_), Err(_)) => false,
            };
            match repeated.next_if(is_repeated) {
                None => Some(document),
                Some(Ok(_)) => None,
                Some(Err(error)) => Some(Err(error)),
            }
        });
        let reporter = &mut self.reporter;
        match &mut self.target {
            Target::New(file) if new_documents.report.inserted == 0 => {
                let entries = new_documents.new_only(pushed, reporter, |_| Ok(None));
                file.append(FINGERPRINTS, entries)?;
            }
            Target::New(file) => {
                // A table can only be appended to, so the documents written in order are written
                // again, merged with the later ones.
                let written = file.read(FINGERPRINTS)?;
                file.clear(FINGERPRINTS)?;
                let entries = new_documents.new_only(pushed, reporter, stored_of(&written));
                // An error of a later document comes first, and ends the load.
                let precedes = |written: &Result<u128>, entry: &Result<u128>| match entry {
                    Ok(entry) => !written.as_ref().is_ok_and(|written| written > entry),
                    Err(_) => false,
                };
                let entries = merged(written.entries()?, entries, precedes);
                file.append(FINGERPRINTS, entries)?;
            }
            Target::Existing(transaction) => {
                // The table is borrowed while it is written, so all look-ups come before.
                let mut entries = Sorter::new(self.sorter_bytes / 4, &self.context);
                let tables = transaction.tables()?;
                let stored = stored_of(tables.table(FINGERPRINTS));
                for entry in new_documents.new_only(pushed, reporter, stored) {
                    entries.push(entry?)?;
                }
                drop(tables);
                self.target.write(FINGERPRINTS, entries.sorted()?)?;
            }
        }
        Ok(())
    }

    /// Removes orphaned texts, and writes the keys of all other texts.
    fn write_text_keys(&mut self, texts: TextWriter, orphaned: Sorted<u64>) -> Result<()> {
        let steps = texts.key_entries();
        let entries = (self.target)
            .in_transaction(|transaction| texts.remove_orphaned(transaction, orphaned))?;
        let Some(entries) = entries else {
            return Ok(());
        };
        self.write_steps(steps, TEXT_KEYS, singles(entries.sorted()?))
            .map(drop)
    }

    /// Writes `block0` to `block3`, and returns the number of new distinct fingerprints.
    fn write_blocks(&mut self, by_fingerprint: Sorter<u128>) -> Result<u64> {
        let rotate = |word: u64| word.rotate_left(BLOCK_BITS);
        let mut rotated = self.sorter();
        let mut last = None;
        let entries = feeding(by_fingerprint.sorted()?, |entry| {
            let fingerprint = entry.first();
            if last.replace(fingerprint) == Some(fingerprint) {
                return Ok(());
            }
            rotated.push(rotate(fingerprint))
        });
        self.write(BLOCK0, entries)?;
        let [block1, block2, block3] = ROTATED;
        let rotated = self.write_and_sort(block1, rotated, rotate)?;
        let rotated = self.write_and_sort(block2, rotated, rotate)?;
        self.write(block3, rotated.sorted()?)
    }

    /// Writes a table, and maps its entries into a sorter.
    fn write_and_sort<E: TableEntry + SortRecord>(
        &mut self,
        table: TableSpec<E>,
        entries: Sorter<E>,
        map: impl Fn(E) -> E,
    ) -> Result<Sorter<E>> {
        match entries.sorted()? {
            // Mapped in place: a second sorter in memory takes about 2 % of the time of a load.
            Sorted::Memory(mut entries) => {
                self.write(table, entries.as_slice().iter().copied().map(Ok))?;
                for entry in entries.as_mut_slice() {
                    *entry = map(*entry);
                }
                Ok(Sorter::from_vec(entries.collect(), &self.context))
            }
            Sorted::Merge(entries) => {
                let mut mapped = self.sorter();
                self.write(table, feeding(entries, |entry| mapped.push(map(entry))))?;
                Ok(mapped)
            }
        }
    }

    fn sorter<R: SortRecord>(&self) -> Sorter<R> {
        Sorter::new(self.sorter_bytes, &self.context)
    }

    fn write<E: TableEntry>(
        &mut self,
        table: TableSpec<E>,
        entries: impl Iterator<Item = Result<E>>,
    ) -> Result<u64> {
        self.write_steps(self.documents, table, entries)
    }

    fn write_steps<E: TableEntry>(
        &mut self,
        steps: u64,
        table: TableSpec<E>,
        entries: impl Iterator<Item = Result<E>>,
    ) -> Result<u64> {
        let entries = feeding(entries, |_| self.reporter.step());
        let added = self.target.write(table, entries)?;
        self.reporter.finish_table(steps)?;
        Ok(added)
    }
}

fn feeding<E: Copy>(
    entries: impl Iterator<Item = Result<E>>,
    mut each: impl FnMut(E) -> Result<()>,
) -> impl Iterator<Item = Result<E>> {
    entries.map(move |entry| {
        let entry = entry?;
        each(entry)?;
        Ok(entry)
    })
}

/// A look-up of the fingerprints of ascending ids, which reads each chunk once.
fn stored_of<T: ReadableTable<u128, &'static [u8]>>(
    table: &Packed<T>,
) -> impl FnMut(u64) -> Result<Option<u64>> {
    // The entries of the last chunk read, from the id that was looked up on.
    let mut rest: Vec<u128> = Vec::new();
    let mut is_at_end = false;
    move |id| {
        let is_beyond = rest.last().is_none_or(|last| last.first() < id);
        if is_beyond && !is_at_end {
            rest.clear();
            table.visit(pair(id, 0), u128::MAX, |_, chunk| {
                rest.extend(chunk.entries_from(pair(id, 0)));
                let is_found = !rest.is_empty();
                Ok(if is_found {
                    VisitFlow::Stop
                } else {
                    VisitFlow::Next
                })
            })?;
            is_at_end = rest.is_empty();
        }
        let index = rest.partition_point(|entry| entry.first() < id);
        let entry = rest.get(index).filter(|entry| entry.first() == id);
        Ok(entry.map(|entry| entry.second()))
    }
}

/// An ascending sequence without the entries that are in it twice.
fn singles(entries: Sorted<u128>) -> impl Iterator<Item = Result<u128>> {
    let mut entries = entries.peekable();
    std::iter::from_fn(move || {
        loop {
            let entry = entries.next()?;
            let is_twin = |next: &Result<u128>| matches!((&entry, next), (Ok(a), Ok(b)) if a == b);
            if entries.next_if(is_twin).is_none() {
                return Some(entry);
            }
        }
    })
}
