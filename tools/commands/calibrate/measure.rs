//! The pairs that a database finds: by fingerprints alone, with the wording check, and by bands.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use rayon::prelude::*;
use simdb::{Database, DocId, Document, Fingerprinter, Likeness, Recipe, Snapshot};

use super::corpus::{LabelledCorpus, LabelledText, PairKey, key};
use crate::console::interrupt::Interrupt;

/// The largest radius that is tried.
pub(super) const MOST_RADIUS: u32 = 16;

/// 256 MiB to load with, and for the page cache.
const MEMORY_BYTES: u64 = 256 << 20;

/// A way in which a document is found, with the distance.
enum Sighting {
    Alone(u32),
    Checked(Option<u32>),
    Similar,
}

/// Loads the documents into a temporary database, asks it for the documents of the pairs, or for all
/// documents if the corpus is closed, and notes the pairs that are found.
pub(super) fn find_pairs(
    corpus: &mut LabelledCorpus,
    recipe: &Recipe,
    likeness: Likeness,
    interrupt: &Interrupt,
) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    let path = folder.path().join("texts.simdb");
    let database = load(&path, recipe, &mut corpus.documents, interrupt)?;
    let snapshot = database.snapshot()?;
    // One document of a pair finds the other or is found by it, so one of them is asked for.
    let asked: BTreeSet<u32> = if corpus.is_closed {
        (0..corpus.documents.len() as u32).collect()
    } else {
        corpus.pairs.keys().map(|(first, _)| *first).collect()
    };
    let sightings = asked.into_par_iter().map(|index| {
        interrupt.check()?;
        let text = &corpus.documents[index as usize].text;
        let found = near(&database, &snapshot, text, likeness)?.into_iter();
        let pairs = found.map(|(id, sighting)| (key(index, id.0 as u32), sighting));
        let is_noted = |key: &PairKey| corpus.is_closed || corpus.pairs.contains_key(key);
        Ok(pairs
            .filter(|(key, _)| key.0 != key.1 && is_noted(key))
            .collect::<Vec<_>>())
    });
    for (key, sighting) in sightings.collect::<Result<Vec<_>>>()?.into_iter().flatten() {
        let pair = corpus.pair(key);
        match sighting {
            Sighting::Alone(distance) => pair.alone = Some(distance),
            Sighting::Checked(distance) => pair.checked = distance,
            Sighting::Similar => pair.similar = true,
        }
    }
    Ok(())
}

/// Loads the documents into a new database.
fn load(
    path: &Path,
    recipe: &Recipe,
    documents: &mut [LabelledText],
    interrupt: &Interrupt,
) -> Result<Database> {
    let fingerprinter = Fingerprinter::new(recipe.clone());
    let texts = documents.par_iter().map(|document| &document.text);
    let made: Vec<_> = texts.map(|text| fingerprinter.fingerprint(text)).collect();
    // A recipe with a dictionary takes memory.
    drop(fingerprinter);
    let builder = Database::builder()
        .recipe(recipe.clone())
        .cache_bytes(MEMORY_BYTES as usize)
        .similar(true);
    let mut load = builder.clone().bulk_create(path, MEMORY_BYTES)?;
    for (index, (document, made)) in documents.iter_mut().zip(made).enumerate() {
        let made = made?;
        document.reliable = made.reliable;
        load.push(Document {
            id: DocId(index as u64),
            fingerprint: made.fingerprint,
            reliable: made.reliable,
            arrival: None,
            text: Some(document.text.clone()),
        })?;
    }
    load.finish(|_| interrupt.flow())?;
    interrupt.check()?;
    Ok(builder.open_read_only(path)?)
}

/// Finds the documents that are like a text in any way.
fn near(
    database: &Database,
    snapshot: &Snapshot,
    text: &str,
    likeness: Likeness,
) -> Result<Vec<(DocId, Sighting)>> {
    let query = database.text_query(text)?.likeness(likeness);
    let mut found = Vec::new();
    if let Some(made) = query.fingerprint().filter(|made| made.reliable) {
        let alone = snapshot.within(made.fingerprint, MOST_RADIUS)?.into_iter();
        found.extend(alone.map(|near| (near.id, Sighting::Alone(near.distance))));
    }
    let similar = snapshot.similar(&query)?.into_iter();
    found.extend(similar.map(|similar| (similar.id, Sighting::Similar)));
    let checked = snapshot
        .similar(&query.without_bands().radius(MOST_RADIUS))?
        .into_iter();
    found.extend(checked.map(|checked| (checked.id, Sighting::Checked(checked.distance))));
    Ok(found)
}
