//! [`Source`]: the queries that a database and a snapshot have in common.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_array::{ArrayRef, UInt8Array, UInt64Array};
use numpy::PyArray1;
use pyo3::prelude::*;
use simdb::clusters::{Clustering, ClustersEvent, Shape};
use simdb::similarity::Likeness;
use simdb::{Decision, DocId, DocRef, Fingerprint, Snapshot, TextQuery};

use crate::arguments::Scopes;
use crate::arrivals::Arrival;
use crate::error::{Failure, invalid_argument};
use crate::interruptible::{call, run};
use crate::matches::{Match, Similar};
use crate::shared_database::{HeldSnapshot, SharedDatabase};
use crate::table::Table;
use crate::texts::{Content, ContentRef, array_of, fingerprints_of, ids_of};

/// The state that a query reads.
#[derive(Clone)]
pub struct Source {
    pub shared: Arc<SharedDatabase>,
    /// `None` for the state as of each call.
    pub snapshot: Option<Arc<HeldSnapshot>>,
}

/// The documents that a search finds.
#[derive(Default)]
pub struct Subset {
    /// The documents of these scopes; `None` for all documents.
    pub scopes: Option<Scopes>,
    /// The documents that arrived then or later.
    pub since: Option<Arrival>,
}

/// The offsets of the answers, and the ids and distances of all matches.
pub type BatchAnswer = (Py<PyArray1<i64>>, Py<PyArray1<u64>>, Py<PyArray1<u8>>);

/// The thresholds and the decision of a similar search.
pub struct SimilarOptions {
    pub likeness: Likeness,
    pub decision: Decision,
}

impl SimilarOptions {
    /// The options given. `least` has the least likeness of a decision for those that are not.
    pub fn new(
        py: Python<'_>,
        edit_similarity: Option<f64>,
        jaccard: Option<f64>,
        decision: &str,
        least: fn(Decision) -> Likeness,
    ) -> PyResult<Self> {
        let decision = match decision {
            "contained" => Decision::Contained,
            "news" => Decision::News,
            "alike" => Decision::Alike,
            _ => {
                let message = format!(
                    "there is no decision '{decision}'; known are 'contained', 'news' and 'alike'"
                );
                return Err(invalid_argument(py, &message));
            }
        };
        let least = least(decision);
        Ok(Self {
            likeness: Likeness {
                edit_similarity: edit_similarity.unwrap_or(least.edit_similarity),
                jaccard: jaccard.unwrap_or(least.jaccard),
            },
            decision,
        })
    }

    fn apply(&self, query: TextQuery) -> TextQuery {
        query.likeness(self.likeness).decision(self.decision)
    }
}

impl Source {
    /// The snapshot of a call.
    pub fn get(&self) -> Result<Arc<Snapshot>, Failure> {
        match &self.snapshot {
            Some(snapshot) => snapshot.get(&self.shared),
            None => Ok(Arc::new(self.shared.database()?.snapshot()?)),
        }
    }

    /// Returns the error of [`get`](Self::get).
    pub fn refuse_closed(&self, py: Python<'_>) -> PyResult<()> {
        call(py, || self.get().map(|_| ()))
    }

    /// The snapshot of a call, whose searches are limited to some documents.
    fn limited(&self, subset: &Subset) -> Result<Arc<Snapshot>, Failure> {
        let mut snapshot = self.get()?;
        if let Some(Arrival(since)) = subset.since {
            snapshot = Arc::new(snapshot.since(since)?);
        }
        if let Some(Scopes(names)) = &subset.scopes {
            snapshot = Arc::new(snapshot.in_scopes(names)?);
        }
        Ok(snapshot)
    }

    pub fn within(
        &self,
        py: Python<'_>,
        query: &Content,
        radius: u32,
        limit: Option<usize>,
        subset: &Subset,
    ) -> PyResult<Vec<Match>> {
        let query = query.borrow();
        call(py, || {
            let snapshot = self.limited(subset)?;
            let Some(fingerprint) = self.fingerprint(query)? else {
                return Ok(Vec::new());
            };
            let limit = limit.unwrap_or(usize::MAX);
            matches_of(
                &snapshot,
                snapshot.within_limit(fingerprint, radius, limit)?,
            )
        })
    }

    pub fn nearest(
        &self,
        py: Python<'_>,
        query: &Content,
        count: usize,
        subset: &Subset,
    ) -> PyResult<Vec<Match>> {
        let query = query.borrow();
        call(py, || {
            let snapshot = self.limited(subset)?;
            let Some(fingerprint) = self.fingerprint(query)? else {
                return Ok(Vec::new());
            };
            matches_of(&snapshot, snapshot.nearest(fingerprint, count)?)
        })
    }

    /// The fingerprint of a query; `None` for a text without a reliable fingerprint.
    fn fingerprint(&self, query: ContentRef<'_>) -> Result<Option<Fingerprint>, Failure> {
        Ok(match query {
            ContentRef::Text(text) => {
                let made = self.shared.database()?.fingerprint(text)?;
                made.reliable.then_some(made.fingerprint)
            }
            ContentRef::Fingerprint(bits) => Some(Fingerprint::from_bits(bits)),
        })
    }

    pub fn similar(
        &self,
        py: Python<'_>,
        text: &str,
        options: &SimilarOptions,
        subset: &Subset,
    ) -> PyResult<Vec<Similar>> {
        call(py, || {
            let query = options.apply(self.shared.database()?.text_query(text)?);
            let snapshot = self.limited(subset)?;
            let found = snapshot.similar(&query)?.into_iter();
            found
                .map(|found| {
                    let key = snapshot.key(found.id)?;
                    Ok(Similar::of(found, key))
                })
                .collect()
        })
    }

    pub fn within_batch(
        &self,
        fingerprints: &Bound<'_, PyAny>,
        radius: u32,
        limit: Option<usize>,
        progress: Option<Py<PyAny>>,
        subset: &Subset,
    ) -> PyResult<BatchAnswer> {
        let py = fingerprints.py();
        let queries = fingerprints_of(fingerprints)?;
        let (offsets, ids, distances) = run(py, progress, || {
            let queries: Vec<_> = queries.into_iter().map(Fingerprint::from_bits).collect();
            let mut offsets = Vec::with_capacity(queries.len() + 1);
            let (mut ids, mut distances) = (Vec::new(), Vec::new());
            offsets.push(0_i64);
            let limit = limit.unwrap_or(usize::MAX);
            self.limited(subset)?
                .within_batch_with(&queries, radius, limit, |_, matches| {
                    for found in matches {
                        ids.push(found.id.0);
                        // A distance is at most 64.
                        distances.push(found.distance as u8);
                    }
                    offsets.push(ids.len() as i64);
                    ControlFlow::Continue(())
                })?;
            Ok((offsets, ids, distances))
        })?;
        Ok((
            array_of(py, offsets),
            array_of(py, ids),
            array_of(py, distances),
        ))
    }

    pub fn contains(&self, py: Python<'_>, id: DocRef) -> PyResult<bool> {
        call(py, || Ok(self.get()?.contains(id)?))
    }

    pub fn key(&self, py: Python<'_>, id: u64) -> PyResult<Option<String>> {
        call(py, || Ok(self.get()?.key(DocId(id))?))
    }

    pub fn keys(&self, ids: &Bound<'_, PyAny>) -> PyResult<Vec<Option<String>>> {
        let py = ids.py();
        let ids = ids_of(ids)?;
        run(py, None, || {
            let snapshot = self.get()?;
            let keys = ids.into_iter().map(|id| Ok(snapshot.key(DocId(id))?));
            keys.collect()
        })
    }

    pub fn id(&self, py: Python<'_>, key: &str) -> PyResult<Option<u64>> {
        let id = call(py, || Ok(self.get()?.id(key)?))?;
        Ok(id.map(|id| id.0))
    }

    pub fn len(&self, py: Python<'_>) -> PyResult<usize> {
        call(py, || Ok(self.get()?.len()? as usize))
    }

    /// The pairs within a radius; `InvalidArgumentError` if there are more than `max_pairs`.
    pub fn pairs(
        &self,
        py: Python<'_>,
        radius: u32,
        max_pairs: usize,
        progress: Option<Py<PyAny>>,
        subset: &Subset,
    ) -> PyResult<Table> {
        let (mut a, mut b, mut distance) = (Vec::new(), Vec::new(), Vec::new());
        let found = run(py, progress, || {
            let found = self.limited(subset)?.document_pairs(radius, |pair| {
                a.push(pair.a.0);
                b.push(pair.b.0);
                distance.push(pair.distance as u8);
                if a.len() > max_pairs {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
            match found {
                Err(simdb::Error::Interrupted { .. }) if a.len() > max_pairs => Ok(true),
                found => Ok(found.map(|()| false)?),
            }
        });
        if found? {
            let message = format!(
                "there are more than {max_pairs} pairs; call clusters, which takes memory for each \
                 document and not for each pair, or give a larger max_pairs"
            );
            return Err(invalid_argument(py, &message));
        }
        Table::in_memory(vec![
            ("a", column(a)),
            ("b", column(b)),
            ("distance", Arc::new(UInt8Array::from(distance))),
        ])
    }

    pub fn clusters(
        &self,
        py: Python<'_>,
        clustering: &Clustering,
        progress: Option<Py<PyAny>>,
        subset: &Subset,
    ) -> PyResult<Table> {
        let (mut cluster, mut keeper, mut id, mut distance) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        run(py, progress, || {
            self.limited(subset)?.clusters(clustering, |event| {
                if let ClustersEvent::Cluster(found) = event {
                    for member in &found.members {
                        cluster.push(found.id.0);
                        keeper.push(found.keeper.0);
                        id.push(member.id.0);
                        distance.push(member.distance as u8);
                    }
                }
                ControlFlow::Continue(())
            })?;
            Ok(())
        })?;
        Table::in_memory(vec![
            ("cluster", column(cluster)),
            ("keeper", column(keeper)),
            ("id", column(id)),
            ("distance", Arc::new(UInt8Array::from(distance))),
        ])
    }
}

/// The matches with the keys of their documents, in a database with keys.
fn matches_of(snapshot: &Snapshot, found: Vec<simdb::Match>) -> Result<Vec<Match>, Failure> {
    let found = found.into_iter();
    found
        .map(|found| Ok(Match::of(found, snapshot.key(found.id)?)))
        .collect()
}

fn column(numbers: Vec<u64>) -> ArrayRef {
    Arc::new(UInt64Array::from(numbers))
}

/// The rules of clusters from their names in Python.
pub fn clustering(
    py: Python<'_>,
    radius: u32,
    shape: &str,
    keep: &str,
    compare_texts: bool,
) -> PyResult<Clustering> {
    Ok(Clustering {
        radius,
        shape: match shape {
            "star" => Shape::Star,
            "connected" => Shape::Connected {
                most_documents: MAX_CONNECTED,
            },
            _ => {
                let message =
                    format!("there is no shape '{shape}'; known are 'star' and 'connected'");
                return Err(invalid_argument(py, &message));
            }
        },
        keep: call(py, || Ok(keep.parse()?))?,
        likeness: compare_texts.then(Likeness::default),
        decision: Decision::default(),
    })
}

/// A connected component of more documents is split into stars, as in the command line.
const MAX_CONNECTED: u64 = 1000;
