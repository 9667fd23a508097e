//! [`Snapshot::pairs`]: all pairs of documents within a radius.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::slice;

use crate::api::snapshot::Snapshot;
use crate::document::DocId;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::query::{self, QueryLimits};

pub use crate::query::{Pair, PairsEvent};

impl Snapshot {
    /// Finds all pairs of reliable documents whose fingerprints differ in at most `radius` bits: exactly
    /// those that comparing each document with all others would give.
    ///
    /// `visitor` is called with them as they are found, until it breaks. Documents that have the same
    /// fingerprint come as one group ([`PairsEvent::Copies`]), since n copies are n² / 2 pairs. A pair
    /// of different fingerprints comes once ([`PairsEvent::Pairs`]), with the smallest id of the
    /// documents that have each. So two documents are within the radius exactly if they are in one
    /// group, or the first documents with their fingerprints are a pair.
    /// [`document_pairs`](Self::document_pairs) returns all of them one by one.
    ///
    /// The visitor is called in the caller's thread, while the search is idle in all others; it may
    /// query this snapshot, and change the database.
    ///
    /// # Errors
    /// Those of [`within`](Self::within), and [`Error::Interrupted`](crate::Error::Interrupted).
    ///
    /// # Cost
    /// Reads each of the four block tables once, and `block0` twice; a pair then costs two look-ups.
    /// At radius 3, each of n documents is compared with some of the n / 65,536 that share a block
    /// with it, those whose next block is near too: where very many share a block, the next ones tell
    /// them apart. From radius 4 on a range of a table is read again for each range that is near it,
    /// and the comparisons are many more: with five million documents, radius 4 takes two to three
    /// times as long as radius 3, 7 seven times, 8 fifteen times. On all cores.
    ///
    /// Memory: up to about 200 MiB beside the cache, more with more than four cores; 24 bytes for each
    /// document of the largest group; and 60 for each change that is in the journal only.
    ///
    /// # Source
    /// The blocks: Manku, Jain, Das Sarma, *Detecting near-duplicates for web crawling*, WWW 2007,
    /// section 3. The block that owns a pair: Qin, Xiao, *Pigeonring: a principle for faster thresholded
    /// similarity search*, VLDB 2018, section 4.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use simdb::{Database, DocId, Fingerprint, PairsEvent};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::create(folder.path().join("docs.simdb"))?;
    /// for (id, bits) in [(1, 0b0000), (2, 0b0111), (3, u64::MAX), (4, 0b0111)] {
    ///     db.insert(DocId(id), Fingerprint::from_bits(bits))?;
    /// }
    ///
    /// db.snapshot()?.pairs(3, |event| {
    ///     match event {
    ///         PairsEvent::Copies { documents, .. } => assert_eq!(documents, [DocId(2), DocId(4)]),
    ///         PairsEvent::Pairs(pairs) => {
    ///             assert_eq!(pairs.len(), 1);
    ///             assert_eq!((pairs[0].a, pairs[0].b), (DocId(1), DocId(2)));
    ///             assert_eq!(pairs[0].distance, 3);
    ///         }
    ///         _ => {}
    ///     }
    ///     ControlFlow::Continue(())
    /// })?;
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn pairs(
        &self,
        radius: u32,
        mut visitor: impl FnMut(PairsEvent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let limits = QueryLimits::default();
        query::pairs(self.view(), radius, &limits, &self.progress, &mut visitor).map(drop)
    }

    /// Calls `visitor` with every pair of reliable documents whose fingerprints differ in at most
    /// `radius` bits, each once and in no order, until it breaks: the groups and pairs of
    /// [`pairs`](Self::pairs), one by one.
    ///
    /// # Errors
    /// Those of [`pairs`](Self::pairs).
    ///
    /// # Cost
    /// That of [`pairs`](Self::pairs), and the pairs themselves: of a fingerprint that a million
    /// documents have, 500 billion. Memory, besides: 8 bytes for each document that shares its
    /// fingerprint with another, and 60 for each such fingerprint.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use simdb::{Database, DocId, Fingerprint};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::create(folder.path().join("docs.simdb"))?;
    /// for (id, bits) in [(1, 0b0000), (2, 0b0111), (3, u64::MAX), (4, 0b0111)] {
    ///     db.insert(DocId(id), Fingerprint::from_bits(bits))?;
    /// }
    ///
    /// let mut found = Vec::new();
    /// db.snapshot()?.document_pairs(3, |pair| {
    ///     found.push((pair.a.0, pair.b.0, pair.distance));
    ///     ControlFlow::Continue(())
    /// })?;
    /// found.sort();
    /// assert_eq!(found, [(1, 2, 3), (1, 4, 3), (2, 4, 0)]);
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn document_pairs(
        &self,
        radius: u32,
        mut visitor: impl FnMut(Pair) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut copies: HashMap<Fingerprint, Box<[DocId]>> = HashMap::new();
        self.pairs(radius, |event| match event {
            PairsEvent::Copies {
                fingerprint,
                documents,
            } => {
                copies.insert(fingerprint, documents.into());
                for (index, a) in documents.iter().enumerate() {
                    for b in &documents[index + 1..] {
                        visitor(Pair::new((*a, fingerprint), (*b, fingerprint)))?;
                    }
                }
                ControlFlow::Continue(())
            }
            PairsEvent::Pairs(pairs) => {
                for pair in pairs {
                    let [a, b] = pair.fingerprints;
                    // All groups of copies came before the first pair.
                    let with_a = copies.get(&a).map_or(slice::from_ref(&pair.a), |all| all);
                    let with_b = copies.get(&b).map_or(slice::from_ref(&pair.b), |all| all);
                    for id_a in with_a {
                        for id_b in with_b {
                            visitor(Pair::new((*id_a, a), (*id_b, b)))?;
                        }
                    }
                }
                ControlFlow::Continue(())
            }
        })
    }
}
