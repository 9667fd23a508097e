//! Learns the frames of texts: the lines and sentences at their ends that many texts have.

use std::sync::Arc;

use anyhow::Result;
use rayon::prelude::*;
use simdb::Database;
use simdb::frames::{FrameCounter, FrameLearner, Frames, TextEnds};

use super::records::InputRecords;
use crate::formats::Item;

/// Texts that are cut into lines and sentences at a time, on all cores: 4 MiB, and one more text.
const BATCH_BYTES: usize = 4 << 20;

/// Learns the frames of the documents of each group; of all documents and the texts of a database,
/// if they have no groups. Calls `visit` with the index of the input and each record.
pub fn learn_frames(
    in_documents: u64,
    database: Option<&Database>,
    records: &InputRecords<'_>,
    mut visit: impl FnMut(usize, &Item) -> Result<()>,
) -> Result<Frames> {
    let mut counter = FrameCounter::new(in_documents);
    if let Some(database) = database {
        count_stored(&mut counter, database)?;
    }
    let (mut batch, mut batch_bytes) = (Vec::new(), 0);
    records.for_each("counting", |input, item| {
        visit(input, &item)?;
        let Item::Record(record) = item else {
            return Ok(());
        };
        let group = record.content.group().unwrap_or_default();
        if let Some(text) = record.content.text {
            batch_bytes += text.len();
            batch.push((group, text));
        }
        if batch_bytes >= BATCH_BYTES {
            batch_bytes = 0;
            push_all(std::mem::take(&mut batch), &mut counter);
        }
        Ok(())
    })?;
    push_all(batch, &mut counter);
    Ok(counter.frames())
}

/// The frames of a database that does not keep them, learned from its texts and from texts that
/// arrive.
pub struct StreamFrames(FrameLearner);

impl StreamFrames {
    /// Counts the lines of all stored texts, and sets the frames of the database.
    pub fn new(in_documents: u64, database: &Database) -> Result<Self> {
        let mut frames = Self(FrameLearner::new(in_documents));
        each_stored_texts(database, |texts| frames.learn(texts, database))?;
        Ok(frames)
    }

    /// Counts the lines of new texts, and sets the frames of the database if they are others.
    pub fn learn(&mut self, texts: Vec<String>, database: &Database) -> Result<()> {
        let before = Arc::clone(self.0.frames());
        self.0
            .learn(ends(texts.into_iter().map(|text| (0, text)).collect()));
        let frames = self.0.frames();
        if !Arc::ptr_eq(&before, frames) {
            database.set_frames(Frames::clone(frames))?;
        }
        Ok(())
    }
}

/// Counts the lines of the stored texts of a database.
pub fn count_stored(counter: &mut FrameCounter, database: &Database) -> Result<()> {
    each_stored_texts(database, |texts| {
        push_all(texts.into_iter().map(|text| (0, text)).collect(), counter);
        Ok(())
    })
}

/// Calls `each` with the stored texts, some MiB at a time.
pub fn each_stored_texts(
    database: &Database,
    mut each: impl FnMut(Vec<String>) -> Result<()>,
) -> Result<()> {
    let (mut batch, mut batch_bytes) = (Vec::new(), 0);
    for document in database.snapshot()?.documents() {
        let Some(text) = document?.text else {
            continue;
        };
        batch_bytes += text.len();
        batch.push(text);
        if batch_bytes >= BATCH_BYTES {
            batch_bytes = 0;
            each(std::mem::take(&mut batch))?;
        }
    }
    each(batch)
}

/// The ends of texts of groups, cut on all cores.
fn ends(texts: Vec<(u64, String)>) -> Vec<(u64, TextEnds)> {
    let texts = texts.into_par_iter();
    texts
        .map(|(group, text)| (group, TextEnds::new(&text)))
        .collect()
}

fn push_all(texts: Vec<(u64, String)>, counter: &mut FrameCounter) {
    for (group, ends) in ends(texts) {
        counter.push(group, ends);
    }
}
