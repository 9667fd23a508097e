//! [`Snapshot::clusters`]: all groups of near-duplicates.

use std::ops::ControlFlow;

use crate::api::snapshot::Snapshot;
use crate::document::DocId;
use crate::error::Result;
use crate::query::{self, Priority, QueryLimits};

pub use crate::query::{Cluster, Clustering, ClustersEvent, Keep, Member, Shape};

impl Snapshot {
    /// Finds all groups of near-duplicates among the reliable documents. Each document is in one group
    /// or in none.
    ///
    /// `visitor` is called with them in order of their ids, until it breaks; one document of each is
    /// the keeper. Near-duplicates of near-duplicates are not near each other, so chains of them run
    /// away: by default a cluster is a star, in which every member is within the radius of its keeper
    /// ([`Shape`]). The same documents give the same clusters, in whatever order they were inserted and
    /// wherever they are stored.
    ///
    /// Without a comparison of texts, the documents near each other are exactly those of
    /// [`pairs`](Self::pairs). With one ([`Clustering::likeness`]) a star compares each candidate with
    /// the keeper, and a connected component is compared along the chain; a document that was compared
    /// 1,024 times and found unlike each time joins no cluster any more, but may have one of its own.
    ///
    /// The visitor is called in the caller's thread, while the search is idle in all others; it may
    /// query this snapshot, and change the database.
    ///
    /// # Errors
    /// [`Error::KeepsNoTexts`](crate::Error::KeepsNoTexts) if texts are to be compared or measured and
    /// none are kept; [`Error::NoArrivals`](crate::Error::NoArrivals) if the oldest is to be kept and
    /// no times are; [`Error::TooManyNear`](crate::Error::TooManyNear) if more than 2³² - 2 documents
    /// are near another; those of [`pairs`](Self::pairs).
    ///
    /// # Cost
    /// That of [`pairs`](Self::pairs), some hundred nanoseconds for each document and each pair of
    /// fingerprints that are near, and the largest distance within each cluster: n² / 2 comparisons for
    /// n different fingerprints up to 2,048, 2n beyond. With texts, some ten microseconds for each
    /// comparison of short ones, on all cores where there are many; to keep the longest, all texts of
    /// documents that have a near-duplicate are read.
    ///
    /// Memory, besides that of [`pairs`](Self::pairs), only for documents that have a near-duplicate:
    /// up to 60 bytes for each, 60 for each different fingerprint of theirs, and 24 for each pair of
    /// different fingerprints. Copies of one fingerprint are no pairs. So with 50 million documents, of
    /// which one in a hundred is planted beside another, it is 130 MB.
    ///
    /// # Source
    /// Stars: Aslam, Pelekhov, Rus, *The star clustering algorithm for static and dynamic information
    /// organization*, Journal of Graph Algorithms and Applications 8(1), 2004. There the document with
    /// most neighbours comes first, and a document may be in several stars.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use simdb::{Clustering, ClustersEvent, Database, DocId, Fingerprint, Shape};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::create(folder.path().join("docs.simdb"))?;
    /// // A chain: 1 and 3 are four bits apart.
    /// for (id, bits) in [(1, 0b0000), (2, 0b0011), (3, 0b1111), (4, u64::MAX)] {
    ///     db.insert(DocId(id), Fingerprint::from_bits(bits))?;
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
        mut visitor: impl FnMut(ClustersEvent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let keep = Priority::Keep(clustering.keep);
        let limits = QueryLimits::default();
        query::clusters(
            self.view(),
            clustering,
            keep,
            &limits,
            &self.progress,
            &mut visitor,
        )
    }

    /// Finds the clusters of [`clusters`](Self::clusters), and keeps the document with the highest
    /// `score` of each, of several the one with the smallest id. [`Clustering::keep`] is ignored.
    /// `score` is called once for each document that has a near-duplicate, in order of their ids; NaN is
    /// below all scores.
    ///
    /// # Errors
    /// Those of [`clusters`](Self::clusters).
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use simdb::{Clustering, ClustersEvent, Database, DocId, Fingerprint};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::create(folder.path().join("docs.simdb"))?;
    /// for (id, bits) in [(1, 0b0000), (2, 0b0011), (3, 0b1111)] {
    ///     db.insert(DocId(id), Fingerprint::from_bits(bits))?;
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
        mut visitor: impl FnMut(ClustersEvent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let score = Priority::Score(&mut score);
        let limits = QueryLimits::default();
        query::clusters(
            self.view(),
            clustering,
            score,
            &limits,
            &self.progress,
            &mut visitor,
        )
    }
}
