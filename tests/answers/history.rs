//! Random histories of a small database: changes, with flushes in between.

use std::ops::Range;

use proptest::prelude::*;
use simdb::{Change, Database, DocId, Document, Fingerprint};
use tempfile::TempDir;

use test_support::{Model, SplitMix, builder, document, folder, planted};

/// One operation on a database and its model.
#[derive(Clone, Debug)]
pub enum Step {
    /// Stores a document: id, centre of the fingerprint, bits to flip, reliability.
    Put(u64, u8, Vec<u8>, bool),
    Remove(u64),
    Merge,
}

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 0..120)
}

fn step() -> impl Strategy<Value = Step> {
    let flips = prop::collection::vec(0..64_u8, 0..7);
    prop_oneof![
        12 => (0..80_u64, 0..4_u8, flips, prop::bool::weighted(0.9))
            .prop_map(|(id, near, flips, reliable)| Step::Put(id, near, flips, reliable)),
        3 => (0..80_u64).prop_map(Step::Remove),
        1 => Just(Step::Merge),
    ]
}

/// Changes to a database of the documents below `stored`: inserts near stored documents, then
/// `others` random changes.
pub fn later_changes(model: &Model, stored: u64, new: Range<u64>, others: u64) -> Vec<Change> {
    let mut sequence = SplitMix(8);
    let mut changes = Vec::new();
    let end = new.end;
    for id in new {
        let of = model.documents[&DocId(sequence.below(stored))].fingerprint;
        let distance = sequence.below(6) as u32;
        let near = planted(&mut sequence, of, distance);
        changes.push(Change::Insert(Document::new(DocId(id), near)));
    }
    for _ in 0..others {
        let id = DocId(sequence.below(end));
        changes.push(match sequence.below(3) {
            0 => Change::Upsert(Document::new(id, Fingerprint::from_bits(sequence.next()))),
            _ => Change::Remove(id),
        });
    }
    changes
}

/// A database with this history, its model, and the folder that holds the file.
pub fn database_of(steps: Vec<Step>) -> (Database, Model, TempDir) {
    let folder = folder();
    let database = builder().create(folder.path().join("docs.simdb")).unwrap();
    let mut model = Model::default();
    let mut changes = Vec::new();
    for step in steps {
        match step {
            Step::Put(id, near, flips, reliable) => {
                let near = [0, 0xffff, u64::MAX, 0x9e37_79b9_7f4a_7c15][usize::from(near)];
                let bits = flips.iter().fold(near, |bits, flip| bits ^ 1 << flip);
                let document = Document {
                    reliable,
                    ..document(id, bits)
                };
                changes.push(Change::Upsert(document));
            }
            Step::Remove(id) => changes.push(Change::Remove(DocId(id))),
            Step::Merge => {
                model.apply_all(changes.clone());
                database.apply(std::mem::take(&mut changes)).unwrap();
                database.merge().unwrap();
            }
        }
    }
    model.apply_all(changes.clone());
    database.apply(changes).unwrap();
    (database, model, folder)
}
