//! Log lines: recovery, a failed background flush, pruning.

use std::sync::{Mutex, PoisonError};

use log::{LevelFilter, Log, Metadata, Record};
use simdb::{Change, DocId, Timestamp};
use test_support::disk::{Fault, Plan, SimDisk};
use test_support::{builder, copy_open, documents, folder, window};

/// Keeps all log lines of the process. A test finds its own lines by the name of its database.
struct Lines(Mutex<Vec<String>>);

static LINES: Lines = Lines(Mutex::new(Vec::new()));

impl Log for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let line = format!("{}: {}", record.level(), record.args());
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(line);
    }

    fn flush(&self) {}
}

fn start_logging() {
    // The logger is set by the first test that gets here.
    let _ = log::set_logger(&LINES);
    log::set_max_level(LevelFilter::Info);
}

fn is_logged(start: &str, database: &str) -> bool {
    let lines = LINES.0.lock().unwrap_or_else(PoisonError::into_inner);
    lines
        .iter()
        .any(|line| line.starts_with(start) && line.contains(database))
}

#[test]
fn recovery_and_flush_are_logged() {
    start_logging();
    let folder = folder();
    let path = folder.path().join("logged-recovery.simdb");
    let database = builder().create(&path).unwrap();
    let changes = documents(1, 0, 7).into_iter().map(Change::Insert);
    database.apply(changes).unwrap();
    let copy = folder.path().join("logged-crash.simdb");
    copy_open(&path, &copy);
    assert!(!is_logged("INFO: flushed", "logged-recovery"));
    drop(builder().open(&copy).unwrap());
    assert!(is_logged("INFO: replayed 7 changes", "logged-crash"));
    database.close().unwrap();
    assert!(is_logged("INFO: flushed 7 changes", "logged-recovery"));
    assert!(!is_logged("INFO: replayed", "logged-recovery"));
}

#[test]
fn prune_is_logged() {
    start_logging();
    let folder = folder();
    let path = folder.path().join("logged-prune.simdb");
    let retention = window(std::time::Duration::from_secs(60));
    let database = builder().retention(retention).create(&path).unwrap();
    database
        .apply([Change::Insert(documents(1, 1, 1)[0].clone())])
        .unwrap();
    assert!(database.get(DocId(1)).unwrap().is_some());
    database.prune(Timestamp(u64::MAX)).unwrap();
    assert!(is_logged("INFO: pruned 1 documents", "logged-prune"));
}

/// Fails one operation of the disk after the other, until a flush in the background meets the
/// failure.
#[test]
fn failed_background_flush_is_logged() {
    start_logging();
    for at in 0..400 {
        let disk = SimDisk::default();
        let name = format!("logged-flush-{at}.simdb");
        let open = || builder().disk(disk.for_database()).merge_after_changes(16);
        let database = open().create(&name).unwrap();
        disk.plan(Plan::Fault {
            at,
            fault: Fault::Device,
            lasts: false,
        });
        for chunk in documents(at, 0, 256).chunks(8) {
            let changes = chunk.iter().cloned().map(Change::Insert);
            if database.apply(changes).is_err() {
                break;
            }
        }
        // An error with a cause: the cause of the flush.
        if is_logged(
            "ERROR",
            &format!("{name} refuses writes until it is reopened: "),
        ) {
            return;
        }
    }
    panic!("no flush has failed");
}
