//! Power cuts while a file grows over 4 GiB, where byte counts exceed 32 bits and redb begins a
//! second region: one cut at each operation of the batch that crosses the boundary, then random
//! cuts while the file grows further. The simulated disk holds the file in memory (some 6 GiB) and
//! the test takes half an hour, so it is ignored by default:
//!
//! ```sh
//! cargo test --release --test crash large -- --ignored --nocapture
//! ```
//!
//! `SIMDB_TEST_CUTS` sets the least number of cuts beyond the boundary.

#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use simdb::{Builder, Change, Database, DocId, Document, Fingerprint};

use test_support::SplitMix;
use test_support::disk::{Chance, Plan, SimDisk};

const PATH: &str = "/simulated/docs.simdb";
const BOUNDARY: u64 = 4 << 30;
/// The file is loaded up to this many bytes below the boundary.
const BEFORE: u64 = 60 << 20;
/// Bytes of a large text. A character carries six bits, and redb rounds up to a power of two.
const LARGE_TEXT_BYTES: usize = 42 << 20;
const LARGE_STORED_BYTES: u64 = 32 << 20;
const TEXT_BYTES: usize = 3 << 20;
/// Small documents inserted with each text.
const BESIDE: u64 = 50;
/// Cuts beyond the boundary, by default.
const CUTS: u64 = 300;
/// One cut in this many is followed by a `check` of the whole file.
const CHECKED_ONE_IN: u64 = 40;

/// A text of 64 different letters at random, which hardly compresses.
fn text(id: u64, len: usize) -> String {
    let mut sequence = SplitMix(id);
    let mut text = String::with_capacity(len + 10);
    while text.len() < len {
        let mut bits = sequence.next();
        for _ in 0..10 {
            text.push(char::from(b'0' + (bits & 63) as u8));
            bits >>= 6;
        }
    }
    text
}

fn builder(disk: &SimDisk) -> Builder {
    Database::builder()
        .keep_texts(true)
        .cache_bytes(64 << 20)
        .disk(disk.for_database())
}

/// The length of each document's text in bytes, by id; `None` without a text.
type Expected = BTreeMap<u64, Option<usize>>;

fn document(id: u64, len: Option<usize>) -> Document {
    Document {
        text: len.map(|len| text(id, len)),
        ..test_support::document(id, SplitMix(id).next())
    }
}

/// Returns `true` if the database holds all of these documents. Compares some of the texts.
fn has_documents(database: &Database, expected: &Expected, chance: &mut Chance) -> bool {
    let snapshot = database.snapshot().unwrap();
    if snapshot.len().unwrap() != expected.len() as u64 {
        return false;
    }
    for (id, len) in expected {
        let fingerprint = SplitMix(*id).next();
        let found = snapshot
            .within(Fingerprint::from_bits(fingerprint), 0)
            .unwrap();
        if !found.iter().any(|found| found.id == DocId(*id)) {
            return false;
        }
        let is_read = match len {
            Some(LARGE_TEXT_BYTES) => chance.below(60) == 0,
            Some(_) => chance.below(8) == 0,
            None => true,
        };
        if is_read {
            let stored = snapshot.get(DocId(*id)).unwrap();
            assert_eq!(stored, Some(document(*id, *len)), "document {id}");
        }
    }
    true
}

/// Counts of cuts and their circumstances.
#[derive(Debug, Default)]
struct Counts {
    cuts: u64,
    /// Cuts during recovery from an earlier cut.
    twice: u64,
    /// Cuts after the batch was acknowledged.
    after_acknowledgement: u64,
    /// Cuts after which the file was longer than 4 GiB.
    above: u64,
    /// Checks of the whole file.
    proofs: u64,
}

/// A database on a disk, and the documents that must be found.
#[derive(Clone)]
struct Trial {
    disk: SimDisk,
    expected: Expected,
    next_id: u64,
}

impl Trial {
    /// A database whose file is somewhat shorter than 4 GiB.
    fn load() -> Self {
        let (disk, mut expected) = (SimDisk::default(), Expected::new());
        let mut load = builder(&disk).bulk_create(PATH, 64 << 20).unwrap();
        for id in 0..(BOUNDARY - BEFORE) / LARGE_STORED_BYTES {
            load.push(document(id, Some(LARGE_TEXT_BYTES))).unwrap();
            expected.insert(id, Some(LARGE_TEXT_BYTES));
        }
        load.finish(|_| ControlFlow::Continue(())).unwrap();
        Self {
            disk,
            expected,
            next_id: 1_000_000,
        }
    }

    /// A copy of the database on a disk of its own.
    fn copy(&self) -> Self {
        Self {
            disk: self.disk.after_kill(),
            ..self.clone()
        }
    }

    fn file_bytes(&self) -> u64 {
        let files = self.disk.files();
        let file = files.iter().find(|(path, _)| path == Path::new(PATH));
        file.unwrap().1
    }

    /// Opens the database, applies a batch, flushes it and closes, until a step fails. Returns the
    /// documents with the batch, and `true` if the batch was acknowledged.
    fn write(&mut self) -> (Expected, bool) {
        let batch: Vec<(u64, Option<usize>)> = (0..=BESIDE)
            .map(|place| (self.next_id + place, (place == 0).then_some(TEXT_BYTES)))
            .collect();
        self.next_id += BESIDE + 1;
        let mut with_batch = self.expected.clone();
        with_batch.extend(batch.iter().copied());

        let acknowledged = (|| {
            let database = builder(&self.disk).open(PATH)?;
            let documents = batch.iter().map(|(id, len)| document(*id, *len));
            database.apply(documents.map(Change::Insert))?;
            // The batch is acknowledged already, so the flush and the close may fail.
            let _ = database.merge().and_then(|()| database.close());
            Ok::<_, simdb::Error>(())
        })();
        (with_batch, acknowledged.is_ok())
    }

    /// Writes without a fault. Returns the number of operations that change the disk.
    fn grow(&mut self) -> u64 {
        self.disk.plan(Plan::Nothing);
        let (with_batch, is_acknowledged) = self.write();
        assert!(is_acknowledged);
        self.expected = with_batch;
        self.disk.changes()
    }

    /// Writes with a power cut at an operation, half of the time followed by a cut during recovery.
    /// Asserts that all acknowledged documents are found.
    fn survive(&mut self, at: u64, is_done: bool, chance: &mut Chance, counts: &mut Counts) {
        self.disk.plan(Plan::Cut { at, is_done });
        let (with_batch, is_acknowledged) = self.write();
        if is_acknowledged {
            self.expected.clone_from(&with_batch);
        }
        let was_cut = self.disk.is_cut();
        self.disk = self.disk.after_cut(chance);
        counts.cuts += u64::from(was_cut);
        counts.after_acknowledgement += u64::from(was_cut && is_acknowledged);
        counts.above += u64::from(was_cut && self.file_bytes() > BOUNDARY);
        if was_cut && chance.below(2) == 0 {
            let (at, is_done) = (chance.below(12), chance.below(2) == 0);
            self.disk.plan(Plan::Cut { at, is_done });
            drop(builder(&self.disk).open(PATH));
            counts.twice += u64::from(self.disk.is_cut());
            self.disk = self.disk.after_cut(chance);
        }

        let database = builder(&self.disk).open(PATH).unwrap();
        if !has_documents(&database, &self.expected, chance) {
            assert!(!is_acknowledged, "an acknowledged batch is lost");
            assert!(
                has_documents(&database, &with_batch, chance),
                "neither with the batch nor without"
            );
            self.expected = with_batch;
        }
        if counts.cuts.is_multiple_of(CHECKED_ONE_IN) {
            counts.proofs += 1;
            assert_eq!(database.check().unwrap(), Vec::<String>::new());
            println!("{counts:?}, {} bytes", self.file_bytes());
        }
        database.close().unwrap();
    }
}

#[test]
#[ignore = "takes 6 GiB of memory and half an hour"]
fn file_growing_over_4_gib_survives_power_cuts() {
    let setting = std::env::var("SIMDB_TEST_CUTS").ok();
    let cuts = setting.map_or(CUTS, |cuts| cuts.parse().unwrap());
    let mut chance = Chance::new(4);
    let mut before = Trial::load();
    let begun = before.file_bytes();
    assert!(begun < BOUNDARY, "{begun} bytes");

    // Write until a batch takes the file over the boundary.
    let (changes, mut trial) = loop {
        let mut after = before.copy();
        let changes = after.grow();
        if after.file_bytes() > BOUNDARY {
            break (changes, after);
        }
        before = after;
    };
    let mut crossing = Counts::default();
    for at in 0..changes {
        for is_done in [false, true] {
            before
                .copy()
                .survive(at, is_done, &mut chance, &mut crossing);
        }
    }
    println!("at the boundary: {crossing:?}");
    assert!(crossing.cuts >= changes && crossing.after_acknowledgement > 0 && crossing.above > 0);

    let mut beyond = Counts::default();
    while beyond.cuts < cuts {
        let (at, is_done) = (chance.below(changes), chance.below(2) == 0);
        trial.survive(at, is_done, &mut chance, &mut beyond);
    }
    let database = builder(&trial.disk).open(PATH).unwrap();
    assert_eq!(database.check().unwrap(), Vec::<String>::new());
    println!(
        "beyond it: {beyond:?}; {begun} to {} bytes",
        trial.file_bytes()
    );
    assert!(beyond.above >= cuts && beyond.after_acknowledgement > 0);
}
