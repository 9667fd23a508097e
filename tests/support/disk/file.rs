//! A file: what is in it, what of that is durable, and what was done since.

use super::chance::Chance;
use super::content::Content;

/// What a disk writes at a time, wholly or not at all.
const SECTOR_BYTES: u64 = 512;

/// A file of the disk, by whatever names.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// What who reads it gets.
    pub now: Content,
    /// What is on the medium for certain.
    durable: Content,
    /// What was done since it was synced.
    since: Vec<Done>,
}

#[derive(Clone, Debug)]
enum Done {
    Write(u64, Vec<u8>),
    /// Zeros where they were written.
    Zeros(u64, u64),
    SetLen(u64),
}

/// What becomes of what was not durable when a sync fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsynced {
    /// Nothing: the next sync may bring it to the medium.
    Stays,
    /// Who reads the file gets it, but no sync will bring it to the medium any more.
    StaysInMemory,
    /// It is gone.
    Goes,
}

impl File {
    pub fn write(&mut self, offset: u64, bytes: &[u8]) {
        self.now.write(offset, bytes);
        self.since.push(match bytes.iter().all(|byte| *byte == 0) {
            true => Done::Zeros(offset, bytes.len() as u64),
            false => Done::Write(offset, bytes.to_vec()),
        });
    }

    pub fn set_len(&mut self, len: u64) {
        self.now.set_len(len);
        self.since.push(Done::SetLen(len));
    }

    /// Makes durable what was done.
    pub fn sync(&mut self) {
        for done in std::mem::take(&mut self.since) {
            match done {
                Done::Write(offset, bytes) => {
                    self.durable
                        .take_over(&self.now, offset, bytes.len() as u64);
                }
                Done::Zeros(offset, count) => self.durable.take_over(&self.now, offset, count),
                Done::SetLen(len) => self.durable.set_len(len),
            }
        }
        self.durable.set_len(self.now.len());
    }

    /// A sync that fails.
    pub fn fail_to_sync(&mut self, unsynced: Unsynced) {
        match unsynced {
            Unsynced::Stays => {}
            Unsynced::StaysInMemory => self.since.clear(),
            Unsynced::Goes => {
                self.since.clear();
                self.now = self.durable.clone();
            }
        }
    }

    /// What is in the file after power failed.
    pub fn after_a_cut(&self, chance: &mut Chance) -> Self {
        let mut found = self.durable.clone();
        let fate = chance.fate();
        let lengths = self.since.iter();
        let lengths = lengths.filter(|done| matches!(done, Done::SetLen(_)));
        // The length is changed in the order in which that was asked for.
        let mut lengths_kept = fate.prefix(chance, lengths.count());
        let mut writes_kept = fate.prefix(chance, self.since.len());
        for done in &self.since {
            let goes_on = writes_kept > 0;
            writes_kept = writes_kept.saturating_sub(1);
            match done {
                Done::SetLen(len) => {
                    if lengths_kept > 0 {
                        found.set_len(*len);
                    }
                    lengths_kept = lengths_kept.saturating_sub(1);
                }
                Done::Zeros(offset, count) => {
                    let zeros = vec![0; *count as usize];
                    fate.write(chance, goes_on, &mut found, *offset, &zeros);
                }
                Done::Write(offset, bytes) => {
                    fate.write(chance, goes_on, &mut found, *offset, bytes);
                }
            }
        }
        Self {
            now: found.clone(),
            durable: found,
            since: Vec::new(),
        }
    }
}

/// The parts of a write that reach the medium wholly or not at all.
pub fn sectors(offset: u64, bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let mut rest = bytes;
    let mut from = offset;
    std::iter::from_fn(move || {
        (!rest.is_empty()).then(|| {
            let left = SECTOR_BYTES - from % SECTOR_BYTES;
            let (sector, others) = rest.split_at(rest.len().min(left as usize));
            let at = from;
            from += sector.len() as u64;
            rest = others;
            (at, sector)
        })
    })
}
