//! [`BlockCounter`]: the blocks that many documents have, in bounded memory.
//!
//! Most blocks of a corpus occur once, and a table of all blocks would be as large as the corpus.
//! So keys are divided among temporary files by their value, and each file is counted alone. One
//! block in every document makes its file long, but not its table.

use std::collections::HashMap;
use std::io::{BufReader, BufWriter, ErrorKind, Read, Seek, Write};
use std::path::Path;

use anyhow::{Context, Result};
use tempfile::SpooledTempFile;

/// The hash of a block.
pub type BlockKey = u128;

/// The documents that have a block, and its occurrences in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCounts {
    pub documents: u64,
    pub occurrences: u64,
}

/// 128 files: a table takes some 70 bytes for each different block of a 128th of all.
const PARTS: usize = 128;
/// Keys beyond 256 KiB of a part wait on disk: 32 MiB of all parts in memory.
const SPOOL_BYTES: usize = 256 << 10;
/// The key and the number of its occurrences in a document, little-endian.
const ENTRY_BYTES: usize = 24;

const CANNOT: &str = "cannot use the temporary files of blocks";

/// Counts documents by key.
pub struct BlockCounter {
    parts: Vec<BufWriter<SpooledTempFile>>,
}

impl BlockCounter {
    /// Starts to count. Temporary files are in `folder`, without a name.
    pub fn new(folder: &Path) -> Self {
        let part = |_| BufWriter::new(SpooledTempFile::new_in(SPOOL_BYTES, folder));
        Self {
            parts: (0..PARTS).map(part).collect(),
        }
    }

    /// Adds a document that has a block, and the number of the occurrences of the block in it.
    pub fn push(&mut self, key: BlockKey, occurrences: u64) -> Result<()> {
        let part = &mut self.parts[(key % PARTS as u128) as usize];
        let mut entry = [0; ENTRY_BYTES];
        entry[..16].copy_from_slice(&key.to_le_bytes());
        entry[16..].copy_from_slice(&occurrences.to_le_bytes());
        part.write_all(&entry).context(CANNOT)
    }

    /// The blocks in at least this many documents.
    pub fn finish(self, in_documents: u64) -> Result<HashMap<BlockKey, BlockCounts>> {
        let mut repeated = HashMap::new();
        for part in self.parts {
            let mut part = part.into_inner().context(CANNOT)?;
            part.rewind().context(CANNOT)?;
            let mut counts: HashMap<BlockKey, BlockCounts> = HashMap::new();
            let mut part = BufReader::new(part);
            while let Some((key, occurrences)) = read_entry(&mut part)? {
                let counts = counts.entry(key).or_default();
                counts.documents += 1;
                counts.occurrences += occurrences;
            }
            counts.retain(|_, counts| counts.documents >= in_documents);
            repeated.extend(counts);
        }
        Ok(repeated)
    }
}

fn read_entry(part: &mut impl Read) -> Result<Option<(BlockKey, u64)>> {
    let (mut key, mut occurrences) = ([0; 16], [0; 8]);
    match part.read_exact(&mut key) {
        // Parts consist of whole entries.
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        outcome => outcome.context(CANNOT)?,
    }
    part.read_exact(&mut occurrences).context(CANNOT)?;
    Ok(Some((
        BlockKey::from_le_bytes(key),
        u64::from_le_bytes(occurrences),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counts_are_those_of_a_plain_table(
            entries in prop::collection::vec((0..300u128, 1..4u64), 0..400),
            in_documents in 1..5u64,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let mut counter = BlockCounter::new(folder.path());
            let mut expected: HashMap<BlockKey, BlockCounts> = HashMap::new();
            for (key, occurrences) in entries {
                // Keys of one part differ in their upper bits.
                let key = key << 60 | key;
                counter.push(key, occurrences).unwrap();
                let counts = expected.entry(key).or_default();
                counts.documents += 1;
                counts.occurrences += occurrences;
            }
            expected.retain(|_, counts| counts.documents >= in_documents);
            prop_assert_eq!(counter.finish(in_documents).unwrap(), expected);
        }
    }

    #[test]
    fn parts_on_disk_are_counted_too() {
        let folder = tempfile::tempdir().unwrap();
        let mut counter = BlockCounter::new(folder.path());
        // All in one part, of twice the bytes that stay in memory.
        let entries = 2 * SPOOL_BYTES / ENTRY_BYTES;
        for entry in 0..entries as u128 {
            counter.push((entry % 1000) * PARTS as u128, 2).unwrap();
        }
        let repeated = counter.finish(entries as u64 / 1000).unwrap();
        assert_eq!(repeated.len(), 1000);
        let documents: u64 = repeated.values().map(|counts| counts.documents).sum();
        assert_eq!(documents, entries as u64);
    }
}
