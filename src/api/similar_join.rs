//! [`Snapshot::similar_pairs`] and [`Snapshot::similar_clusters`]: all texts compared with each
//! other.

use std::ops::ControlFlow;

use crate::api::snapshot::Snapshot;
use crate::error::Result;
use crate::ids::DocId;
use crate::progress::refuse_break;
use crate::query::{self, ClustersEvent, Keep, Priority, SimilarJoin, SimilarPairsEvent};

/// The approximate times of reading the texts, of comparing them and of selecting keepers.
const STAGE_TIMES: [u64; 3] = [1, 8, 1];

impl Snapshot {
    /// Finds the pairs of documents with similar texts: those that a query for one of both texts,
    /// with the thresholds of the join, answers with the other document. The database needs texts,
    /// and no forest.
    ///
    /// `visitor` is called with the pairs as they are found. `Break` ends the call with
    /// [`Error::Interrupted`](crate::Error::Interrupted). Documents with equal texts come as one
    /// group ([`SimilarPairsEvent::Copies`]), because n copies make n² / 2 pairs.
    ///
    /// Candidates come from a [`SimilarIndex`](crate::in_memory::SimilarIndex), which says what it
    /// may miss. With [`SimilarJoin::contained_up_to`] a pair is also a text and a longer text that
    /// quotes it; its resemblance may be below the thresholds.
    ///
    /// # Errors
    /// - [`Error::KeepsNoTexts`](crate::Error::KeepsNoTexts)
    /// - [`Error::InvalidLikeness`](crate::Error::InvalidLikeness)
    /// - [`Error::InvalidContainedUpTo`](crate::Error::InvalidContainedUpTo)
    /// - [`Error::TooManyTexts`](crate::Error::TooManyTexts)
    ///
    /// # Cost
    /// Two reads of each text, and a search in the index for each distinct text, on all cores.
    /// Texts of one template are all compared with each other. Memory: 48 bytes for each document,
    /// and [`SimilarJoin::memory_bytes`].
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use simdb::containment::Verdict;
    /// use simdb::join::{SimilarJoin, SimilarPairsEvent};
    /// use simdb::Database;
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::builder().keep_texts(true).create(folder.path().join("docs.simdb"))?;
    /// for (id, text) in [
    ///     (1, "The ferry to Oban was cancelled on Friday because of the storm."),
    ///     (2, "The ferry to Oban was cancelled on Friday, because of the storm. Buses run instead."),
    ///     (3, "The ferry to Oban was not cancelled on Friday, in spite of the storm."),
    /// ] {
    ///     assert!(db.insert(db.document(id, text)?)?.is_inserted());
    /// }
    ///
    /// let mut found = Vec::new();
    /// db.snapshot()?.similar_pairs(&SimilarJoin::default(), |event| {
    ///     if let SimilarPairsEvent::Pairs(pairs) = event {
    ///         found.extend(pairs.iter().map(|pair| (pair.a.0, pair.b.0, pair.verdict)));
    ///     }
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(found, [(1, 2, Some(Verdict::AInB))]);
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn similar_pairs(
        &self,
        join: &SimilarJoin<'_>,
        mut visitor: impl FnMut(SimilarPairsEvent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        join.check()?;
        let progress = self.progress.for_operation(&STAGE_TIMES[..2]);
        let flow = query::similar_pairs(self.view(), join, self.among(), &progress, &mut visitor)?;
        refuse_break(flow, self.view().path())
    }

    /// Finds the texts that other texts cover, and the text that covers them: the *keeper* of a
    /// star. Each document is in at most one star.
    ///
    /// Texts are decided from the longest to the shortest. A text that a kept text covers joins its
    /// star; another text is kept. So the keeper covers each member directly, and no kept text is
    /// covered by a longer kept text, except with
    /// [`Decision::News`](crate::Decision::News) in a keeper that `keep` selected. With
    /// [`Decision::Alike`](crate::Decision::Alike), a member is alike to its keeper. Of the
    /// documents of a star whose texts cover all others, `keep` selects the keeper; at most eight
    /// others are tried before the longest text stays. The order of inserts makes no difference
    /// otherwise.
    ///
    /// `visitor` is called with each star, in order of their ids. The distance of a member is the
    /// distance of its fingerprint, and may be large. Unreliable documents take part: a document
    /// with too little content is a member only of a document with the same wording.
    ///
    /// # Errors
    /// As [`similar_pairs`](Self::similar_pairs). [`Error::NoArrivals`](crate::Error::NoArrivals)
    /// for [`Keep::Oldest`]. [`Error::OtherCheckpoint`](crate::Error::OtherCheckpoint) for a
    /// checkpoint ([`SimilarJoin::resume`]) of another join.
    ///
    /// # Cost
    /// Less than [`similar_pairs`](Self::similar_pairs): the search for a text ends at the first
    /// text that covers it, and removed texts are not compared.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use simdb::clusters::{ClustersEvent, Keep};
    /// use simdb::join::SimilarJoin;
    /// use simdb::Database;
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let db = Database::builder().keep_texts(true).create(folder.path().join("docs.simdb"))?;
    /// for (id, text) in [
    ///     (1, "The ferry to Oban was cancelled on Friday because of the storm."),
    ///     (2, "The ferry to Oban was cancelled on Friday, because of the storm. Buses run instead."),
    ///     (3, "The ferry to Oban was not cancelled on Friday, in spite of the storm."),
    /// ] {
    ///     assert!(db.insert(db.document(id, text)?)?.is_inserted());
    /// }
    ///
    /// let mut kept = Vec::new();
    /// db.snapshot()?.similar_clusters(&SimilarJoin::default(), Keep::First, |event| {
    ///     if let ClustersEvent::Cluster(cluster) = event {
    ///         kept.push((cluster.keeper.0, cluster.members.len()));
    ///     }
    ///     ControlFlow::Continue(())
    /// })?;
    /// // Document 1 is the first, and does not cover document 2.
    /// assert_eq!(kept, [(2, 2)]);
    /// # Ok::<(), simdb::Error>(())
    /// ```
    pub fn similar_clusters(
        &self,
        join: &SimilarJoin<'_>,
        keep: Keep,
        visitor: impl FnMut(ClustersEvent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.stars(join, Priority::Keep(keep), visitor)
    }

    /// Finds stars like [`similar_clusters`](Self::similar_clusters), and keeps the document with
    /// the highest `score` that covers all others. `score` is called once for each document of a
    /// star. NaN is the lowest score.
    ///
    /// # Errors
    /// As [`similar_clusters`](Self::similar_clusters).
    pub fn similar_clusters_by_score(
        &self,
        join: &SimilarJoin<'_>,
        mut score: impl FnMut(DocId) -> f64,
        visitor: impl FnMut(ClustersEvent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.stars(join, Priority::Score(&mut score), visitor)
    }

    fn stars(
        &self,
        join: &SimilarJoin<'_>,
        priority: Priority<'_>,
        mut visitor: impl FnMut(ClustersEvent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        join.check()?;
        let progress = self.progress.for_operation(&STAGE_TIMES);
        query::similar_clusters(
            self.view(),
            join,
            self.among(),
            priority,
            &progress,
            &mut visitor,
        )
    }
}
