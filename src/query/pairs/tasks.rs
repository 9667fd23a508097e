//! All pairs of distinct fingerprints, from the tables, in bounded memory and on all cores.
//!
//! A *task* joins two ranges of a block's table, or a range with itself. A range that is too long to
//! be read is split by its next bits, in the table and in memory by the same rule
//! ([`RangePair::split`]). At radius 3, where the block in front is equal, each range is read once
//! and joined with itself; at larger radii it is joined with those near it too.

use rayon::prelude::*;

use super::join::{ListJoin, RangePair};
use super::run_concurrently;
use crate::block::{self, BLOCKS, Chain, Chains};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::query::limits::QueryLimits;
use crate::store::{FingerprintSource, SnapshotTables, Step};

/// Bits by which ranges of a table are split at a time. They divide those of a block.
const TABLE_SPLIT_BITS: u32 = 4;

/// Two different fingerprints within the radius.
pub(super) type FingerprintPair = (Fingerprint, Fingerprint);

/// The work of finding all pairs, as far as it is not done.
pub(super) struct JoinQueue<'v> {
    tables: &'v SnapshotTables,
    radius: u32,
    limits: &'v QueryLimits,
    chains: Chains,
    /// The memtable's fingerprints as rotated by each block, in order.
    memtable: [Vec<u64>; BLOCKS],
    /// Number of distinct fingerprints, about.
    count: u64,
    /// The next task last.
    open: Vec<JoinTask>,
}

struct JoinTask {
    /// The pairs that are sought.
    chain: Chain,
    /// Share of all work, by a rough guess.
    share: f64,
    ranges: RangePair<u64>,
    /// The join of the ranges once they were read.
    join: Option<ListJoin>,
}

impl<'v> JoinQueue<'v> {
    /// All pairs within a radius of the tables' fingerprints and these of the memtable.
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
            differing: 0,
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
            count: tables.counters().distinct_fingerprints + memtable.len() as u64,
            open: chains.iter().rev().map(task).collect(),
            chains,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns the share of the work that is done, from 0 to 1, by a rough guess.
    pub(super) fn done(&self) -> f64 {
        1.0 - self.open.iter().map(|task| task.share).sum::<f64>()
    }

    /// Does some of the work, a fraction of a second on all cores, and appends the pairs that it
    /// found to `pairs`.
    pub(super) fn run_next(&mut self, pairs: &mut Vec<FingerprintPair>) -> Result<()> {
        let mut open = std::mem::take(&mut self.open);
        let outcomes = run_concurrently(self.tables, &mut open, |task| self.run(task))?;
        for (found, rest) in outcomes {
            pairs.extend(found);
            open.extend(rest);
        }
        self.open = open;
        Ok(())
    }

    /// Returns some of a task's pairs, and the tasks that are left of it, the next one last.
    fn run(&self, mut task: JoinTask) -> Result<(Vec<FingerprintPair>, Vec<JoinTask>)> {
        let chain = task.chain;
        if task.join.is_none() {
            task.join = self.read(chain.block, &task.ranges)?;
        }
        let Some(join) = &mut task.join else {
            return Ok((Vec::new(), split(&task)));
        };
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

    /// Reads both ranges. Returns `None` if one of them is too long and the other is not empty.
    fn read(&self, block: usize, ranges: &RangePair<u64>) -> Result<Option<ListJoin>> {
        let read_range = |from| self.read_range(block, from, ranges.prefix_bits);
        let join = |a, b| ListJoin::new(a, b, ranges.prefix_bits, ranges.differing);
        let is_empty = |range: &Option<Vec<u64>>| range.as_ref().is_some_and(Vec::is_empty);
        let a = read_range(ranges.a)?;
        // An empty range has no pairs, so the other one is neither read nor split, however long it is.
        if ranges.differing == 0 || is_empty(&a) {
            return Ok(a.map(|a| join(a, None)));
        }
        let b = read_range(ranges.b)?;
        if is_empty(&b) {
            return Ok(b.map(|b| join(b, None)));
        }
        Ok(a.zip(b).map(|(a, b)| join(a, Some(b))))
    }

    /// Returns the fingerprints that begin with the same bits as `from`, in order, or `None` if they
    /// are too many.
    fn read_range(&self, block: usize, from: u64, prefix_bits: u32) -> Result<Option<Vec<u64>>> {
        let expected_length = self.count.checked_shr(prefix_bits).unwrap_or(0);
        if expected_length > self.limits.expected_range_length {
            return Ok(None);
        }
        let to = from | u64::MAX.checked_shr(prefix_bits).unwrap_or(0);
        let mut range = Vec::new();
        self.tables.visit_range(block, from, to, &mut |chunk| {
            range.extend_from_slice(chunk);
            let is_too_long = range.len() > self.limits.range_length;
            Ok(if is_too_long { Step::Stop } else { Step::Next })
        })?;
        let memtable = &self.memtable[block];
        let start = memtable.partition_point(|each| *each < from);
        let end = memtable.partition_point(|each| *each <= to);
        range.extend_from_slice(&memtable[start..end]);
        if range.len() > self.limits.range_length {
            return Ok(None);
        }
        if start < end {
            // The stable sort merges two sorted runs in one pass.
            range.sort();
            range.dedup();
        }
        Ok(Some(range))
    }
}

/// Splits a task that is too large into tasks for those parts of its ranges that can hold pairs.
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
