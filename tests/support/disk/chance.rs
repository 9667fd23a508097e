//! The fate of unsynced data at a power cut: all, none, or any part of it survives.

use super::content::Content;
use super::file::sectors;
use crate::SplitMix;

/// A seeded sequence of decisions.
pub struct Chance(SplitMix);

/// The fate of the operations on a file, or on names, since the last sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    All,
    Nothing,
    /// The first operations survive.
    Prefix,
    /// Each sector survives on its own, with this many chances in eight.
    Sectors(u64),
    /// Each write survives on its own.
    Writes,
}

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(SplitMix(seed ^ 0x005e_ed0f_d15c))
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    pub fn fate(&mut self) -> Fate {
        match self.below(10) {
            0 => Fate::All,
            1 => Fate::Nothing,
            2 | 3 => Fate::Prefix,
            4 | 5 => Fate::Writes,
            _ => Fate::Sectors(1 + self.below(7)),
        }
    }
}

impl Fate {
    /// The number of operations that survive, of `count` in order.
    pub fn prefix(self, chance: &mut Chance, count: usize) -> usize {
        match self {
            Self::All => count,
            Self::Nothing => 0,
            _ => chance.below(count as u64 + 1) as usize,
        }
    }

    /// Returns `true` if one of many independent parts survives.
    pub fn keeps(self, chance: &mut Chance, is_in_prefix: bool) -> bool {
        match self {
            Self::All => true,
            Self::Nothing => false,
            Self::Prefix => is_in_prefix,
            Self::Sectors(_) | Self::Writes => chance.below(2) == 0,
        }
    }

    /// Applies the surviving part of a write.
    pub fn write(
        self,
        chance: &mut Chance,
        is_in_prefix: bool,
        to: &mut Content,
        offset: u64,
        bytes: &[u8],
    ) {
        let Self::Sectors(eighths) = self else {
            if self.keeps(chance, is_in_prefix) {
                to.write(offset, bytes);
            }
            return;
        };
        for (at, sector) in sectors(offset, bytes) {
            if chance.below(8) < eighths {
                to.write(at, sector);
            }
        }
    }
}
