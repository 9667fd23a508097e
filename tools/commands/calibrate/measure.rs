//! What a database finds of the pairs: fingerprints alone, with the wording check, and by bands.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Context, Result};
use rayon::prelude::*;
use simdb::{
    Database, DocId, Document, Fingerprinter, Likeness, Recipe, Snapshot, TextFingerprint,
};

use super::corpus::{Corpus, Doc, Key, key};
use crate::console::interrupt::Interrupt;

/// The largest radius that is tried.
pub(super) const MOST_RADIUS: u32 = 16;

/// Memory for a load, and for the cache of a database.
const MEMORY_BYTES: u64 = 256 << 20;

/// How a pair is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// The least radius at which fingerprints alone find it.
    pub alone: Option<u32>,
    /// The least radius at which fingerprints find it and the wording is enough.
    pub checked: Option<u32>,
    /// Whether similar search finds it, by bands and fingerprints, and the wording is enough.
    pub similar: bool,
}

/// What is found.
pub(super) struct Measured {
    /// The fingerprint of each document.
    pub made: Vec<TextFingerprint>,
    /// How each listed pair is found, in order.
    pub listed: Vec<Found>,
    /// Pairs that are found and not listed, if the corpus is closed.
    pub unlisted: Vec<(Key, Found)>,
}

/// Loads the documents into databases of their own, and asks these for each document of a pair.
pub(super) fn measure(
    corpus: &Corpus,
    recipe: &Recipe,
    likeness: Likeness,
    interrupt: &Interrupt,
) -> Result<Measured> {
    let fingerprinter = Fingerprinter::new(recipe.clone());
    let documents = &corpus.documents;
    let made = fingerprints(&fingerprinter, documents)?;
    // A recipe with a dictionary takes memory.
    drop(fingerprinter);
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    let mut notes = Notes::of(corpus);

    let path = folder.path().join("texts.simdb");
    let plain = database(&path, recipe, documents, &made, false)?;
    interrupt.check()?;
    let snapshot = plain.snapshot()?;
    alone(&snapshot, &made, &mut notes, interrupt)?;
    let radius = Some(MOST_RADIUS);
    ask(
        &plain,
        documents,
        likeness,
        radius,
        &mut notes,
        interrupt,
        |found, distance| {
            found.checked = distance;
        },
    )?;
    drop((snapshot, plain));

    let path = folder.path().join("bands.simdb");
    let banded = database(&path, recipe, documents, &made, true)?;
    interrupt.check()?;
    ask(
        &banded,
        documents,
        likeness,
        None,
        &mut notes,
        interrupt,
        |found, _| found.similar = true,
    )?;
    Ok(notes.into_measured(corpus, made))
}

fn fingerprints(
    fingerprinter: &Fingerprinter,
    documents: &[Doc],
) -> simdb::Result<Vec<TextFingerprint>> {
    let documents = documents.par_iter();
    documents
        .map(|document| fingerprinter.fingerprint(&document.text))
        .collect()
}

/// A database of the documents in a new file.
fn database(
    path: &Path,
    recipe: &Recipe,
    documents: &[Doc],
    made: &[TextFingerprint],
    similar: bool,
) -> Result<Database> {
    let builder = Database::builder()
        .recipe(recipe.clone())
        .cache_bytes(MEMORY_BYTES as usize)
        .keep_texts(true)
        .similar(similar);
    let mut load = builder.clone().bulk_create(path, MEMORY_BYTES)?;
    for (place, (document, made)) in documents.iter().zip(made).enumerate() {
        load.push(Document {
            id: DocId(place as u64),
            fingerprint: made.fingerprint,
            reliable: made.reliable,
            arrival: None,
            text: Some(document.text.clone()),
        })?;
    }
    load.finish(|_| ControlFlow::Continue(()))?;
    Ok(builder.open_read_only(path)?)
}

/// What is noted of pairs: of those that are listed, or of all if the corpus is closed.
struct Notes {
    found: HashMap<Key, Found>,
    /// The documents that are asked for.
    asked: Vec<u32>,
    takes_all: bool,
}

impl Notes {
    fn of(corpus: &Corpus) -> Self {
        let takes_all = corpus.closed.is_some();
        let keys = corpus.pairs.iter().map(|pair| pair.key);
        // Whether one finds the other or the other the one is the same, so one of them is asked for.
        let mut asked: Vec<u32> = match takes_all {
            true => (0..corpus.documents.len() as u32).collect(),
            false => keys.clone().map(|(first, _)| first).collect(),
        };
        asked.sort_unstable();
        asked.dedup();
        Self {
            found: keys.map(|key| (key, Found::default())).collect(),
            asked,
            takes_all,
        }
    }

    fn takes(&self, key: Key) -> bool {
        key.0 != key.1 && (self.takes_all || self.found.contains_key(&key))
    }

    fn into_measured(mut self, corpus: &Corpus, made: Vec<TextFingerprint>) -> Measured {
        let listed = corpus.pairs.iter();
        let listed = listed.map(|pair| self.found.remove(&pair.key).unwrap_or_default());
        Measured {
            made,
            listed: listed.collect(),
            unlisted: self.found.into_iter().collect(),
        }
    }
}

/// Notes what lies within the largest radius.
fn alone(
    snapshot: &Snapshot,
    made: &[TextFingerprint],
    notes: &mut Notes,
    interrupt: &Interrupt,
) -> Result<()> {
    let asked = notes.asked.iter().copied();
    let asked: Vec<_> = asked
        .filter(|place| made[*place as usize].reliable)
        .collect();
    let queries = asked.iter().map(|place| made[*place as usize].fingerprint);
    let queries: Vec<_> = queries.collect();
    let visit = |number: usize, matches: Vec<simdb::Match>| {
        for near in matches {
            let key = key(asked[number], near.id.0 as u32);
            if notes.takes(key) {
                notes.found.entry(key).or_default().alone = Some(near.distance);
            }
        }
        interrupt.flow()
    };
    snapshot.within_batch_with(&queries, MOST_RADIUS, usize::MAX, visit)?;
    interrupt.check()
}

/// Notes what is similar to each of the documents, on all cores.
fn ask(
    database: &Database,
    documents: &[Doc],
    likeness: Likeness,
    radius: Option<u32>,
    notes: &mut Notes,
    interrupt: &Interrupt,
    set: impl Fn(&mut Found, Option<u32>),
) -> Result<()> {
    let snapshot = database.snapshot()?;
    let one = |place: &u32| -> Result<Vec<(Key, Option<u32>)>> {
        interrupt.check()?;
        let query = database.text_query(&documents[*place as usize].text)?;
        let query = query.likeness(likeness);
        let query = match radius {
            Some(radius) => query.radius(radius),
            None => query,
        };
        let found = snapshot.similar(&query)?.into_iter();
        let found = found.map(|found| (key(*place, found.id.0 as u32), found.distance));
        Ok(found.filter(|(key, _)| notes.takes(*key)).collect())
    };
    let found: Result<Vec<_>> = notes.asked.par_iter().map(one).collect();
    for (key, distance) in found?.into_iter().flatten() {
        set(notes.found.entry(key).or_default(), distance);
    }
    Ok(())
}
