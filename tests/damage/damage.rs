//! Damage to the bytes of a file: flipped bits, lost or misplaced sectors, cuts.

use test_support::SplitMix;

const PAGE_BYTES: usize = 4096;
pub const SECTOR_BYTES: usize = 512;

/// One kind of damage to a file or its journal.
#[derive(Clone, Copy, Debug)]
pub enum Damage {
    Flip {
        byte: usize,
        bit: u64,
    },
    Zeros {
        sector: usize,
    },
    /// A sector overwritten with the content of another one.
    Misplaced {
        sector: usize,
        from: usize,
    },
    Cut {
        length: usize,
    },
}

impl Damage {
    /// Random damage: mostly a flipped bit, and the first pages more often than others.
    pub fn random(sequence: &mut SplitMix, length: usize) -> Self {
        let sectors = (length / SECTOR_BYTES) as u64;
        let mut sector = || sequence.below(sectors) as usize;
        let (one, other) = (sector(), sector());
        match sequence.below(20) {
            0 => Self::Zeros { sector: one },
            1 => Self::Misplaced {
                sector: one,
                from: other,
            },
            2 => Self::Cut {
                length: sequence.below(length as u64) as usize,
            },
            // The headers are small, and everything depends on them.
            3..=5 => Self::Flip {
                byte: sequence.below(3 * PAGE_BYTES as u64).min(length as u64 - 1) as usize,
                bit: sequence.below(8),
            },
            _ => Self::Flip {
                byte: sequence.below(length as u64) as usize,
                bit: sequence.below(8),
            },
        }
    }

    pub fn apply(self, bytes: &mut Vec<u8>) {
        let range = |sector: usize| sector * SECTOR_BYTES..(sector + 1) * SECTOR_BYTES;
        match self {
            Self::Flip { byte, bit } => bytes[byte] ^= 1 << bit,
            Self::Zeros { sector } => bytes[range(sector)].fill(0),
            Self::Misplaced { sector, from } => {
                bytes.copy_within(range(from), sector * SECTOR_BYTES);
            }
            Self::Cut { length } => bytes.truncate(length),
        }
    }
}
