//! Refused changes, alone or in a group: the caller that gets the error, the fate of the other
//! changes, and the cost.

use std::path::Path;
use std::time::{Duration, Instant};

use redb::{ReadableTable, TableDefinition};
use simdb::{Change, Database, DocId, Document, Error, Ticket, Timestamp};
use test_support::disk::{Fault, Plan, SimDisk};
use test_support::engine::with_engine;
use test_support::{
    INSERTED, SplitMix, builder, copy_open, document, documents, folder, journal, names_in, window,
};

/// Stored documents have the even ids below twice this number.
const STORED: u64 = 5_000;
/// Lookups of ids from here on fail: see [`damaged`].
const DAMAGED_FROM: u64 = 2 * STORED;
/// Lookups of ids below this succeed.
const SOUND_BELOW: u64 = STORED;

/// Upper bound for a group in which each change is decided once or twice.
const QUICK: Duration = Duration::from_secs(10);

/// A database whose last chunk of documents is damaged.
fn damaged(folder: &Path) -> Database {
    let path = folder.join("docs.simdb");
    let database = builder().create(&path).unwrap();
    let stored = documents(u64::MAX, 0, STORED)
        .into_iter()
        .map(|stored| Document {
            id: DocId(2 * stored.id.0),
            ..stored
        });
    database.apply(stored.map(Change::Insert)).unwrap();
    database.close().unwrap();
    damage_documents(&path, Chunk::Last);
    builder().open(&path).unwrap()
}

enum Chunk {
    First,
    Last,
}

/// Damages a chunk of documents, but no redb page.
fn damage_documents(path: &Path, chunk: Chunk) {
    with_engine(path, |engine| {
        let transaction = engine.begin_write().unwrap();
        {
            let table = TableDefinition::<u128, &[u8]>::new("fingerprints");
            let mut table = transaction.open_table(table).unwrap();
            let (fence, mut bytes) = {
                let chunk = match chunk {
                    Chunk::First => table.first(),
                    Chunk::Last => table.last(),
                };
                let (fence, bytes) = chunk.unwrap().unwrap();
                (fence.value(), bytes.value().to_vec())
            };
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            table.insert(fence, bytes.as_slice()).unwrap();
        }
        transaction.commit().unwrap();
    });
}

fn insert(id: u64) -> Change {
    Change::Insert(document(id, SplitMix(id).next()))
}

fn insert_unique(id: u64) -> Change {
    Change::InsertUnique {
        document: document(id, SplitMix(id).next()),
        radius: 3,
    }
}

fn assert_not_all_written(answer: Result<(), Error>) {
    assert!(
        matches!(answer, Err(Error::NotAllWritten { .. })),
        "{answer:?}"
    );
}

fn assert_corrupt(ticket: Ticket) {
    let answer = ticket.wait();
    assert!(matches!(answer, Err(Error::Corrupt { .. })), "{answer:?}");
}

// ---- reporting ----

#[test]
fn change_refused_alone_is_reported_by_flush_and_close() {
    let folder = folder();
    let database = damaged(folder.path());
    drop(database.submit([insert(DAMAGED_FROM)]).unwrap());
    drop(database.submit([insert(1)]).unwrap());
    assert_not_all_written(database.flush());
    database.flush().unwrap();
    assert!(database.get(DocId(1)).unwrap().is_some());

    // Stopping the writer keeps its unreported error.
    drop(database.submit([insert(DAMAGED_FROM)]).unwrap());
    assert_ne!(database.check().unwrap(), [""; 0]);
    assert_not_all_written(database.flush());
    database.flush().unwrap();

    drop(database.submit([insert(DAMAGED_FROM)]).unwrap());
    drop(database.submit([insert(3)]).unwrap());
    let path = database.path().to_path_buf();
    assert_not_all_written(database.close());
    // No journal is left.
    assert_eq!(names_in(folder.path()), ["docs.simdb"]);
    let database = builder().open(&path).unwrap();
    assert!(database.get(DocId(3)).unwrap().is_some());
    database.close().unwrap();
}

/// A database on a disk that was full during a change and now has room.
fn with_room_again(disk: &SimDisk) -> Database {
    let database = builder()
        .disk(disk.for_database())
        .create("/simulated/docs.simdb")
        .unwrap();
    disk.plan(Plan::Fault {
        at: 0,
        fault: Fault::Full,
        lasts: true,
    });
    let ticket = database.submit([insert(1)]).unwrap();
    let started = Instant::now();
    while !ticket.is_done() {
        assert!(started.elapsed() < QUICK);
        std::thread::yield_now();
    }
    assert!(disk.failures() > 0);
    disk.plan(Plan::Nothing);
    database
}

#[test]
fn changes_lost_to_full_disk_are_reported_by_close() {
    let disk = SimDisk::default();
    let database = with_room_again(&disk);
    drop(database.submit([insert(2)]).unwrap());
    assert_not_all_written(database.close());
    let database = builder()
        .disk(disk.for_database())
        .open("/simulated/docs.simdb")
        .unwrap();
    assert_eq!(database.len().unwrap(), 1);
    assert!(database.get(DocId(2)).unwrap().is_some());
}

#[test]
fn merge_succeeds_after_refusal_and_flush_reports_it() {
    let disk = SimDisk::default();
    let database = with_room_again(&disk);
    database.apply([insert(2)]).unwrap();
    let unmerged = || {
        let stats = database.snapshot().unwrap().stats();
        stats.unwrap().unmerged_changes
    };
    assert_eq!(unmerged(), 1);
    database.merge().unwrap();
    assert_eq!(unmerged(), 0);
    assert_not_all_written(database.flush());
    database.flush().unwrap();
}

// ---- a file that is gone ----

#[cfg(unix)]
#[test]
fn change_of_a_deleted_moved_or_replaced_file_is_refused() {
    for change in ["delete", "move", "replace", "replace by a copy"] {
        let folder = folder();
        let (path, other) = (
            folder.path().join("docs.simdb"),
            folder.path().join("other.simdb"),
        );
        let other_database = builder().create(&other).unwrap();
        other_database.apply([insert(77)]).unwrap();
        other_database.close().unwrap();
        let database = builder().create(&path).unwrap();
        database.apply([insert(1)]).unwrap();
        database.merge().unwrap();
        database.flush().unwrap();
        match change {
            "delete" => std::fs::remove_file(&path).unwrap(),
            "move" => std::fs::rename(&path, folder.path().join("moved.simdb")).unwrap(),
            "replace" => std::fs::rename(&other, &path).unwrap(),
            _ => {
                let bytes = std::fs::read(&path).unwrap();
                std::fs::remove_file(&path).unwrap();
                std::fs::write(&path, bytes).unwrap();
            }
        }
        let assert_gone = |refused: simdb::Result<()>| {
            let refused = refused.unwrap_err();
            assert!(
                matches!(refused, Error::FileGone { .. }),
                "{change}: {refused}"
            );
        };
        for _ in 0..2 {
            assert_gone(database.apply([insert(2)]).map(drop));
            assert_gone(database.submit([insert(2)]).unwrap().wait().map(drop));
        }
        assert_gone(database.apply([]).map(drop));
        let mut transaction = database.begin().unwrap();
        transaction.apply([insert(3)]).unwrap();
        assert_gone(transaction.commit());
        assert_gone(database.bulk_load(16 << 20).map(drop));
        // Reads go on.
        assert_eq!(database.len().unwrap(), 1);
        assert_gone(database.close());
        match change {
            "move" => {
                let moved = builder().open(folder.path().join("moved.simdb")).unwrap();
                assert_eq!(moved.len().unwrap(), 1);
            }
            "replace" => {
                let there = builder().open(&path).unwrap();
                assert!(there.get(DocId(77)).unwrap().is_some());
            }
            _ => {}
        }
    }
}

#[cfg(unix)]
#[test]
fn commit_after_the_loss_of_the_journal_is_durable() {
    for change in ["delete", "move", "replace"] {
        let (folder, crashed) = (folder(), folder());
        let path = folder.path().join("docs.simdb");
        let database = builder().create(&path).unwrap();
        database.apply([insert(1)]).unwrap();
        let (lost, moved) = (journal(&path, 1), folder.path().join("moved"));
        match change {
            "delete" => std::fs::remove_file(&lost).unwrap(),
            "move" => std::fs::rename(&lost, &moved).unwrap(),
            _ => {
                std::fs::write(&moved, vec![0; 10_000]).unwrap();
                std::fs::rename(&moved, &lost).unwrap();
            }
        }
        let assert_durable = |documents: u64| {
            let copy = crashed.path().join(format!("{documents}.simdb"));
            copy_open(&path, &copy);
            let stored = builder().open(&copy).unwrap().len().unwrap();
            assert_eq!(stored, documents, "{change}");
        };
        // A commit without changes looks too.
        database.apply([]).unwrap();
        assert_durable(1);
        database.apply([insert(2)]).unwrap();
        assert_durable(2);
        database.close().unwrap();
        assert!(!lost.exists(), "{change}");
    }
}

// ---- cost ----

#[test]
fn group_with_thousands_of_refusals_is_decided_quickly() {
    const EACH: u64 = 2_000;
    let folder = folder();
    let database = damaged(folder.path());
    // The open transaction makes the submitted changes queue up as one group.
    let transaction = database.begin().unwrap();
    let submit = |changes: Vec<Change>| database.submit(changes).unwrap();
    let ids = DAMAGED_FROM..DAMAGED_FROM + EACH;
    let alone: Vec<Ticket> = ids
        .clone()
        .map(|id| submit(vec![insert_unique(id)]))
        .collect();
    let taken = submit(vec![insert_unique(1)]);
    // These begin with a change that would succeed.
    let halves: Vec<Ticket> = ids
        .map(|id| {
            let sound = 3 + 2 * (id - DAMAGED_FROM);
            assert!(sound < SOUND_BELOW);
            submit(vec![insert(sound), insert_unique(id)])
        })
        .collect();
    let again = submit(vec![insert(3)]);
    let started = Instant::now();
    drop(transaction);
    assert_eq!(taken.wait().unwrap(), [INSERTED]);
    assert!(started.elapsed() < QUICK, "{:?}", started.elapsed());
    alone.into_iter().chain(halves).for_each(assert_corrupt);
    assert_eq!(again.wait().unwrap(), [INSERTED]);
    assert_eq!(database.len().unwrap(), STORED + 2);
}

#[test]
fn damage_to_expired_documents_causes_no_refusal() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    let retention = window(Duration::from_secs(1));
    let database = builder().retention(retention).create(&path).unwrap();
    let stored = documents(u64::MAX, 0, STORED).into_iter();
    let stored = stored.map(|stored| Document {
        arrival: Some(Timestamp(stored.id.0 % 1_000)),
        ..stored
    });
    database.apply(stored.map(Change::Insert)).unwrap();
    database.close().unwrap();
    damage_documents(&path, Chunk::First);

    let database = builder().open(&path).unwrap();
    for id in STORED..STORED + 100 {
        let late = Document {
            arrival: Some(Timestamp(1_000_000 + id)),
            ..document(id, SplitMix(id).next())
        };
        let outcomes = database.apply([Change::Insert(late)]).unwrap();
        assert_eq!(outcomes, [INSERTED]);
    }
    assert_eq!(database.flush().ok(), Some(()));
    let read = database.snapshot().unwrap().get(DocId(0));
    assert!(matches!(read, Err(Error::Corrupt { .. })), "{read:?}");
}
