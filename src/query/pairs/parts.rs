//! All pairs of distinct fingerprints, from the tables, in bounded memory and on all cores.
//!
//! What begins with the same bits is a stretch of a block's table. A *part* of the work is to bring
//! two such stretches together, or one with itself. What is too long to be read is cut by its next
//! bits, like what is in memory ([`Join`]) and by the same rule. At radius 3, where the block in front
//! is equal, each stretch is read once and meets itself; at larger radii it meets those near it too.

use rayon::prelude::*;

use super::join::Join;
use super::most_at_once;
use crate::block::{self, BLOCKS, Chain, Chains};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::store::{FingerprintSource, SnapshotTables, Step};

/// Bits by which what is too long is cut at a time. They divide those of a block.
const CUT_BITS: u32 = 4;
/// Expected to be longer, a stretch is not even tried to be read.
const EXPECTED_LENGTH: u64 = if cfg!(test) { 200 } else { 1 << 18 };
/// The most that is read of a stretch, 4 MiB: found to be longer, it is cut.
const MOST_LENGTH: usize = if cfg!(test) { 300 } else { 1 << 19 };
/// A part is left off with so many pairs, or after so many comparisons: some tens of milliseconds.
const MOST_PAIRS: usize = if cfg!(test) { 100 } else { 1 << 15 };
const MOST_COMPARISONS: u64 = if cfg!(test) { 10_000 } else { 1 << 28 };

/// Two different fingerprints within the radius.
pub(super) type Edge = (Fingerprint, Fingerprint);

/// The work of finding all pairs, as far as it is not done.
pub(super) struct Parts<'v> {
    index: &'v SnapshotTables,
    radius: u32,
    chains: Chains,
    /// The tail's fingerprints as rotated by each block, in order.
    in_tail: [Vec<u64>; BLOCKS],
    /// How many distinct fingerprints there are, about.
    count: u64,
    /// The next one last.
    open: Vec<Part>,
    done: f64,
}

struct Part {
    /// Which pairs are sought.
    chain: Chain,
    /// Which share of all work this is, by a rough guess.
    share: f64,
    state: State,
}

enum State {
    Unread(Meeting),
    Read(Join),
}

/// Two stretches of a block to be brought together.
#[derive(Clone, Copy)]
struct Meeting {
    /// The first fingerprint that each may have: what all of it begin with, and zeros.
    a: u64,
    b: u64,
    /// So many bits they begin with.
    bits: u32,
    /// In so many of these bits the two differ.
    differing: u32,
}

/// What came of a part.
#[derive(Default)]
struct Outcome {
    edges: Vec<Edge>,
    /// What is left of it, the next one first.
    rest: Vec<Part>,
    done: f64,
}

impl<'v> Parts<'v> {
    /// All pairs within a radius of the tables' fingerprints and these of the tail.
    pub(super) fn new(index: &'v SnapshotTables, radius: u32, tail: &[u64]) -> Self {
        let chains = Chains::for_radius(radius);
        let mut in_tail = [const { Vec::new() }; BLOCKS];
        for chain in chains.iter() {
            let rotate = |bits: &u64| block::rotate(Fingerprint::from_bits(*bits), chain.block);
            let mut rotated: Vec<u64> = tail.iter().map(rotate).collect();
            index.in_parallel(|| rotated.par_sort_unstable());
            in_tail[chain.block] = rotated;
        }
        let all = Meeting {
            a: 0,
            b: 0,
            bits: 0,
            differing: 0,
        };
        let whole = |chain: &Chain| Part {
            chain: *chain,
            share: 1.0 / chains.iter().len() as f64,
            state: State::Unread(all),
        };
        Self {
            index,
            radius,
            in_tail,
            count: index.counters().distinct_fingerprints + tail.len() as u64,
            open: chains.iter().rev().map(whole).collect(),
            chains,
            done: 0.0,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.open.is_empty()
    }

    /// Which share of the work is done, by a rough guess.
    pub(super) fn done(&self) -> f64 {
        self.done
    }

    /// Does some of the work, a fraction of a second on all cores, and appends the pairs that it
    /// found to `edges`.
    pub(super) fn go_on(&mut self, edges: &mut Vec<Edge>) -> Result<()> {
        let mut open = std::mem::take(&mut self.open);
        let outcomes = self.index.in_parallel(|| {
            let parts = open.split_off(open.len().saturating_sub(most_at_once()));
            let parts = parts.into_par_iter().with_max_len(1);
            let outcomes = parts.map(|part| self.work_at(part));
            outcomes.collect::<Result<Vec<Outcome>>>()
        })?;
        for outcome in outcomes {
            edges.extend(outcome.edges);
            self.done += outcome.done;
            open.extend(outcome.rest);
        }
        self.open = open;
        Ok(())
    }

    fn work_at(&self, part: Part) -> Result<Outcome> {
        match part.state {
            State::Read(join) => Ok(self.join(part.chain, part.share, join)),
            State::Unread(meeting) => match self.read(part.chain.block, &meeting)? {
                Some(join) => Ok(self.join(part.chain, part.share, join)),
                None => Ok(cut(part.chain, part.share, &meeting)),
            },
        }
    }

    /// Goes on with what was read.
    fn join(&self, chain: Chain, share: f64, join: Join) -> Outcome {
        let (mut join, mut pairs) = (join, Vec::new());
        join.go_on(
            &chain,
            self.radius,
            MOST_PAIRS,
            MOST_COMPARISONS,
            &mut pairs,
        );
        let unrotate = |rotated| block::unrotate(rotated, chain.block);
        let edges = pairs.into_iter().map(|(a, b)| (unrotate(a), unrotate(b)));
        let mut outcome = Outcome {
            edges: edges
                .filter(|(a, b)| self.chains.is_owner(&chain, *a, *b))
                .collect(),
            ..Outcome::default()
        };
        if join.is_done() {
            outcome.done = share;
        } else {
            let state = State::Read(join);
            outcome.rest.push(Part {
                chain,
                share,
                state,
            });
        }
        outcome
    }

    /// Reads both stretches; nothing if one of them is too long.
    fn read(&self, block: usize, meeting: &Meeting) -> Result<Option<Join>> {
        let Meeting {
            a,
            b,
            bits,
            differing,
        } = *meeting;
        let of_a = self.read_stretch(block, a, bits)?;
        if a == b {
            return Ok(of_a.map(|of_a| Join::of_one(of_a, bits)));
        }
        let is_empty = |stretch: &Option<Vec<u64>>| stretch.as_ref().is_some_and(Vec::is_empty);
        // What there is nothing of need not be brought together with what is too long.
        if is_empty(&of_a) {
            return Ok(Some(Join::of_nothing()));
        }
        let of_b = self.read_stretch(block, b, bits)?;
        if is_empty(&of_b) {
            return Ok(Some(Join::of_nothing()));
        }
        let both = of_a.zip(of_b);
        Ok(both.map(|(of_a, of_b)| Join::of_two(of_a, of_b, bits, differing)))
    }

    /// What begins with the same bits as `from`, in order; nothing if it is too long.
    fn read_stretch(&self, block: usize, from: u64, bits: u32) -> Result<Option<Vec<u64>>> {
        if self.count.checked_shr(bits).unwrap_or(0) > EXPECTED_LENGTH {
            return Ok(None);
        }
        let to = from | u64::MAX.checked_shr(bits).unwrap_or(0);
        let mut stretch = Vec::new();
        self.index.visit_range(block, from, to, &mut |piece| {
            stretch.extend_from_slice(piece);
            Ok(if stretch.len() > MOST_LENGTH {
                Step::Stop
            } else {
                Step::Next
            })
        })?;
        let tail = &self.in_tail[block];
        let tail = &tail[tail.partition_point(|each| *each < from)..];
        let tail = &tail[..tail.partition_point(|each| *each <= to)];
        // What begins with 64 bits is one fingerprint.
        if stretch.len() + tail.len() > MOST_LENGTH && bits < u64::BITS {
            return Ok(None);
        }
        if !tail.is_empty() {
            stretch.extend_from_slice(tail);
            // Of two runs in order, this sort makes one.
            stretch.sort();
            stretch.dedup();
        }
        Ok(Some(stretch))
    }
}

/// Cuts both stretches into parts, and brings those together that a chain may have pairs of.
fn cut(chain: Chain, share: f64, meeting: &Meeting) -> Outcome {
    let behind = u64::BITS - meeting.bits - CUT_BITS;
    let mut meetings = Vec::new();
    if let Some(spare) = chain
        .most_up_to(meeting.bits)
        .checked_sub(meeting.differing)
    {
        for value in 0..1_u64 << CUT_BITS {
            for other in 0..1_u64 << CUT_BITS {
                let differing = (value ^ other).count_ones();
                let is_turned_round = meeting.a == meeting.b && other < value;
                if differing <= spare && !is_turned_round {
                    meetings.push(Meeting {
                        a: meeting.a | value << behind,
                        b: meeting.b | other << behind,
                        bits: meeting.bits + CUT_BITS,
                        differing: meeting.differing + differing,
                    });
                }
            }
        }
    }
    let share_of_each = share / meetings.len().max(1) as f64;
    let part = |meeting: Meeting| Part {
        chain,
        share: share_of_each,
        state: State::Unread(meeting),
    };
    Outcome {
        done: if meetings.is_empty() { share } else { 0.0 },
        rest: meetings.into_iter().rev().map(part).collect(),
        edges: Vec::new(),
    }
}
