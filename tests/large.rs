//! Power is cut while a file grows over 4 GiB, where the numbers of bytes no longer fit 32 bits and
//! the storage engine begins a second region. On the simulated disk of `power`, which holds all of it
//! in memory: some 10 GiB, and an hour or more, so it is run by hand:
//!
//! ```sh
//! cargo test --test large -- --ignored --nocapture
//! ```
//!
//! `SIMDB_TEST_CUTS` sets how often power is cut at least.

#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use simdb::{Builder, Change, Database, DocId, Document, Fingerprint};

mod common;
#[path = "common/disk/mod.rs"]
mod disk;
use common::SplitMix;
use disk::{Chance, Plan, SimDisk};

const PATH: &str = "/simulated/docs.simdb";
const BOUNDARY: u64 = 4 << 30;
/// The file is this much shorter before the first cut.
const BEFORE: u64 = 60 << 20;
/// Of eight bits six say something, and the storage engine rounds up to a power of two.
const LARGE_TEXT_BYTES: usize = 42 << 20;
const LARGE_STORED_BYTES: u64 = 32 << 20;
const TEXT_BYTES: usize = 3 << 20;
const CUTS: u64 = 300;
/// Small documents that come with each text.
const BESIDE: u64 = 50;
/// One of so many times, all of the file is proved.
const CHECKED_ONE_IN: u64 = 40;

/// A text that hardly packs: of 64 letters, at random.
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

/// How long the text of a document is, by its id; nothing if it has none.
type Expected = BTreeMap<u64, Option<usize>>;

fn document(id: u64, len: Option<usize>) -> Document {
    Document {
        text: len.map(|len| text(id, len)),
        ..common::document(id, SplitMix(id).next())
    }
}

/// A database whose file is somewhat shorter than 4 GiB.
fn load(disk: &SimDisk, expected: &mut Expected) {
    let mut load = builder(disk).bulk_create(PATH, 64 << 20).unwrap();
    for id in 0..(BOUNDARY - BEFORE) / LARGE_STORED_BYTES {
        load.push(document(id, Some(LARGE_TEXT_BYTES))).unwrap();
        expected.insert(id, Some(LARGE_TEXT_BYTES));
    }
    load.finish(|_| ControlFlow::Continue(())).unwrap();
}

fn file_bytes(disk: &SimDisk) -> u64 {
    let files = disk.files();
    let file = files.iter().find(|(path, _)| path == Path::new(PATH));
    file.unwrap().1
}

/// Whether the database holds all of these documents, those with texts among some looked at closely.
fn holds(database: &Database, expected: &Expected, chance: &mut Chance) -> bool {
    let snapshot = database.snapshot().unwrap();
    if snapshot.len() != expected.len() as u64 {
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

#[test]
#[ignore = "takes 10 GiB of memory and an hour or more"]
fn a_file_that_grows_over_4_gib_survives_cuts_of_power() {
    let asked = std::env::var("SIMDB_TEST_CUTS").ok();
    let cuts = asked.map_or(CUTS, |cuts| cuts.parse().unwrap());
    let mut disk = SimDisk::default();
    let mut chance = Chance::new(4);
    let mut expected = Expected::new();
    load(&disk, &mut expected);
    let begun = file_bytes(&disk);
    assert!(begun < BOUNDARY, "{begun} bytes");

    let (mut rounds, mut done, mut doubles, mut above) = (0, 0, 0, 0);
    let mut next_id = 1_000_000;
    while done < cuts || above < cuts / 3 {
        let mut with_batch = expected.clone();
        let batch: Vec<(u64, Option<usize>)> = (0..=BESIDE)
            .map(|place| (next_id + place, (place == 0).then_some(TEXT_BYTES)))
            .collect();
        next_id += BESIDE + 1;
        with_batch.extend(batch.iter().copied());

        disk.plan(Plan::Cut {
            at: chance.below(60),
            is_done: chance.below(2) == 0,
        });
        let acknowledged = (|| {
            let database = builder(&disk).open(PATH)?;
            let changes = batch
                .iter()
                .map(|(id, len)| Change::Insert(document(*id, *len)));
            database.apply(changes)?;
            // What comes behind a batch that is acknowledged may fail.
            let _ = database.merge().and_then(|()| database.close());
            Ok::<_, simdb::Error>(())
        })();
        if acknowledged.is_ok() {
            expected.clone_from(&with_batch);
        }
        let was_cut = disk.is_dead();
        disk = disk.after_a_cut(&mut chance);
        done += u64::from(was_cut);
        above += u64::from(was_cut && file_bytes(&disk) > BOUNDARY);
        if was_cut && chance.below(2) == 0 {
            // Again, while that is mended.
            disk.plan(Plan::Cut {
                at: chance.below(12),
                is_done: chance.below(2) == 0,
            });
            drop(builder(&disk).open(PATH));
            doubles += u64::from(disk.is_dead());
            disk = disk.after_a_cut(&mut chance);
        }

        let mut database = builder(&disk).open(PATH).unwrap();
        if !holds(&database, &expected, &mut chance) {
            assert!(acknowledged.is_err(), "an acknowledged batch is lost");
            assert!(
                holds(&database, &with_batch, &mut chance),
                "neither with the batch nor without"
            );
            expected = with_batch;
        }
        rounds += 1;
        if rounds % CHECKED_ONE_IN == 0 {
            assert_eq!(database.check(|_, _| {}).unwrap(), Vec::<String>::new());
        }
        database.close().unwrap();
    }
    let mut database = builder(&disk).open(PATH).unwrap();
    assert_eq!(database.check(|_, _| {}).unwrap(), Vec::<String>::new());
    let ended = file_bytes(&disk);
    assert!(ended > BOUNDARY, "{ended} bytes");
    println!("{done} cuts, {doubles} of them twice, {above} above 4 GiB; {begun} to {ended} bytes");
}
