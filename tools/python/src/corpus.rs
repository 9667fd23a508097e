//! The near-duplicates among all texts of a data set, as `simdb-cli dedup` finds them: the texts
//! are loaded into a temporary database, and compared there.

use std::ops::ControlFlow;
use std::path::PathBuf;

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use rayon::prelude::*;
use simdb::clusters::{ClustersEvent, Keep};
use simdb::containment::{Containment, Verdict};
use simdb::join::SimilarJoin;
use simdb::{Database, Decision, DocId, Document, Fingerprint, Snapshot};

use crate::arguments::memory_bytes_of;
use crate::comparison::{NORMALISER, is_compared};
use crate::deduplicator::Removal;
use crate::error::Failure;
use crate::interruptible::{check, pool, run};
use crate::matches::words;
use crate::records::{FieldNames, Record, Records};
use crate::settings::builder_of;
use crate::source::SimilarOptions;
use crate::texts::{ContentRef, copied};

/// Loads texts, an iterable of (position, text), into a new database. Empty texts are left out:
/// they are near-duplicates of no text.
#[pyfunction]
pub fn load_texts(
    py: Python<'_>,
    path: PathBuf,
    texts: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = memory_bytes_of)] memory_bytes: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<()> {
    let names = FieldNames {
        text: vec![String::new()],
        ..FieldNames::default()
    };
    let records = Records::new(texts, names)?;
    run(py, progress, || {
        let builder = builder_of(None, None).keep_texts(true);
        let mut load = builder.bulk_create(&path, memory_bytes / 2)?;
        let pool = pool();
        records.for_each_part(&mut |part| {
            let document = |record: &Record<'_>| match record.content {
                ContentRef::Text(text) if is_compared(text) => {
                    Some(Document::new(record.id, key(record.id)).with_text(text))
                }
                _ => None,
            };
            let documents: Vec<Option<Document>> =
                pool.install(|| part.par_iter().with_min_len(16).map(document).collect());
            for document in documents.into_iter().flatten() {
                load.push(document)?;
            }
            Ok(())
        })?;
        load.finish(|_conflict| ControlFlow::Continue(()))?;
        Ok(())
    })
}

/// With less memory, texts would be compared in many small parts.
const LEAST_MEMORY_BYTES: u64 = 64 << 20;

/// A stored fingerprint that no comparison of texts reads. Different keys keep the tables of
/// fingerprints even; the multiplier is odd, so that no two positions have one key.
fn key(position: u64) -> Fingerprint {
    Fingerprint::from_bits(position.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// The removed texts of a database of [`load_texts`], in order of their positions. keep is "first",
/// "longest", "cleanest", or the scores of all positions.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub fn find_removals(
    py: Python<'_>,
    path: PathBuf,
    keep: KeepArgument<'_>,
    edit_similarity: Option<f64>,
    jaccard: Option<f64>,
    decision: &str,
    #[pyo3(from_py_with = memory_bytes_of)] memory_bytes: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Removal>> {
    let least = Decision::join_likeness;
    let options = SimilarOptions::new(py, edit_similarity, jaccard, decision, least)?;
    let keep = match keep {
        KeepArgument::Rule(name) => Rule::Keep(run(py, None, || Ok(name.parse::<Keep>()?))?),
        KeepArgument::Scores(scores) => Rule::Scores(copied(&scores)?),
    };
    run(py, progress, || {
        let memory = usize::try_from(memory_bytes.max(LEAST_MEMORY_BYTES)).unwrap_or(usize::MAX);
        let builder = builder_of(None, None).keep_texts(true);
        let database = builder.cache_bytes(memory / 4).open_read_only(&path)?;
        let mut join = SimilarJoin::default();
        join.likeness = Some(options.likeness);
        join.decision = options.decision;
        join.memory_bytes = memory / 2;
        removals(&database, &join, &keep)
    })
}

/// The rule for the text to keep, as Python gives it.
#[derive(FromPyObject)]
pub enum KeepArgument<'py> {
    Rule(String),
    Scores(PyReadonlyArray1<'py, f64>),
}

enum Rule {
    Keep(Keep),
    /// The scores by position; the text with the highest score is kept.
    Scores(Vec<f64>),
}

fn removals(
    database: &Database,
    join: &SimilarJoin<'_>,
    keep: &Rule,
) -> Result<Vec<Removal>, Failure> {
    let snapshot = database.snapshot()?;
    // Removed texts and their keepers.
    let mut found: Vec<[u64; 2]> = Vec::new();
    let visitor = |event: ClustersEvent<'_>| {
        if let ClustersEvent::Cluster(cluster) = event {
            let ids = cluster.members.iter().map(|member| member.id);
            let removed = ids.filter(|id| *id != cluster.keeper);
            found.extend(removed.map(|id| [id.0, cluster.keeper.0]));
        }
        ControlFlow::Continue(())
    };
    match keep {
        Rule::Keep(keep) => snapshot.similar_clusters(join, *keep, visitor)?,
        Rule::Scores(scores) => {
            let score = |id: DocId| scores.get(id.0 as usize).copied().unwrap_or(f64::NAN);
            snapshot.similar_clusters_by_score(join, score, visitor)?;
        }
    }
    found.sort_unstable();

    let mut removals = Vec::with_capacity(found.len());
    for part in found.chunks(PAIRS_PER_PART) {
        check(
            "explaining",
            removals.len() as u64,
            Some(found.len() as u64),
        )?;
        let explain =
            |[removed, keeper]: &[u64; 2]| removal(&snapshot, *removed, *keeper, join.decision);
        let part: Result<Vec<_>, Failure> =
            pool().install(|| part.par_iter().map(explain).collect());
        removals.extend(part?);
    }
    check("explaining", found.len() as u64, Some(found.len() as u64))?;
    Ok(removals)
}

/// Pairs between two checks for signals.
const PAIRS_PER_PART: usize = 1024;

fn removal(
    snapshot: &Snapshot,
    removed: u64,
    keeper: u64,
    decision: Decision,
) -> Result<Removal, Failure> {
    let text = |position: u64| -> Result<String, Failure> {
        let document = snapshot.get(DocId(position))?;
        Ok(document
            .and_then(|document| document.text)
            .unwrap_or_default())
    };
    let (containment, resemblance) = Containment::with_resemblance(
        &NORMALISER,
        decision.weights(),
        &text(removed)?,
        &text(keeper)?,
    );
    let (verdict, missing) = match decision {
        Decision::Alike => (None, Vec::new()),
        _ => (
            Some(Verdict::name(containment.verdict)),
            words(containment.missing_in_b),
        ),
    };
    let (edit_similarity, jaccard) = (resemblance.edit_similarity, resemblance.jaccard);
    Ok((removed, keeper, verdict, missing, edit_similarity, jaccard))
}
