//! [`Snapshot::pairs`]: all pairs of documents within a radius.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::slice;

use crate::api::snapshot::Snapshot;
use crate::error::Result;
use crate::hamming::check_radius;
use crate::ids::{DocId, Fingerprint};
use crate::progress::refuse_break;
use crate::query::{self, Pair, PairsEvent, QueryLimits};

impl Snapshot {
    /// Finds all pairs of [reliable](crate::Document::reliable) documents whose fingerprints differ
    /// in at most `radius` bits. Exact: equal to a comparison of each document with all others.
    ///
    /// `visitor` is called with the pairs as they are found. `Break` ends the call with
    /// [`Error::Interrupted`](crate::Error::Interrupted). Documents
    /// with equal fingerprints come as one group ([`PairsEvent::Copies`]), because n copies make n²
    /// / 2 pairs. A pair of different fingerprints comes once ([`PairsEvent::Pairs`]), with the
    /// first document of each.
    ///
    /// The visitor runs on the calling thread. It may query this snapshot and change the database.
    ///
    /// # Errors
    /// - [`Error::InvalidRadius`](crate::Error::InvalidRadius) if the radius is above 64
    /// - [`Error::Corrupt`](crate::Error::Corrupt), [`Error::Storage`](crate::Error::Storage)
    /// - [`Error::Interrupted`](crate::Error::Interrupted)
    ///
    /// # Cost
    /// One read of each block table, two of `block0`, and two look-ups for each pair, on all cores.
    /// Radius 4 takes two to three times as long as radius 3, 7 seven times, 8 fifteen times.
    ///
    /// Memory: up to 200 MiB beside the cache, more on more than four cores; 24 bytes for each
    /// document of the largest group; 60 for each change in the journal.
    ///
    /// # Source
    /// As [`within`](Self::within).
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use simdb::pairs::PairsEvent;
    /// use simdb::{Database, DocId, Document, Fingerprint};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::create(folder.path().join("docs.simdb"))?;
    /// for (id, bits) in [(1, 0b0000), (2, 0b0111), (3, u64::MAX), (4, 0b0111)] {
    ///     let document = Document::new(id, Fingerprint::from_bits(bits));
    ///     assert!(db.insert(document)?.is_inserted());
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
        check_radius(radius)?;
        let limits = QueryLimits::default();
        let progress = self.progress.for_operation(&[1]);
        let flow = query::pairs(
            self.view(),
            radius,
            self.among(),
            &limits,
            &progress,
            &mut visitor,
        )?;
        refuse_break(flow, self.view().path())
    }

    /// Calls `visitor` with each pair of [`pairs`](Self::pairs) as a pair of documents, in no
    /// order. `Break` ends the call with [`Error::Interrupted`](crate::Error::Interrupted).
    ///
    /// # Errors
    /// As [`pairs`](Self::pairs).
    ///
    /// # Cost
    /// As [`pairs`](Self::pairs), and a call for each pair: a million copies of one
    /// fingerprint make 500 billion. Memory: 8 bytes more for each document that shares its
    /// fingerprint, and 60 for each shared fingerprint.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use simdb::{Database, DocId, Document, Fingerprint};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::create(folder.path().join("docs.simdb"))?;
    /// for (id, bits) in [(1, 0b0000), (2, 0b0111), (3, u64::MAX), (4, 0b0111)] {
    ///     let document = Document::new(id, Fingerprint::from_bits(bits));
    ///     assert!(db.insert(document)?.is_inserted());
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
                    // All groups of copies come before the first pair.
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
