//! Databases of simdb as benches make and ask them.

use std::ops::ControlFlow;
use std::path::Path;

use simdb::{Database, DocId, Document, Fingerprint, Snapshot};

use super::contender::{Asker, Contender};

/// Memory to load with unless another size is asked for.
pub const LOAD_MEMORY_BYTES: u64 = 1 << 30;

/// A folder in the current one, with the database in it; both vanish in the end.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(".").expect("a folder for the database")
}

/// Loads documents whose ids count from 0 into a new file; its length in bytes.
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

/// A cache that holds a file of that length: pages carry some bookkeeping beside their bytes.
pub fn cache_for(file_bytes: u64) -> usize {
    file_bytes as usize / 2 * 3
}

/// Reads every page, and has every key of every block asked for once, so that the caches are as
/// full as they get.
pub fn warm(snapshot: &Snapshot) {
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
