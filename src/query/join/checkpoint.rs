//! [`JoinCheckpoint`]: the decisions of a join so far.

use std::fmt;
use std::io::{self, Write};
use std::ops::{ControlFlow, Range};
use std::time::Duration;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::keepers::Keepers;
use super::text_nodes::TextNodes;
use super::{NONE, SimilarJoin};

/// The first bytes. The digit is the version of the format.
const MAGIC: &[u8; 16] = b"simdb join    1\n";

/// The bytes before the keepers.
const HEADER_BYTES: usize = MAGIC.len() + 8 + 4 * 4;

/// Keepers that are written at a time.
const KEEPERS_AT_ONCE: usize = 1 << 14;

/// The decisions of a join so far, from which another join of the same documents, texts and rules
/// continues ([`SimilarJoin::resume`]). It finds the clusters that the first would have found.
///
/// # Format
/// | bytes | content |
/// |---|---|
/// | 16 | the format |
/// | 8 | the hash of the rules, of the ids and of the texts |
/// | 4, 4, 4 | the position: see `Position` |
/// | 4 | the number of distinct texts |
/// | 4 each | the keeper of each text, in order of their lengths |
/// | 8 | the hash of the bytes before |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinCheckpoint {
    subject: u64,
    pub(super) position: Position,
    pub(super) keepers: Keepers,
}

/// The times at which a join passes its checkpoints.
#[derive(Clone, Copy)]
pub struct Checkpoints<'g> {
    /// The least time between two checkpoints.
    pub every: Duration,
    /// Called with each checkpoint. `Break` ends the join with
    /// [`Error::Interrupted`](crate::Error::Interrupted).
    pub save: &'g (dyn Fn(&JoinCheckpoint) -> ControlFlow<()> + Sync),
}

impl fmt::Debug for Checkpoints<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpoints")
            .field("every", &self.every)
            .finish_non_exhaustive()
    }
}

/// The nodes that a join has compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    /// The first node of the part that is in memory. All nodes before it are decided.
    pub(super) first: u32,
    /// The node after the last node of the part.
    pub(super) end: u32,
    /// The node after the last node behind the part that was compared with the whole part; 0 before
    /// that.
    pub(super) compared: u32,
}

impl JoinCheckpoint {
    /// The state before the first comparison.
    pub(super) fn new(nodes: &TextNodes, join: &SimilarJoin<'_>) -> Self {
        Self {
            subject: subject(nodes, join),
            position: Position::default(),
            keepers: Keepers::new(nodes.len()),
        }
    }

    /// Returns `true` if the join of these nodes would continue from the checkpoint.
    pub(super) fn is_of(&self, nodes: &TextNodes, join: &SimilarJoin<'_>) -> bool {
        self.subject == subject(nodes, join) && self.keepers.len() == nodes.len()
    }

    /// The nodes of the part that is in memory, which are decided. The keeper of a node that was
    /// removed before the part was begun is before the part.
    pub(super) fn part(&self) -> Vec<u32> {
        let Position { first, end, .. } = self.position;
        let is_in = |node: &u32| {
            let keeper = self.keepers.of(*node);
            keeper != NONE && keeper >= first
        };
        (first..end).filter(is_in).collect()
    }

    /// The nodes of a range that are not decided.
    pub(super) fn undecided(&self, range: Range<u32>) -> Vec<u32> {
        range
            .filter(|node| self.keepers.is_undecided(*node))
            .collect()
    }

    /// The share of the texts that are decided, from 0 to 1.
    pub fn share(&self) -> f64 {
        let keepers = self.keepers.as_slice().iter();
        let decided = keepers.filter(|keeper| **keeper != NONE).count();
        decided as f64 / self.keepers.len().max(1) as f64
    }

    /// Writes the checkpoint. It takes 4 bytes for each distinct text, and 48 bytes.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn write_to(&self, writer: &mut dyn Write) -> io::Result<()> {
        let Position {
            first,
            end,
            compared,
        } = self.position;
        let mut header = MAGIC.to_vec();
        header.extend(self.subject.to_le_bytes());
        for number in [first, end, compared, self.keepers.len() as u32] {
            header.extend(number.to_le_bytes());
        }
        let mut hash = Xxh3::new();
        let mut write = |bytes: &[u8]| {
            hash.update(bytes);
            writer.write_all(bytes)
        };
        write(&header)?;
        for keepers in self.keepers.as_slice().chunks(KEEPERS_AT_ONCE) {
            let bytes: Vec<u8> = keepers
                .iter()
                .flat_map(|keeper| keeper.to_le_bytes())
                .collect();
            write(&bytes)?;
        }
        writer.write_all(&hash.digest().to_le_bytes())
    }

    /// Returns `true` if each node before the end of the part has a keeper, later nodes have a
    /// keeper or are not decided, and each keeper is kept and not behind its nodes.
    fn is_sound(&self) -> bool {
        let Position { first, end, .. } = self.position;
        let len = self.keepers.len() as u32;
        let is_decided = |node: u32| {
            let keeper = self.keepers.of(node);
            keeper <= node && self.keepers.is_kept(keeper)
        };
        let may_be = |node: u32| is_decided(node) || node >= end && self.keepers.is_undecided(node);
        first <= end && end <= len && (0..len).all(may_be)
    }

    /// The checkpoint of these bytes; `None` unless [`write_to`](Self::write_to) has written all of
    /// them.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (content, hash) = bytes.split_last_chunk()?;
        let (header, keepers) = content.split_at_checked(HEADER_BYTES)?;
        let numbers = header.strip_prefix(MAGIC)?;
        let (subject, numbers) = numbers.split_first_chunk()?;
        let number = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
        let numbers: Vec<u32> = numbers.as_chunks().0.iter().map(number).collect();
        let &[first, end, compared, len] = &numbers[..] else {
            return None;
        };
        let (keepers, rest) = keepers.as_chunks();
        let is_whole = xxh3_64(content) == u64::from_le_bytes(*hash)
            && keepers.len() == len as usize
            && rest.is_empty();
        let checkpoint = is_whole.then(|| Self {
            subject: u64::from_le_bytes(*subject),
            position: Position {
                first,
                end,
                compared,
            },
            keepers: keepers.iter().map(number).collect(),
        })?;
        checkpoint.is_sound().then_some(checkpoint)
    }
}

/// A hash of everything that decides which nodes are kept.
fn subject(nodes: &TextNodes, join: &SimilarJoin<'_>) -> u64 {
    let rules = format!(
        "simdb {}; {:?} {:?} {} {:?} {}; {:016x}",
        env!("CARGO_PKG_VERSION"),
        join.least_likeness(),
        join.decision,
        join.contained_up_to,
        join.groups,
        join.memory_bytes,
        nodes.content(),
    );
    xxh3_64(rules.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_bytes_are_a_checkpoint() {
        let checkpoint = JoinCheckpoint {
            subject: 7 << 40,
            position: Position {
                first: 2,
                end: 4,
                compared: 5,
            },
            keepers: [0, 1, 0, 3, NONE, NONE].into_iter().collect(),
        };
        assert_eq!(checkpoint.part(), [3]);
        assert_eq!(checkpoint.share(), 4.0 / 6.0);
        let mut bytes = Vec::new();
        checkpoint.write_to(&mut bytes).unwrap();
        assert_eq!(bytes.len(), 48 + 6 * 4);
        assert_eq!(JoinCheckpoint::from_bytes(&bytes), Some(checkpoint));
        for len in 0..bytes.len() {
            assert_eq!(JoinCheckpoint::from_bytes(&bytes[..len]), None);
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert_eq!(JoinCheckpoint::from_bytes(&damaged), None);
        }
        bytes.push(0);
        assert_eq!(JoinCheckpoint::from_bytes(&bytes), None);
    }

    #[test]
    fn whole_bytes_with_impossible_keepers_are_no_checkpoint() {
        for (end, keepers) in [
            (2, vec![0, NONE]),
            (2, vec![0, 7]),
            (2, vec![1, 1]),
            (3, vec![0, 0, 1]),
            (3, vec![0, 1]),
        ] {
            let checkpoint = JoinCheckpoint {
                subject: 0,
                position: Position {
                    end,
                    ..Position::default()
                },
                keepers: keepers.into_iter().collect(),
            };
            let mut bytes = Vec::new();
            checkpoint.write_to(&mut bytes).unwrap();
            assert_eq!(JoinCheckpoint::from_bytes(&bytes), None, "{checkpoint:?}");
        }
    }
}
