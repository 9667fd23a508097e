//! [`Blocks`]: the entries of small nodes of the first level, read without a lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::analysis::LEVEL_BITS;
use crate::forest::FIRST_LEVELS;
use crate::store::memtable::seqno_log::SeqnoLog;
use crate::store::prefetch::{load, touch};

/// The nodes of all trees, and behind them the nodes of the keys of wordings.
const NODES: usize = FIRST_LEVELS + (1 << LEVEL_BITS[0]);

/// A node with more words is not in a block.
const MAX_WORDS: u32 = 256;

/// The smallest block, half of a cache line.
const MIN_WORDS: u32 = 4;

/// Words that are allocated together, 16 KiB. A multiple of the largest block.
const SEGMENT_LEN: u32 = 2048;

/// The bits of a [`BlockPlace`] for the number of words.
const LEN_BITS: u32 = 9;

/// The words of nodes, each in a block of 4, 8, 16 and so on to 256 words, in the order of their
/// addition.
///
/// One thread adds words. A block that is full is copied to a block of twice its size, and stays
/// for the threads that read it.
pub(super) struct Blocks {
    /// The place of each node, allocated by the first word.
    places: OnceLock<Box<[AtomicU32]>>,
    segments: SeqnoLog<Box<[AtomicU64]>>,
    /// The words of all blocks.
    len: AtomicU32,
}

/// The block of a node: its start as a multiple of [`MIN_WORDS`], and the number of words.
#[derive(Clone, Copy, PartialEq, Eq)]
struct BlockPlace(u32);

/// A copy of the words of a node, in the order of their addition.
pub(super) struct AddedWords {
    /// The upper halves of the words.
    pub(super) upper: Vec<u32>,
    /// The lower halves of the words.
    pub(super) lower: Vec<u32>,
}

/// A node that does not fit into a block any more, or did not before.
pub(super) struct TooLarge;

impl BlockPlace {
    const EMPTY: Self = Self(0);
    /// The node is not in a block.
    const ELSEWHERE: Self = Self(u32::MAX);

    /// `None` for a start that a place cannot hold.
    fn new(start: u32, len: u32) -> Option<Self> {
        let start = start / MIN_WORDS;
        (start < u32::MAX >> LEN_BITS).then_some(Self(start << LEN_BITS | len))
    }

    /// `None` if the node is not in a block.
    fn of(own: &AtomicU32) -> Option<Self> {
        let place = Self(own.load(Ordering::Acquire));
        (place != Self::ELSEWHERE).then_some(place)
    }

    fn start(self) -> u32 {
        (self.0 >> LEN_BITS) * MIN_WORDS
    }

    fn len(self) -> u32 {
        self.0 % (1 << LEN_BITS)
    }
}

impl Blocks {
    pub(super) fn new() -> Self {
        Self {
            places: OnceLock::new(),
            segments: SeqnoLog::new(),
            len: AtomicU32::new(0),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let places = self.places.get();
        places.map_or(0, |places| size_of_val(&**places))
            + self.len.load(Ordering::Relaxed) as usize * size_of::<u64>()
    }

    /// Adds a word to a node, unless the node has it.
    pub(super) fn add(&self, node: u64, word: u64) -> Result<(), TooLarge> {
        let empty = || {
            (0..NODES)
                .map(|_| AtomicU32::new(BlockPlace::EMPTY.0))
                .collect()
        };
        let places = self.places.get_or_init(empty);
        let own = places.get(node as usize).ok_or(TooLarge)?;
        let place = BlockPlace::of(own).ok_or(TooLarge)?;
        let len = place.len();
        if self.words(place).iter().any(|other| load(other) == word) {
            return Ok(());
        }
        let place = match len {
            _ if len == MAX_WORDS => return Err(TooLarge),
            _ if len == 0 || len >= MIN_WORDS && len.is_power_of_two() => {
                self.copied(place).ok_or(TooLarge)?
            }
            _ => place,
        };
        let place = BlockPlace::new(place.start(), len + 1).ok_or(TooLarge)?;
        if let Some(new) = self.words(place).last() {
            new.store(word, Ordering::Relaxed);
        }
        // Last: a thread that reads the new length finds the words.
        own.store(place.0, Ordering::Release);
        Ok(())
    }

    /// Leaves the words of a node to another place, where they are already.
    pub(super) fn give_up(&self, node: u64) {
        if let Some(own) = self.places.get().and_then(|all| all.get(node as usize)) {
            own.store(BlockPlace::ELSEWHERE.0, Ordering::Release);
        }
    }

    pub(super) fn read(&self, node: u64) -> Result<AddedWords, TooLarge> {
        let place = self.place(node).ok_or(TooLarge)?;
        let words = self.words(place).iter().map(load);
        let (upper, lower) = words
            .map(|word| ((word >> u32::BITS) as u32, word as u32))
            .unzip();
        Ok(AddedWords { upper, lower })
    }

    /// Fetches the words of nodes into the cache of the processor: first the places of all nodes,
    /// then the words.
    pub(super) fn touch(&self, nodes: &[u64]) {
        let places = nodes.iter().map(|node| self.place(*node));
        let places: Vec<Option<BlockPlace>> = places.collect();
        touch(places.iter().flatten().map(|place| self.words(*place)));
    }

    /// The place of a node; `None` if the node is not in a block.
    fn place(&self, node: u64) -> Option<BlockPlace> {
        let own = self.places.get().and_then(|all| all.get(node as usize));
        own.map_or(Some(BlockPlace::EMPTY), BlockPlace::of)
    }

    /// Copies the words of a block to the start of a larger one; `None` if there are too many
    /// blocks.
    fn copied(&self, from: BlockPlace) -> Option<BlockPlace> {
        let size = (from.len() * 2).max(MIN_WORDS);
        let start = self.len.load(Ordering::Relaxed).next_multiple_of(size);
        let to = BlockPlace::new(start, from.len())?;
        self.len.store(start + size, Ordering::Relaxed);
        let segment = start / SEGMENT_LEN;
        if self.segments.get(segment).is_none() {
            let words = (0..SEGMENT_LEN).map(|_| AtomicU64::new(0));
            self.segments.set(segment, words.collect());
        }
        for (copy, word) in self.words(to).iter().zip(self.words(from)) {
            copy.store(load(word), Ordering::Relaxed);
        }
        Some(to)
    }

    fn words(&self, place: BlockPlace) -> &[AtomicU64] {
        let segment = self.segments.get(place.start() / SEGMENT_LEN);
        let start = (place.start() % SEGMENT_LEN) as usize;
        let words = segment.and_then(|words| words.get(start..start + place.len() as usize));
        words.unwrap_or_default()
    }
}

const _: () = assert!(SEGMENT_LEN.is_multiple_of(MAX_WORDS) && MAX_WORDS < 1 << LEN_BITS);
