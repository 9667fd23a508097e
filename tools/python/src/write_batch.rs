//! Changes: their rules, their documents, and the class `WriteBatch`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rayon::prelude::*;
use simdb::{Change, DocRef, OnExtended, SimilarRule};

use crate::arguments::{Fields, doc_ref_of};
use crate::arrivals::Arrival;
use crate::error::Failure;
use crate::fingerprinter::part_length;
use crate::interruptible::{call, check, pool};
use crate::outcome::Outcome;
use crate::source::{SimilarOptions, Source};
use crate::texts::{Content, ContentRef};

/// The parts of a document to be stored.
pub struct Parts {
    pub content: Content,
    pub arrival: Option<Arrival>,
    pub fields: Option<Fields>,
    pub scope: Option<String>,
}

/// The rule by which a document is stored.
#[derive(Clone, Copy)]
pub enum Rule {
    Insert,
    Upsert,
    InsertUnique { radius: u32 },
    InsertUnlessSimilar(SimilarRule),
}

impl Rule {
    /// The rule of `insert_unless_similar`. `replace` removes the documents that the new text
    /// covers.
    pub fn unless_similar(options: &SimilarOptions, replace: bool) -> Self {
        Self::InsertUnlessSimilar(SimilarRule {
            decision: options.decision,
            likeness: options.likeness,
            on_extended: if replace {
                OnExtended::Replace
            } else {
                OnExtended::KeepBoth
            },
        })
    }

    /// The change that stores a document by this rule.
    pub fn change(
        self,
        database: &simdb::Database,
        id: DocRef,
        parts: &Parts,
    ) -> Result<Change, Failure> {
        refuse_dropped(database, parts.fields.is_some(), parts.arrival.is_some())?;
        let mut document = match parts.content.borrow() {
            ContentRef::Text(text) => database.document(id, text)?,
            ContentRef::Fingerprint(bits) => {
                simdb::Document::new(id, simdb::Fingerprint::from_bits(bits))
            }
        };
        document.arrival = parts.arrival.map(|Arrival(arrival)| arrival);
        document.fields = parts.fields.as_ref().map(|Fields(fields)| fields.clone());
        document.scope = parts.scope.clone();
        Ok(match self {
            Self::Insert => Change::Insert(document),
            Self::Upsert => Change::Upsert(document),
            Self::InsertUnique { radius } => Change::InsertUnique { document, radius },
            Self::InsertUnlessSimilar(rule) => Change::InsertUnlessSimilar { document, rule },
        })
    }
}

/// Refuses the parts of a document that the library drops, because the database does not keep them.
pub fn refuse_dropped(
    database: &simdb::Database,
    has_fields: bool,
    has_arrival: bool,
) -> Result<(), Failure> {
    let settings = database.settings();
    // A copy is recorded with its arrival.
    let keeps_arrivals = settings.retention.is_some() || settings.copies.is_some();
    let (dropped, setting) = match (has_fields, has_arrival) {
        (true, _) if !settings.fields => ("fields", "fields=True"),
        (_, true) if !keeps_arrivals => ("arrival times", "retention=timedelta(...)"),
        _ => return Ok(()),
    };
    Err(Failure::InvalidArgument(format!(
        "{} keeps no {dropped}; leave them out, or create another database with {setting}",
        database.path().display()
    )))
}

/// Changes that are written together, in order, in one commit: all of them or none.
///
/// Database.write_batch makes one. Each method adds a change, for which earlier changes of the
/// batch count as stored. Changes are gathered in memory, and written at the end of the with
/// statement; an exception in the block discards them. outcomes then has the outcome of each
/// change. If the write fails, the batch still has its changes, and another with statement tries
/// again.
/// The fingerprints are made on all cores, and the batch is synced once, so that a batch is many
/// times as fast as single changes of one thread.
#[pyclass(frozen, module = "simdb")]
pub struct WriteBatch {
    database: Source,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    changes: Vec<Gathered>,
    outcomes: Vec<Outcome>,
}

/// A change that is not written yet.
enum Gathered {
    Store {
        rule: Rule,
        id: DocRef,
        parts: Parts,
    },
    Remove(DocRef),
}

impl Gathered {
    fn change(&self, database: &simdb::Database) -> Result<Change, Failure> {
        match self {
            Self::Store { rule, id, parts } => rule.change(database, id.clone(), parts),
            Self::Remove(id) => Ok(Change::remove(id.clone())),
        }
    }

    /// The bytes of the text.
    fn len_bytes(&self) -> usize {
        match self {
            Self::Store { parts, .. } => parts.content.borrow().len_bytes(),
            Self::Remove(_) => 0,
        }
    }
}

impl WriteBatch {
    pub fn new(database: Source) -> Self {
        Self {
            database,
            state: Mutex::default(),
        }
    }

    /// The lock is held for moments only, never while Python code runs.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn store(&self, py: Python<'_>, rule: Rule, id: DocRef, parts: Parts) -> PyResult<()> {
        self.gather(py, Gathered::Store { rule, id, parts })
    }

    fn gather(&self, py: Python<'_>, change: Gathered) -> PyResult<()> {
        self.database.refuse_closed(py)?;
        self.state().changes.push(change);
        Ok(())
    }
}

#[pymethods]
impl WriteBatch {
    /// Adds the removal of a document.
    fn remove(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = doc_ref_of)] id: DocRef,
    ) -> PyResult<()> {
        self.gather(py, Gathered::Remove(id))
    }

    /// The number of changes that are not written yet.
    fn __len__(&self) -> usize {
        self.state().changes.len()
    }

    /// A batch is true even if it is empty.
    fn __bool__(&self) -> bool {
        true
    }

    /// The outcomes of the changes that were written last, in their order.
    #[getter]
    fn outcomes(&self) -> Vec<Outcome> {
        self.state().outcomes.clone()
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*exception))]
    fn __exit__(&self, py: Python<'_>, exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        let mut state = self.state();
        let mut changes = std::mem::take(&mut state.changes);
        state.outcomes.clear();
        drop(state);
        if exception.iter().any(|part| !part.is_none()) {
            return Ok(());
        }
        let written = call(py, || {
            let database = self.database.shared.database()?;
            let (mut made, mut rest) = (Vec::with_capacity(changes.len()), &changes[..]);
            while !rest.is_empty() {
                check(
                    "fingerprinting",
                    made.len() as u64,
                    Some(changes.len() as u64),
                )?;
                let (part, others) =
                    rest.split_at(part_length(rest.iter().map(Gathered::len_bytes)));
                rest = others;
                let part: Result<Vec<Change>, Failure> = pool().install(|| {
                    let documents = part.par_iter().with_min_len(16);
                    documents.map(|change| change.change(database)).collect()
                });
                made.extend(part?);
            }
            // From here on, a signal is handled when all is written, and the outcomes are known.
            let outcomes = database.apply(made)?.into_iter();
            let named = outcomes.map(|outcome| Outcome::named(database, outcome));
            Ok::<_, Failure>(named.collect())
        });
        let mut state = self.state();
        match written {
            Ok(outcomes) => state.outcomes = outcomes,
            Err(error) => {
                // For another try, before the changes that another thread gathered meanwhile.
                changes.append(&mut state.changes);
                state.changes = changes;
                return Err(error);
            }
        }
        Ok(())
    }

    fn __repr__(&self) -> String {
        format!("<simdb.WriteBatch of {} changes>", self.__len__())
    }
}
