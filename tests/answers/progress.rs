//! Every long operation reports its progress to one handler, which can end the operation.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use simdb::clusters::Clustering;
use simdb::progress::{Progress, Stage};
use simdb::{Builder, Change, Database, Error};
use test_support::{builder, documents, folder, names_in};

const MEMORY_BYTES: u64 = 16 << 20;

/// An operation on a database file, in the folder of the file.
type Operation<'o> = &'o dyn Fn(Builder, &Path) -> Result<(), Error>;

/// Every operation that reports, with its stages.
const OPERATIONS: [(&str, Operation<'static>, &[Stage]); 9] = [
    (
        "load",
        &|builder, path| {
            let mut load = builder.bulk_create(path.with_file_name("new.simdb"), MEMORY_BYTES)?;
            for document in documents(3, 0, 10_000) {
                load.push(document)?;
            }
            load.finish(|_| ControlFlow::Continue(())).map(drop)
        },
        &[Stage::Load],
    ),
    (
        "load into a database",
        &|builder, path| {
            let database = builder.open(path)?;
            let mut load = database.bulk_load(MEMORY_BYTES)?;
            for document in documents(3, 1 << 20, 10_000) {
                load.push(document)?;
            }
            load.finish(|_| ControlFlow::Continue(())).map(drop)
        },
        &[Stage::Load],
    ),
    (
        "check",
        &|builder, path| builder.open(path)?.check().map(drop),
        &[Stage::Check],
    ),
    (
        "backup",
        &|builder, path| builder.open(path)?.backup(path.with_file_name("new.simdb")),
        &[Stage::Copy, Stage::Check],
    ),
    (
        "vacuum",
        &|builder, path| builder.vacuum(path).map(drop),
        &[Stage::Copy, Stage::Check],
    ),
    (
        "salvage",
        &|builder, path| {
            let target = path.with_file_name("new.simdb");
            builder.salvage(path, target, MEMORY_BYTES).map(drop)
        },
        &[Stage::Salvage, Stage::Load],
    ),
    (
        "batch",
        &|builder, path| {
            let snapshot = builder.open(path)?.snapshot()?;
            let queries: Vec<_> = documents(2, 0, 1000)
                .iter()
                .map(|query| query.fingerprint)
                .collect();
            snapshot.within_batch(&queries, 3).map(drop)
        },
        &[Stage::Batch],
    ),
    (
        "pairs",
        &|builder, path| {
            let snapshot = builder.open(path)?.snapshot()?;
            snapshot.pairs(3, |_| ControlFlow::Continue(()))
        },
        &[Stage::Pairs],
    ),
    (
        "clusters",
        &|builder, path| {
            let snapshot = builder.open(path)?.snapshot()?;
            snapshot.clusters(&Clustering::default(), |_| ControlFlow::Continue(()))
        },
        &[Stage::Pairs, Stage::Clusters],
    ),
];

/// Creates a database with some near-duplicates.
fn create(path: &Path) {
    let database = builder().create(path).unwrap();
    let mut stored = documents(1, 0, 10_000);
    let copies: Vec<_> = stored[..100].to_vec();
    for (id, mut copy) in (20_000..).zip(copies) {
        copy.id.0 = id;
        stored.push(copy);
    }
    database
        .apply(stored.into_iter().map(Change::Insert))
        .unwrap();
    database.close().unwrap();
}

#[test]
fn progress_never_falls_comes_twenty_times_a_second_and_reaches_the_end() {
    for (name, operation, stages) in OPERATIONS {
        let folder = folder();
        let path = folder.path().join("docs.simdb");
        create(&path);
        let reports = Arc::new(Mutex::new(Vec::<Progress>::new()));
        let seen = Arc::clone(&reports);
        let reporting = builder().on_progress(move |progress| {
            seen.lock().unwrap().push(progress);
            ControlFlow::Continue(())
        });
        let started = Instant::now();
        operation(reporting, &path).unwrap();
        let elapsed = started.elapsed();
        let reports = reports.lock().unwrap();
        let met: HashSet<Stage> = reports.iter().map(|report| report.stage).collect();
        assert!(
            met.iter().all(|stage| stages.contains(stage)),
            "{name}: {met:?}"
        );
        assert_eq!(reports[0].stage, stages[0], "{name}");
        assert!(
            reports.is_sorted_by_key(|report| report.done),
            "{name}: {reports:?}"
        );
        for report in reports.iter() {
            assert!(
                report.total.is_none_or(|total| report.done <= total),
                "{name}"
            );
        }
        let last = reports.last().unwrap();
        assert_eq!(Some(last.stage), stages.last().copied(), "{name}");
        assert_eq!(last.total, Some(last.done), "{name}");
        // Twenty a second, the first and the last.
        let most = 2 + elapsed.as_millis() / 50;
        assert!(
            reports.len() as u128 <= most,
            "{name}: {} in {elapsed:?}",
            reports.len()
        );
    }
}

#[test]
fn long_operation_interrupted_at_any_report_changes_nothing() {
    for (name, operation, _) in OPERATIONS {
        let folder = folder();
        let path = folder.path().join("docs.simdb");
        create(&path);
        for ended_at in 0.. {
            let reports = AtomicU64::new(0);
            let ending = builder().on_progress(move |_| {
                if reports.fetch_add(1, Ordering::Relaxed) == ended_at {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
            match operation(ending, &path) {
                Err(Error::Interrupted { .. }) => {}
                ended => {
                    ended.unwrap();
                    assert!(ended_at > 0, "{name}");
                    break;
                }
            }
            assert_eq!(names_in(folder.path()), ["docs.simdb"], "{name}");
            assert_eq!(builder().open(&path).unwrap().len().unwrap(), 10_100);
        }
    }
}

#[test]
fn handler_is_inherited_and_overridden_by_snapshot_or_load() {
    let folder = folder();
    let path = folder.path().join("docs.simdb");
    create(&path);
    let ending = |_| ControlFlow::Break(());
    let going_on = |_| ControlFlow::Continue(());
    let database: Database = builder().open(&path).unwrap().on_progress(ending);
    let pairs = |snapshot: simdb::Snapshot| snapshot.pairs(3, |_| ControlFlow::Continue(()));
    let ended = pairs(database.snapshot().unwrap());
    assert!(matches!(ended, Err(Error::Interrupted { .. })), "{ended:?}");
    pairs(database.snapshot().unwrap().on_progress(going_on)).unwrap();
    let load = || database.bulk_load(MEMORY_BYTES).unwrap();
    let ended = load().finish(|_| ControlFlow::Continue(()));
    assert!(matches!(ended, Err(Error::Interrupted { .. })), "{ended:?}");
    let loaded = load().on_progress(going_on);
    loaded.finish(|_| ControlFlow::Continue(())).unwrap();
}
