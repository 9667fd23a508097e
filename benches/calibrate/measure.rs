//! The pairs that a database finds: by fingerprints alone, with the wording check, by similar
//! search.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Context, Result};
use rayon::prelude::*;
use simdb::{Database, Decision, DocId, Document, Fingerprinter, Recipe, Snapshot};

use super::corpus::{LabelledCorpus, LabelledText, PairKey, key};

/// Radii from 0 to 16 are tried: larger radii find too many unrelated texts.
pub const MAX_RADIUS: u32 = 16;

/// 256 MiB for sorting, and 256 MiB of page cache.
const MEMORY_BYTES: u64 = 256 << 20;

/// The way in which a document is found, with the distance.
enum Sighting {
    Alone(u32),
    Checked(Option<u32>),
    Similar,
}

/// Loads the documents into a temporary database, and marks the pairs that its queries find. A
/// closed corpus is queried for all documents, otherwise for one document of each pair.
pub fn find_pairs(corpus: &mut LabelledCorpus, recipe: &Recipe, decision: Decision) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    let path = folder.path().join("texts.simdb");
    let database = load(&path, recipe, &mut corpus.documents)?;
    let snapshot = database.snapshot()?;
    // Near-duplication is symmetric, so one query per pair is enough.
    let asked: BTreeSet<u32> = if corpus.is_closed {
        (0..corpus.documents.len() as u32).collect()
    } else {
        corpus.pairs.keys().map(|(first, _)| *first).collect()
    };
    let sightings = asked.into_par_iter().map(|index| {
        let text = &corpus.documents[index as usize].text;
        let found = near(&database, &snapshot, text, decision)?.into_iter();
        let pairs = found.map(|(id, sighting)| (key(index, id.0 as u32), sighting));
        let is_counted = |key: &PairKey| corpus.is_closed || corpus.pairs.contains_key(key);
        let pairs = pairs.filter(|(key, _)| key.0 != key.1 && is_counted(key));
        Ok(pairs.collect::<Vec<_>>())
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

fn load(path: &Path, recipe: &Recipe, documents: &mut [LabelledText]) -> Result<Database> {
    let fingerprinter = Fingerprinter::new(recipe.clone());
    let texts = documents.par_iter().map(|document| &document.text);
    let made: Vec<_> = texts.map(|text| fingerprinter.fingerprint(text)).collect();
    // Frees the dictionary of the recipe before the load.
    drop(fingerprinter);
    let builder = Database::builder()
        .recipe(recipe.clone())
        .cache_bytes(MEMORY_BYTES as usize)
        .similar(true);
    let mut load = builder.clone().bulk_create(path, MEMORY_BYTES)?;
    for ((id, document), made) in (0..).map(DocId).zip(documents).zip(made) {
        let made = made?;
        document.reliable = made.reliable;
        load.push(Document {
            reliable: made.reliable,
            text: Some(document.text.clone()),
            ..Document::new(id, made.fingerprint)
        })?;
    }
    load.finish(|_| ControlFlow::Continue(()))?;
    Ok(builder.open_read_only(path)?)
}

/// Finds the documents near a text in each way.
fn near(
    database: &Database,
    snapshot: &Snapshot,
    text: &str,
    decision: Decision,
) -> Result<Vec<(DocId, Sighting)>> {
    let query = database.text_query(text)?.decision(decision);
    let mut found = Vec::new();
    if let Some(made) = query.fingerprint().filter(|made| made.reliable) {
        let alone = snapshot.within(made.fingerprint, MAX_RADIUS)?.into_iter();
        found.extend(alone.map(|near| (near.id, Sighting::Alone(near.distance))));
    }
    let similar = snapshot.similar(&query)?.into_iter();
    found.extend(similar.map(|similar| (similar.id, Sighting::Similar)));
    let query = query.without_forest().radius(MAX_RADIUS);
    let checked = snapshot.similar(&query)?.into_iter();
    found.extend(checked.map(|checked| (checked.id, Sighting::Checked(checked.distance))));
    Ok(found)
}
