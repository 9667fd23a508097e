//! Databases of simdb for the benches.

use std::ops::ControlFlow;
use std::path::Path;

use simdb::{Database, DocId, Document, Fingerprint, Snapshot};

use super::contender::{Asker, Contender};

/// 1 GiB of memory for a bulk load, unless a bench sets another size.
pub const LOAD_MEMORY_BYTES: u64 = 1 << 30;

/// A temporary folder for databases. In the current folder, since `/tmp` may be in memory.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(".").expect("a folder for the database")
}

/// Bulk loads documents with ids from 0 into a new file, and returns the length of the file in
/// bytes.
pub fn load(path: &Path, frozen: bool, fingerprints: impl Iterator<Item = u64>) -> u64 {
    let builder = Database::builder().frozen(frozen);
    let mut load = builder
        .bulk_create(path, LOAD_MEMORY_BYTES)
        .expect("a new file");
    let mut pushed = 0;
    for bits in fingerprints {
        let fingerprint = Fingerprint::from_bits(bits);
        load.push(Document::new(DocId(pushed), fingerprint))
            .expect("push");
        pushed += 1;
    }
    let report = load.finish(|_| ControlFlow::Continue(())).expect("load");
    assert_eq!(report.inserted, pushed);
    std::fs::metadata(path).expect("the file").len()
}

/// The size of a cache that holds a file of this length: half as much again, for the bookkeeping of
/// pages.
pub fn cache_for(file_bytes: u64) -> usize {
    file_bytes as usize / 2 * 3
}

/// Reads every page and queries every key of every block once, so that the caches are as full as
/// possible.
pub fn warm(snapshot: &Snapshot) {
    // 2^16 queries, each with one 16-bit key in all four blocks, probe all keys of all blocks.
    snapshot.stats().expect("stats");
    let queries: Vec<Fingerprint> = (0..=u64::from(u16::MAX))
        .map(|key| Fingerprint::from_bits(key * 0x0001_0001_0001_0001))
        .collect();
    snapshot
        .within_batch_with(&queries, 3, 1, |_, _| ControlFlow::Continue(()))
        .expect("batch");
}

impl Contender for Snapshot {
    fn asker(&self) -> Asker<'_> {
        Box::new(|query, radius| {
            let matches = self
                .within(Fingerprint::from_bits(query), radius)
                .expect("query");
            matches
                .iter()
                .map(|found| (found.distance, found.id.0))
                .collect()
        })
    }
}
