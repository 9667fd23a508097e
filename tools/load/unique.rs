//! Loading one document after another, leaving out what is nearly there already.
//!
//! Everything is one transaction. A new database is built under a temporary name beside its own,
//! which it gets when it is whole.

use std::path::Path;

use anyhow::{Context, Result};
use simdb::{Change, Database, DocId, Error, Fingerprint, Outcome, Settings, Transaction};
use tempfile::TempPath;

use super::duplicates::{Duplicate, Duplicates};
use super::options::Options;
use super::{Load, Target, builder_of};
use crate::console::duplicate::DuplicateOf;
use crate::console::files::{folder_of, persist_new};
use crate::corpus::pipeline::Entry;
use crate::corpus::{bulk, half_of};
use crate::formats::Reject;
use crate::options::Rule;

/// The most documents applied at a time; an interruption waits for no more.
const APPLY_DOCUMENTS: usize = 1 << 18;

/// What a document with bands takes beside its text while it is applied: its keys, those by which
/// others of the same batch find it, and their changes in the table.
const SIMILAR_BYTES: usize = 8 << 10;

/// What temporary folders are called, so that whoever finds one after a power cut knows.
const TEMPORARY_PREFIX: &str = ".simdb-load-";

/// Loads what comes out of the pipeline, unless it is a duplicate of what is there.
pub fn load(target: Target, options: &Options, rule: Rule, load: &mut Load) -> Result<Duplicates> {
    let mut duplicates = Duplicates::new(options)?;
    let outcome = match target {
        Target::Existing(database) => apply_all(&database, options, rule, load, &mut duplicates),
        Target::New(settings) => create(&settings, options, rule, load, &mut duplicates),
    };
    outcome.map(|()| duplicates)
}

/// Builds a new database in a temporary folder and gives it its name.
fn create(
    settings: &Settings,
    options: &Options,
    rule: Rule,
    load: &mut Load,
    duplicates: &mut Duplicates,
) -> Result<()> {
    let target = &options.database;
    let folder = folder_of(target);
    let temporary = tempfile::Builder::new()
        .prefix(TEMPORARY_PREFIX)
        .tempdir_in(folder)
        .with_context(|| format!("cannot create a folder in {}", folder.display()))?;
    let path = temporary.path().join("new.simdb");
    // What is frozen cannot be added to, so that comes last.
    let growing = Settings {
        frozen: false,
        ..settings.clone()
    };
    let database = builder_of(&growing, options.memory)
        .create(&path)
        .map_err(|error| not_created(error.into(), target))?;
    apply_all(&database, options, rule, load, duplicates)
        .map_err(|error| not_created(error, target))?;
    if settings.frozen {
        return freeze(&database, settings, options, load);
    }
    // What was committed may be in the journal still, which is no part of the file.
    database
        .close()
        .map_err(|error| not_created(error.into(), target))?;
    TempPath::try_from_path(path)
        .and_then(|temporary| persist_new(temporary, target))
        .with_context(|| {
            format!(
                "cannot put the new database in place as {}",
                target.display()
            )
        })
}

/// Copies a database into a new one that is packed as tightly as can be.
fn freeze(
    database: &Database,
    settings: &Settings,
    options: &Options,
    load: &mut Load,
) -> Result<()> {
    let mut bulk = builder_of(settings, options.memory)
        .bulk_create(&options.database, half_of(options.memory))?;
    load.start_writing();
    for document in database.snapshot()?.documents() {
        bulk.push(document?)?;
        load.interrupt.check()?;
    }
    bulk::write(bulk, &load.bar, &load.interrupt, |_, id, _| {
        unreachable!("document {id} is there once")
    })
    .map(drop)
}

/// What went wrong with the file under its temporary name, said of the name it would have got:
/// whatever became of the one, the other is not there.
fn not_created(error: anyhow::Error, target: &Path) -> anyhow::Error {
    let cause = match error.downcast::<Error>() {
        Ok(Error::CommitUnknown { source, .. } | Error::Storage { source, .. }) => {
            anyhow::Error::from_boxed(source)
        }
        Ok(Error::Io { source, .. }) => source.into(),
        Ok(error) => return error.into(),
        Err(error) => return error,
    };
    cause.context(format!(
        "{} was not created; mend the cause and load again",
        target.display()
    ))
}

/// Applies all documents in one transaction.
fn apply_all(
    database: &Database,
    options: &Options,
    rule: Rule,
    load: &mut Load,
    duplicates: &mut Duplicates,
) -> Result<()> {
    let keep_texts = database.settings().keep_texts;
    let most_bytes = half_of(options.memory) / 2;
    let mut transaction = database.begin()?;
    let mut waiting = Waiting::default();
    while let Some(batch) = load.next()? {
        for entry in batch.records {
            load.ledger.counts.read += 1;
            match entry {
                Entry::Reject(reject) => load.ledger.reject(batch.input, &reject)?,
                Entry::Document(number, document) => {
                    let id = document.id;
                    let mut document = match rule.refuse_without_text(document) {
                        Ok(document) => document,
                        Err(reason) => {
                            let id = Some(id);
                            load.ledger
                                .reject(batch.input, &Reject { number, id, reason })?;
                            continue;
                        }
                    };
                    load.ledger.counts.unreliable += u64::from(!document.reliable);
                    let text = duplicates.text_of(&mut document, keep_texts);
                    waiting.push(
                        Arrived {
                            input: batch.input,
                            number,
                            id: document.id,
                            fingerprint: document.fingerprint,
                            text,
                        },
                        rule.change(document),
                    );
                }
            }
            if waiting.is_full(most_bytes) {
                waiting.apply(&mut transaction, load, duplicates)?;
                load.interrupt.check()?;
            }
        }
    }
    waiting.apply(&mut transaction, load, duplicates)?;
    load.interrupt.check()?;
    load.start_writing();
    Ok(transaction.commit()?)
}

/// Documents that wait to be applied.
#[derive(Default)]
struct Waiting {
    arrived: Vec<Arrived>,
    changes: Vec<Change>,
    bytes: u64,
}

/// What must be known of a document when it is a duplicate.
struct Arrived {
    input: usize,
    number: u64,
    id: DocId,
    fingerprint: Fingerprint,
    text: Option<String>,
}

impl Waiting {
    fn push(&mut self, arrived: Arrived, change: Change) {
        let kept = match &change {
            Change::InsertUnique { document, .. } => document.text.as_ref().map_or(0, String::len),
            Change::InsertUnlessSimilar { document, .. } => {
                document.text.as_ref().map_or(0, String::len) + SIMILAR_BYTES
            }
            _ => 0,
        };
        let shown = arrived.text.as_ref().map_or(0, String::len);
        self.bytes += (kept + shown + size_of::<Arrived>() + size_of::<Change>()) as u64;
        self.arrived.push(arrived);
        self.changes.push(change);
    }

    fn is_full(&self, most_bytes: u64) -> bool {
        self.changes.len() >= APPLY_DOCUMENTS || self.bytes >= most_bytes
    }

    /// Applies what waits, and notes what became of each.
    fn apply(
        &mut self,
        transaction: &mut Transaction<'_>,
        load: &mut Load,
        duplicates: &mut Duplicates,
    ) -> Result<()> {
        self.bytes = 0;
        let outcomes = transaction.apply(self.changes.drain(..))?;
        for (arrived, outcome) in self.arrived.drain(..).zip(outcomes) {
            let Arrived {
                input,
                number,
                id,
                fingerprint,
                text,
            } = arrived;
            match outcome {
                Outcome::Exists { stored } if stored == fingerprint => {
                    load.ledger.counts.present += 1;
                }
                Outcome::Exists { stored } => load.ledger.conflict(input, number, id, stored)?,
                outcome => match DuplicateOf::in_outcome(&outcome) {
                    Some(of) => {
                        load.ledger.counts.duplicates += 1;
                        let duplicate = Duplicate {
                            id,
                            fingerprint,
                            of,
                            text,
                        };
                        duplicates.push(duplicate, &load.ledger.inputs[input], number)?;
                    }
                    None => load.ledger.counts.inserted += 1,
                },
            }
        }
        Ok(())
    }
}
