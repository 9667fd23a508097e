//! All pairs of distinct fingerprints, from the tables, in bounded memory and on all cores.
//!
//! A *task* joins two ranges of the table of a block, or a range with itself. A task with a range
//! that is too long to be read is split into smaller tasks by [`RangePair::split`], the rule that
//! also splits lists in memory. At radius 3 the block in front is equal, so each range is read once
//! and joined with itself. At larger radii a range is also joined with near ranges.

use rayon::prelude::*;

use super::join::{ListJoin, RangePair};
use super::run_concurrently;
use crate::block::{self, BLOCKS, Chain, Chains};
use crate::error::Result;
use crate::ids::Fingerprint;
use crate::query::limits::QueryLimits;
use crate::store::{SnapshotTables, VisitFlow};

/// Ranges of a table are split by 4 bits at a time, into 16 parts. Divides the 16 bits of a block,
/// so a split never crosses a block.
const TABLE_SPLIT_BITS: u32 = 4;

/// Two distinct fingerprints within the radius.
pub(super) type FingerprintPair = (Fingerprint, Fingerprint);

/// The tasks that remain of the search for all pairs.
pub(super) struct JoinQueue<'v> {
    tables: &'v SnapshotTables,
    radius: u32,
    limits: &'v QueryLimits,
    chains: Chains,
    /// The fingerprints of the memtable, rotated for each block and sorted.
    memtable: [Vec<u64>; BLOCKS],
    /// The approximate number of distinct fingerprints.
    fingerprint_count: u64,
    /// The next task last.
    pending: Vec<JoinTask>,
}

/// The join of two ranges of a table, before or after the ranges are read.
struct JoinTask {
    /// The chain that owns the pairs to be found.
    chain: Chain,
    /// The share of all work, a rough estimate.
    share: f64,
    ranges: RangePair<u64>,
    /// The join in memory; `None` until the ranges are read.
    join: Option<ListJoin>,
}

impl<'v> JoinQueue<'v> {
    /// Creates one task for each chain, which joins the whole table with itself.
    pub(super) fn new(
        tables: &'v SnapshotTables,
        memtable: &[u64],
        radius: u32,
        limits: &'v QueryLimits,
    ) -> Self {
        let chains = Chains::for_radius(radius);
        let rotated = std::array::from_fn(|block| {
            let mut rotated: Vec<u64> = memtable
                .iter()
                .map(|bits| block::rotate(Fingerprint::from_bits(*bits), block))
                .collect();
            tables.in_parallel(|| rotated.par_sort_unstable());
            rotated
        });
        let whole_table = RangePair {
            a: 0,
            b: 0,
            prefix_bits: 0,
            differing_bits: 0,
        };
        let task = |chain: &Chain| JoinTask {
            chain: *chain,
            share: 1.0 / chains.iter().len() as f64,
            ranges: whole_table,
            join: None,
        };
        Self {
            tables,
            radius,
            limits,
            memtable: rotated,
            fingerprint_count: tables.counters().distinct_fingerprints + memtable.len() as u64,
            pending: chains.iter().rev().map(task).collect(),
            chains,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.pending.is_empty()
    }

    /// A rough estimate, from 0 to 1.
    pub(super) fn done_share(&self) -> f64 {
        1.0 - self.pending.iter().map(|task| task.share).sum::<f64>()
    }

    /// Runs one turn, a fraction of a second on all cores, and appends the pairs found to `pairs`.
    pub(super) fn run_next(&mut self, pairs: &mut Vec<FingerprintPair>) -> Result<()> {
        let mut pending = std::mem::take(&mut self.pending);
        let outcomes = run_concurrently(self.tables, &mut pending, |task| self.run(task))?;
        for (found, rest) in outcomes {
            pairs.extend(found);
            pending.extend(rest);
        }
        self.pending = pending;
        Ok(())
    }

    /// Runs one turn of a task. Returns the pairs found and the tasks that remain, the next task
    /// last.
    fn run(&self, mut task: JoinTask) -> Result<(Vec<FingerprintPair>, Vec<JoinTask>)> {
        let chain = task.chain;
        if task.join.is_none() {
            task.join = self.read(chain.block, &task.ranges)?;
        }
        let Some(join) = &mut task.join else {
            return Ok((Vec::new(), split(&task)));
        };
        // Chains overlap, and a join may find pairs beyond its chain: only the owner reports a
        // pair.
        let mut rotated = Vec::new();
        join.run(&chain, self.radius, self.limits, &mut rotated);
        let unrotate = |rotated| block::unrotate(rotated, chain.block);
        let pairs = rotated
            .into_iter()
            .map(|(a, b)| (unrotate(a), unrotate(b)))
            .filter(|(a, b)| self.chains.is_owner(&chain, *a, *b))
            .collect();
        let rest = if join.is_done() { vec![] } else { vec![task] };
        Ok((pairs, rest))
    }

    /// Reads both ranges. Returns `None` if a range is too long, unless the other range is empty.
    fn read(&self, block: usize, ranges: &RangePair<u64>) -> Result<Option<ListJoin>> {
        let read_range = |from| self.read_range(block, from, ranges.prefix_bits);
        let join = |a, b| ListJoin::new(a, b, ranges.prefix_bits, ranges.differing_bits);
        let is_empty = |range: &Option<Vec<u64>>| range.as_ref().is_some_and(Vec::is_empty);
        let a = read_range(ranges.a)?;
        // An empty range has no pairs, so the other range is neither read nor split: at large
        // radii, a crowded prefix would be split into thousands of joins with empty ranges.
        if ranges.differing_bits == 0 || is_empty(&a) {
            return Ok(a.map(|a| join(a, None)));
        }
        let b = read_range(ranges.b)?;
        if is_empty(&b) {
            return Ok(b.map(|b| join(b, None)));
        }
        Ok(a.zip(b).map(|(a, b)| join(a, Some(b))))
    }

    /// Returns the fingerprints that begin with the first `prefix_bits` bits of `from`, sorted;
    /// `None` if they are too many.
    fn read_range(&self, block: usize, from: u64, prefix_bits: u32) -> Result<Option<Vec<u64>>> {
        // The expected length saves the read of most long ranges. Fingerprints may crowd in one
        // prefix, so the true length is checked during the read.
        let expected_length = self.fingerprint_count.checked_shr(prefix_bits).unwrap_or(0);
        if expected_length > self.limits.expected_range_length {
            return Ok(None);
        }
        let to = from | u64::MAX.checked_shr(prefix_bits).unwrap_or(0);
        let mut range = Vec::new();
        self.tables.visit_range(block, from, to, &mut |chunk| {
            range.extend_from_slice(chunk);
            let is_too_long = range.len() > self.limits.range_length;
            Ok(if is_too_long {
                VisitFlow::Stop
            } else {
                VisitFlow::Next
            })
        })?;
        let memtable = &self.memtable[block];
        let start = memtable.partition_point(|each| *each < from);
        let end = memtable.partition_point(|each| *each <= to);
        range.extend_from_slice(&memtable[start..end]);
        if range.len() > self.limits.range_length {
            return Ok(None);
        }
        if start < end {
            // The stable sort merges two sorted runs in one pass. A fingerprint may be in both
            // runs.
            range.sort();
            range.dedup();
        }
        Ok(Some(range))
    }
}

/// Splits a task that is too large into tasks for the parts of its ranges that can hold pairs.
fn split(task: &JoinTask) -> Vec<JoinTask> {
    let JoinTask { chain, ranges, .. } = *task;
    let Some(spare_bits) = ranges.spare_bits(&chain) else {
        return Vec::new();
    };
    let shift = u64::BITS - ranges.prefix_bits - TABLE_SPLIT_BITS;
    let part = |range: u64| move |value| Some(range | value << shift);
    let (part_of_a, part_of_b) = (part(ranges.a), part(ranges.b));
    let mut parts = Vec::new();
    ranges.split(
        TABLE_SPLIT_BITS,
        spare_bits,
        part_of_a,
        part_of_b,
        &mut parts,
    );
    // Equal shares: the lengths of the parts are not known before they are read.
    let share = task.share / parts.len() as f64;
    parts
        .into_iter()
        .rev()
        .map(|ranges| JoinTask {
            chain,
            share,
            ranges,
            join: None,
        })
        .collect()
}
