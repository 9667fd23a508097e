//! [`Transaction`]: many changes, one commit.

use std::time::SystemTime;

use rayon::prelude::*;

use crate::change::{Batch, Change, Outcome, Prepared};
use crate::document::DocId;
use crate::error::{Error, Result};
use crate::query::TextQuery;
use crate::recipe::TextFingerprint;
use crate::store::{Pace, Pen, Store, View, WriteTransaction, refuse_too_long};

/// Many changes and one commit. Dropped before [`commit`](Self::commit), nothing has happened.
///
/// ```
/// use simdb::{Change, Database, DocId, Document, Fingerprint, Outcome};
///
/// let folder = tempfile::tempdir().unwrap();
/// let db = Database::create(folder.path().join("docs.simdb"))?;
/// let mut transaction = db.begin()?;
/// for id in 0..1000 {
///     let document = Document::new(DocId(id), Fingerprint::from_bits(id << 40));
///     let outcomes = transaction.apply([Change::Insert(document)])?;
///     assert_eq!(outcomes, [Outcome::Inserted]);
/// }
/// assert_eq!(db.len()?, 0);
/// transaction.commit()?;
/// assert_eq!(db.len()?, 1000);
/// # Ok::<(), simdb::Error>(())
/// ```
pub struct Transaction<'d> {
    store: &'d Store,
    /// Nothing after an error.
    stage: Option<Stage>,
}

/// How far a transaction has come.
enum Stage {
    /// What it comes to is in memory, to be committed at once.
    Small(Box<Small>),
    /// It is being written into the tables, which nobody sees before the commit.
    Large(Box<WriteTransaction>),
}

struct Small {
    pen: Pen,
    view: View,
    batch: Batch,
}

/// A transaction that touches more documents than are merged before the end, or has longer texts,
/// goes on in the tables.
const SMALL_BYTES: usize = 64 << 20;

impl Small {
    fn is_large(&self, pace: Pace) -> bool {
        self.batch.len() > pace.merge_from() || self.batch.text_bytes() > SMALL_BYTES
    }
}

impl<'d> Transaction<'d> {
    pub(crate) fn begin(store: &'d Store) -> Result<Self> {
        let pen = store.take_pen()?;
        let small = Small {
            pen,
            view: store.read()?,
            batch: Batch::default(),
        };
        Ok(Self {
            store,
            stage: Some(Stage::Small(Box::new(small))),
        })
    }

    /// Makes changes in order, each seeing those before it, and returns what became of each.
    /// Memory is in proportion to the changes of a call, however many calls there are.
    ///
    /// # Errors
    /// Those of [`Database::apply`](crate::Database::apply). After an error the transaction must be dropped.
    pub fn apply(&mut self, changes: impl IntoIterator<Item = Change>) -> Result<Vec<Outcome>> {
        let mut stage = self.stage.take().ok_or_else(|| self.has_failed())?;
        let mut changes = changes.into_iter();
        let outcomes = match &mut stage {
            Stage::Small(small) => {
                let Small { view, batch, .. } = &mut **small;
                let mut outcomes = Vec::new();
                while let Some(part) = next_prepared(&mut changes, self.store)? {
                    batch.look_ahead(part.iter().filter(|change| change.asks_for_texts()), view);
                    batch.decide_all(&part, view, &mut outcomes)?;
                }
                outcomes
            }
            Stage::Large(tables) => {
                let mut batch = Batch::default();
                let view = self.store.view_of(tables)?;
                let mut outcomes = Vec::new();
                while let Some(part) = next_prepared(&mut changes, self.store)? {
                    batch.decide_all(&part, &view, &mut outcomes)?;
                }
                drop(view);
                tables.see_arrival(batch.latest_arrival());
                tables.apply(batch.into_edits())?;
                outcomes
            }
        };
        self.stage = Some(match stage {
            Stage::Small(small) if small.is_large(self.store.pace()) => {
                let mut tables = self.store.write_with(small.pen)?;
                tables.see_arrival(small.batch.latest_arrival());
                tables.apply(small.batch.into_edits())?;
                Stage::Large(Box::new(tables))
            }
            stage => stage,
        });
        Ok(outcomes)
    }

    /// Makes all of it durable.
    ///
    /// # Errors
    /// [`Error::TransactionFailed`] after an `apply` that failed half way;
    /// [`Error::CommitUnknown`], and [`Error::Storage`] if it is known that nothing happened.
    pub fn commit(mut self) -> Result<()> {
        match self.stage.take().ok_or_else(|| self.has_failed())? {
            Stage::Small(small) => {
                let Small { mut pen, batch, .. } = *small;
                let latest = batch.latest_arrival();
                self.store.commit(&mut pen, batch.into_edits(), latest)
            }
            Stage::Large(tables) => tables.commit().inspect_err(|_| self.store.fail(None)),
        }
    }

    fn has_failed(&self) -> Error {
        let path = self.store.path().to_path_buf();
        Error::TransactionFailed { path }
    }
}

/// Changes that are prepared at a time: made ready to be compared, a text takes a dozen times its
/// room.
const PREPARED_AT_ONCE: usize = 1024;
const PREPARED_BYTES: usize = 4 << 20;

/// The next of the changes, prepared; nothing when there are no more.
fn next_prepared(
    changes: &mut impl Iterator<Item = Change>,
    store: &Store,
) -> Result<Option<Vec<Prepared>>> {
    let (mut part, mut bytes) = (Vec::new(), 0);
    while part.len() < PREPARED_AT_ONCE
        && bytes < PREPARED_BYTES
        && let Some(mut change) = changes.next()
    {
        let text = change
            .document_mut()
            .and_then(|document| document.text.as_ref());
        bytes += text.map_or(0, String::len);
        part.push(change);
    }
    match part.is_empty() {
        true => Ok(None),
        false => prepared_all(part, store).map(Some),
    }
}

/// So many changes with texts that are compared, or kept with bands, are prepared on all cores: it
/// takes some ten microseconds each.
const PREPARED_IN_PARALLEL: usize = 16;

/// Changes as the database can take them, in their order.
pub(crate) fn prepared_all(changes: Vec<Change>, store: &Store) -> Result<Vec<Prepared>> {
    let is_work = |change: &Change| {
        store.header().bands.is_some() || matches!(change, Change::InsertUnlessSimilar { .. })
    };
    let prepare = |change| prepared(change, store);
    if changes.len() < PREPARED_IN_PARALLEL || !changes.iter().any(is_work) {
        return changes.into_iter().map(prepare).collect();
    }
    let made: Vec<_> = store.in_parallel(|| changes.into_par_iter().map(prepare).collect());
    // The first error, as if they were prepared in turn.
    made.into_iter().collect()
}

/// A change as the database can take it: with an arrival time where such times are kept, and only
/// there, and with a text where texts are kept, none that is too long, and with its band keys
/// where those are kept.
fn prepared(mut change: Change, store: &Store) -> Result<Prepared> {
    let Some(document) = change.document_mut() else {
        return Ok(Prepared::new(change, None));
    };
    document.arrival = match store.header().retention {
        Some(_) => document.arrival.or_else(|| Some(SystemTime::now().into())),
        None => None,
    };
    let text = document.text.take().filter(|_| store.header().keep_texts);
    if let Some(text) = &text {
        refuse_too_long(document.id, text)?;
    }
    let made = TextFingerprint {
        fingerprint: document.fingerprint,
        reliable: document.reliable,
    };
    let id = document.id;
    let query = match (&change, &text) {
        (Change::InsertUnlessSimilar { likeness, .. }, Some(text)) => {
            let query = TextQuery::new(store.band_maker(), text, Some(made));
            Some(query.likeness(*likeness))
        }
        (Change::InsertUnlessSimilar { .. }, None) => return Err(without_text(id, store)),
        _ => None,
    };
    let prepared = Prepared::new(change, text.map(|text| store.keyed(text)));
    Ok(match query {
        Some(query) => prepared.with_query(query),
        None => prepared,
    })
}

/// There is no text to compare with others.
fn without_text(id: DocId, store: &Store) -> Error {
    match store.header().keep_texts {
        true => Error::TextMissing { id: id.0 },
        false => Error::KeepsNoTexts {
            path: store.path().to_path_buf(),
        },
    }
}
