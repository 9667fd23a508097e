//! A file: its current content, its durable content, and the operations since the last sync.

use super::chance::Chance;
use super::content::Content;

/// Bytes that a disk writes wholly or not at all.
const SECTOR_BYTES: u64 = 512;

/// A file of the disk, independent of its names.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// The content that reads return.
    pub now: Content,
    /// The content that survives any power cut.
    durable: Content,
    /// The operations since the last sync.
    since: Vec<Done>,
}

#[derive(Clone, Debug)]
enum Done {
    Write(u64, Vec<u8>),
    /// Zeros written at an offset, with their length.
    Zeros(u64, u64),
    SetLen(u64),
}

/// The fate of unsynced data when a sync fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsynced {
    /// The data stays: the next sync may make it durable.
    Stays,
    /// The data stays readable, but no later sync makes it durable.
    StaysInMemory,
    /// The data is lost.
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

    /// Makes all operations durable.
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

    /// The file as it is after a power cut.
    pub fn after_cut(&self, chance: &mut Chance) -> Self {
        let mut found = self.durable.clone();
        let fate = chance.fate();
        let lengths = self.since.iter();
        let lengths = lengths.filter(|done| matches!(done, Done::SetLen(_)));
        // Changes of the length survive in their order only.
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
