//! [`Snapshot::pairs`]: all pairs of documents within a radius.

use std::collections::HashMap;
use std::ops::ControlFlow;

use crate::api::snapshot::Snapshot;
use crate::document::DocId;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::query;

pub use crate::query::{Pair, PairsEvent};

impl Snapshot {
    /// All pairs of reliable documents whose fingerprints differ in at most `radius` bits: exactly
    /// what comparing each with all others would give.
    ///
    /// They are told to `visitor` as they are found, until it breaks. Documents that have the same
    /// fingerprint come as one group ([`PairsEvent::Copies`]), since n copies are n² / 2 pairs; a pair
    /// of different fingerprints comes once ([`PairsEvent::Pairs`]), and the document with the smallest
    /// id stands for all that have one of them. So two documents are within the radius exactly if they
    /// are in one group, or those that stand for them are a pair. To have them all one by one:
    /// [`document_pairs`](Self::document_pairs).
    ///
    /// The visitor is called in the caller's thread, while nothing goes on in others; it may ask this
    /// snapshot, and change the database.
    ///
    /// # Errors
    /// Those of [`within`](Self::within), and [`Error::Interrupted`](crate::Error::Interrupted).
    ///
    /// # Cost
    /// Reads each of the four block tables once, and `block0` twice; a pair then costs two look-ups.
    /// At radius 3, of n documents each is compared with some of the n / 65,536 that share a block
    /// with it, those whose next block is near too: where very many share a block, the next ones tell
    /// them apart. From radius 4 on a stretch of a table is read again for each that is near it, and
    /// the comparisons are many more: of five million documents, radius 4 takes two to three times
    /// as long as radius 3, 7 seven times, 8 fifteen times. On all cores.
    ///
    /// Memory: up to about 200 MiB beside the cache, more with more than four cores; 8 bytes for each
    /// document of the largest group; and 60 for each change that is in the journal only.
    ///
    /// # Source
    /// The blocks: Manku, Jain, Das Sarma, *Detecting near-duplicates for web crawling*, WWW 2007,
    /// section 3. Which of them owns a pair: Qin, Xiao, *Pigeonring: a principle for faster thresholded
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
        query::pairs(self.view(), radius, &self.progress, &mut visitor).map(drop)
    }

    /// Calls `visitor` with every pair of reliable documents whose fingerprints differ in at most
    /// `radius` bits, each once and in no order, until it breaks: what [`pairs`](Self::pairs) says in
    /// groups, one by one.
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
        let mut copies = Groups::default();
        self.pairs(radius, |event| match event {
            PairsEvent::Copies {
                fingerprint,
                documents,
            } => {
                copies.0.insert(fingerprint, documents.into());
                for (db_path, a) in documents.iter().enumerate() {
                    for b in &documents[db_path + 1..] {
                        visitor(Pair::of((*a, fingerprint), (*b, fingerprint)))?;
                    }
                }
                ControlFlow::Continue(())
            }
            PairsEvent::Pairs(pairs) => {
                for pair in pairs {
                    let [a, b] = pair.fingerprints;
                    for of_a in copies.documents(&a, &pair.a) {
                        for of_b in copies.documents(&b, &pair.b) {
                            visitor(Pair::of((*of_a, a), (*of_b, b)))?;
                        }
                    }
                }
                ControlFlow::Continue(())
            }
        })
    }
}

/// The documents of each fingerprint that several have.
#[derive(Default)]
struct Groups(HashMap<Fingerprint, Box<[DocId]>>);

impl Groups {
    /// All documents that have a fingerprint, of which one is known.
    fn documents<'g>(&'g self, fingerprint: &Fingerprint, known: &'g DocId) -> &'g [DocId] {
        match self.0.get(fingerprint) {
            Some(documents) => documents,
            None => std::slice::from_ref(known),
        }
    }
}
