//! Counts and sizes of a database.

use std::collections::BTreeSet;

use redb::ReadableTable;

use crate::block::{self, BLOCKS};
use crate::document::{DocId, Timestamp};
use crate::error::Result;
use crate::store::tables::packed::Packed;
use crate::store::tables::packed::chunk::Entry;
use crate::store::view::View;
use crate::store::view::bucket_cache::KEYS;

/// Counts and sizes of a database, as [`Snapshot::stats`](crate::Snapshot::stats) gives them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Documents stored, those that are expired and not removed yet among them.
    pub documents: u64,
    /// Distinct fingerprints among the reliable ones.
    pub distinct_fingerprints: u64,
    /// Documents whose fingerprint is not reliable.
    pub unreliable: u64,
    /// Texts stored.
    pub texts: u64,
    /// When the document that arrived first did, where arrival times are kept.
    pub oldest_arrival: Option<Timestamp>,
    /// When the document that arrived last did, where arrival times are kept.
    pub latest_arrival: Option<Timestamp>,
    /// Changes that are durable in the journal and not in the tables yet: they are counted above,
    /// and what follows is said without them.
    pub unmerged_changes: u64,
    /// Length of the file.
    pub file_bytes: u64,
    /// Bytes of the pages that hold the packed tables.
    pub packed_bytes: u64,
    /// Every packed table.
    pub tables: Vec<TableStats>,
    /// For each block, how evenly its keys are used: at index 0 how many of the 65,536 keys no
    /// fingerprint has, at index i how many of them 2^(i−1) to 2^i − 1 distinct fingerprints have.
    pub block_histograms: [Vec<u64>; BLOCKS],
    /// For each block, the key that most distinct fingerprints have, and how many have it.
    pub hottest_keys: [(u16, u64); BLOCKS],
}

/// Counts of one packed table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TableStats {
    /// Its name in the file.
    pub name: &'static str,
    /// Entries it holds.
    pub entries: u64,
    /// Chunks of one page they are cut into.
    pub chunks: u64,
    /// The share of the room in those chunks that is used, from 0 to 1.
    pub fill: f64,
}

pub(crate) fn stats(view: &View) -> Result<Stats> {
    let totals = Totals::of(view)?;
    let tables = &view.tables;
    let file_bytes = tables.db_path.info("read the size of")?.len_bytes;
    let mut found = vec![count(&tables.fingerprints, |_: u128| {})?];
    let mut keys: [Vec<u64>; BLOCKS] = std::array::from_fn(|_| vec![0; KEYS]);
    let [keys0, rotated_keys @ ..] = &mut keys;
    let mut last = None;
    found.push(count(&tables.block0, |entry: u128| {
        // Once for each distinct fingerprint.
        if last.replace(entry.first()) != Some(entry.first()) {
            keys0[usize::from(block::front_key(entry.first()))] += 1;
        }
    })?);
    for (table, keys) in tables.rotated.iter().zip(rotated_keys) {
        found.push(count(table, |rotated: u64| {
            keys[usize::from(block::front_key(rotated))] += 1;
        })?);
    }
    found.push(count(&tables.unreliable, |_: u64| {})?);
    let mut packed_bytes = tables.fingerprints.bytes()? + tables.block0.bytes()?;
    for table in tables.rotated.iter().chain([&tables.unreliable]) {
        packed_bytes += table.bytes()?;
    }
    let mut arrivals: Option<(u64, u64)> = None;
    if let Some(kept) = &tables.times {
        found.push(count(&kept.arrivals, |entry: u128| {
            if view.is_in_tables(DocId(entry.second())) {
                let time = entry.first();
                arrivals = Some((arrivals.map_or(time, |(oldest, _)| oldest), time));
            }
        })?);
        found.push(count(&kept.times, |_: u128| {})?);
        packed_bytes += kept.arrivals.bytes()? + kept.times.bytes()?;
    }
    if let Some(bands) = &tables.bands {
        found.push(count(bands, |_: u128| {})?);
        packed_bytes += bands.bytes()?;
    }
    let arrivals = arrivals.map(|(oldest, latest)| [Timestamp(oldest), Timestamp(latest)]);
    let arrivals = arrivals.into_iter().flatten().chain(totals.arrivals);
    Ok(Stats {
        documents: view.len(),
        distinct_fingerprints: totals.distinct_fingerprints,
        unreliable: totals.unreliable,
        texts: totals.texts,
        oldest_arrival: arrivals.clone().min(),
        latest_arrival: arrivals.max(),
        unmerged_changes: view.unflushed_changes(),
        file_bytes,
        packed_bytes,
        tables: found,
        block_histograms: std::array::from_fn(|block| histogram(&keys[block])),
        hottest_keys: std::array::from_fn(|block| hottest(&keys[block])),
    })
}

/// What is counted of the tables and of what is not in them yet.
struct Totals {
    distinct_fingerprints: u64,
    unreliable: u64,
    texts: u64,
    /// The arrival times that are not in the tables yet.
    arrivals: Vec<Timestamp>,
}

impl Totals {
    fn of(view: &View) -> Result<Self> {
        let tables = &view.tables;
        let mut arrivals = Vec::new();
        let (mut distinct, mut unreliable, mut texts) = (0, 0, 0);
        let mut fingerprints = BTreeSet::new();
        for edit in view.unflushed_edits().into_iter().flatten() {
            let states = [edit.before, edit.after].into_iter().flatten();
            let reliable = states.filter(|state| state.reliable);
            fingerprints.extend(reliable.map(|state| state.fingerprint));
        }
        for fingerprint in fingerprints {
            let rotated = block::rotate(fingerprint, 1);
            let was_there = tables.rotated[0].first_in(rotated, rotated)?;
            distinct += change(was_there.is_some(), view.has_fingerprint(fingerprint)?);
        }
        for id in view.ids_in_memtables() {
            let was_unreliable = tables.unreliable.first_in(id.0, id.0)?;
            let state = view.stored(*id)?;
            let is_unreliable = state.is_some_and(|state| !state.reliable);
            unreliable += change(was_unreliable.is_some(), is_unreliable);
            let has_text = state.is_some() && view.has_text(*id)?;
            texts += change(tables.has_text(*id)?, has_text);
            arrivals.extend(state.and_then(|state| state.arrival));
        }
        let changed = |count: u64, by: i64| {
            let db_path = &tables.db_path;
            let count = count.checked_add_signed(by);
            count.ok_or_else(|| db_path.corrupt("the counters do not fit the tables"))
        };
        let counters = tables.counters();
        Ok(Self {
            distinct_fingerprints: changed(counters.distinct_fingerprints, distinct)?,
            unreliable: changed(counters.unreliable, unreliable)?,
            texts: changed(counters.texts, texts)?,
            arrivals,
        })
    }
}

/// What a count changes by.
fn change(was: bool, is: bool) -> i64 {
    i64::from(is) - i64::from(was)
}

fn count<E: Entry, T: ReadableTable<E, &'static [u8]>>(
    table: &Packed<T>,
    mut each: impl FnMut(E),
) -> Result<TableStats> {
    let mut entries = 0;
    for entry in table.entries()? {
        entries += 1;
        each(entry?);
    }
    let chunks = table.chunks()?;
    let room = chunks * E::CAPACITY as u64;
    Ok(TableStats {
        name: table.id().name,
        entries,
        chunks,
        fill: if room == 0 {
            0.0
        } else {
            entries as f64 / room as f64
        },
    })
}

/// At index i, how many of the counts have i bits.
fn histogram(counts: &[u64]) -> Vec<u64> {
    let mut histogram = Vec::new();
    for count in counts {
        let bits = (u64::BITS - count.leading_zeros()) as usize;
        if histogram.len() <= bits {
            histogram.resize(bits + 1, 0);
        }
        histogram[bits] += 1;
    }
    histogram
}

/// The first key with the largest count.
fn hottest(counts: &[u64]) -> (u16, u64) {
    let hottest = counts
        .iter()
        .enumerate()
        .max_by_key(|(key, count)| (**count, usize::MAX - key));
    hottest.map_or((0, 0), |(key, count)| (key as u16, *count))
}
