//! [`Snapshot::clusters`]: groups of near-duplicates.

use std::ops::ControlFlow;

use crate::api::snapshot::Snapshot;
use crate::error::Result;
use crate::hamming::check_radius;
use crate::ids::DocId;
use crate::measure::Likeness;
use crate::query::{self, Clustering, ClustersEvent, Priority, QueryLimits};

/// The approximate times of pairs and of clusters, for the reported progress.
const STAGE_TIMES: [u64; 2] = [4, 1];

impl Snapshot {
    /// Finds the groups of near-duplicates among the reliable documents. Each document is in at
    /// most one. In a database that keeps texts, unreliable documents with one text are a group
    /// too.
    ///
    /// `visitor` is called with each cluster, in order of their ids. `Break` ends the call with
    /// [`Error::Interrupted`](crate::Error::Interrupted). By
    /// default a cluster is a star: every member is within the radius of the document that is kept
    /// ([`Shape`](crate::clusters::Shape)). The order of inserts makes no difference.
    ///
    /// With [`Clustering::likeness`], near-duplicates must also have similar texts. In a star, each
    /// candidate is compared with the keeper; in a connected component, along the chain. A document
    /// that was refused in 1,024 comparisons joins no cluster any more, but may keep one of its
    /// own.
    ///
    /// The visitor runs on the calling thread. It may query this snapshot and change the database.
    ///
    /// # Errors
    /// - [`Error::KeepsNoTexts`](crate::Error::KeepsNoTexts) if texts are compared or measured
    /// - [`Error::NoArrivals`](crate::Error::NoArrivals) for
    ///   [`Keep::Oldest`](crate::clusters::Keep::Oldest)
    /// - [`Error::TooManyNear`](crate::Error::TooManyNear)
    /// - [`Error::InvalidLikeness`](crate::Error::InvalidLikeness)
    /// - [`Error::InvalidRadius`](crate::Error::InvalidRadius),
    ///   [`Error::Corrupt`](crate::Error::Corrupt), [`Error::Storage`](crate::Error::Storage),
    ///   [`Error::Interrupted`](crate::Error::Interrupted)
    ///
    /// # Cost
    /// As [`pairs`](Self::pairs), and some hundred nanoseconds for each pair of fingerprints. The
    /// diameter of a cluster of n distinct fingerprints takes n² / 2 comparisons, 2n from n = 2,049
    /// on. A comparison of short texts takes some ten microseconds.
    /// [`Keep::Longest`](crate::clusters::Keep::Longest) reads the text of every document that has
    /// a near-duplicate.
    ///
    /// Memory, beside the memory of [`pairs`](Self::pairs): up to 120 bytes for each document that
    /// has a near-duplicate, and 24 for each pair of distinct fingerprints.
    ///
    /// # Source
    /// Stars: Aslam, Pelekhov, Rus, *The star clustering algorithm for static and dynamic
    /// information organization*, Journal of Graph Algorithms and Applications 8(1), 2004. There
    /// the document with most neighbours is the first keeper, and a document may be in several
    /// stars.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use simdb::clusters::{Clustering, ClustersEvent, Shape};
    /// use simdb::{Database, DocId, Document, Fingerprint};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::create(folder.path().join("docs.simdb"))?;
    /// // A chain: 1 and 3 are four bits apart.
    /// for (id, bits) in [(1, 0b0000), (2, 0b0011), (3, 0b1111), (4, u64::MAX)] {
    ///     let document = Document::new(id, Fingerprint::from_bits(bits));
    ///     assert!(db.insert(document)?.is_inserted());
    /// }
    ///
    /// let clusters_of = |shape| {
    ///     let mut found = Vec::new();
    ///     let clustering = Clustering { shape, ..Clustering::default() };
    ///     db.snapshot()?.clusters(&clustering, |event| {
    ///         if let ClustersEvent::Cluster(cluster) = event {
    ///             found.push((cluster.id.0, cluster.members.len(), cluster.diameter));
    ///         }
    ///         ControlFlow::Continue(())
    ///     })?;
    ///     Ok::<_, simdb::Error>(found)
    /// };
    /// assert_eq!(clusters_of(Shape::Star)?, [(1, 2, 2)]);
    /// assert_eq!(clusters_of(Shape::Connected { most_documents: 1000 })?, [(1, 3, 4)]);
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn clusters(
        &self,
        clustering: &Clustering,
        visitor: impl FnMut(ClustersEvent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.grouped(clustering, Priority::Keep(clustering.keep), visitor)
    }

    /// Finds clusters like [`clusters`](Self::clusters), and keeps the document of each with the
    /// highest `score`, then the one with the smallest id. [`Clustering::keep`] is ignored.
    ///
    /// `score` is called once for each document that has a near-duplicate, in order of ids. NaN is
    /// the lowest score.
    ///
    /// # Errors
    /// As [`clusters`](Self::clusters).
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use simdb::clusters::{Clustering, ClustersEvent};
    /// use simdb::{Database, DocId, Document, Fingerprint};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::create(folder.path().join("docs.simdb"))?;
    /// for (id, bits) in [(1, 0b0000), (2, 0b0011), (3, 0b1111)] {
    ///     let document = Document::new(id, Fingerprint::from_bits(bits));
    ///     assert!(db.insert(document)?.is_inserted());
    /// }
    ///
    /// let mut kept = Vec::new();
    /// let votes = |id: DocId| if id == DocId(2) { 10.0 } else { 0.0 };
    /// db.snapshot()?.clusters_by_score(&Clustering::default(), votes, |event| {
    ///     if let ClustersEvent::Cluster(cluster) = event {
    ///         kept.push((cluster.keeper.0, cluster.members.len()));
    ///     }
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(kept, [(2, 3)]);
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn clusters_by_score(
        &self,
        clustering: &Clustering,
        mut score: impl FnMut(DocId) -> f64,
        visitor: impl FnMut(ClustersEvent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.grouped(clustering, Priority::Score(&mut score), visitor)
    }

    fn grouped(
        &self,
        clustering: &Clustering,
        priority: Priority<'_>,
        mut visitor: impl FnMut(ClustersEvent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        check_radius(clustering.radius)?;
        clustering
            .likeness
            .as_ref()
            .map_or(Ok(()), Likeness::check)?;
        let limits = QueryLimits::default();
        let progress = self.progress.for_operation(&STAGE_TIMES);
        query::clusters(
            self.view(),
            clustering,
            self.among(),
            priority,
            &limits,
            &progress,
            &mut visitor,
        )
    }
}
