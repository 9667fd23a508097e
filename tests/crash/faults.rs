//! Disk operations fail, once or from then on, in each way disks fail. Acknowledged changes are
//! there after a reopen, an error says whether the change was made, and reads in between are right
//! or fail.
//!
//! By default a sample of the operations fails. `SIMDB_TEST_FAULTS=all` makes every operation of
//! the workload fail in turn, `SIMDB_TEST_FAULTS=n` one in n. `SIMDB_TEST_FAULT` repeats one case,
//! as printed by its failure. (With a background flush, the number may mean another operation.)

// Prints the coverage, and the case of a failure.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use simdb::{Error, Retention};
use test_support::disk::{Chance, Fault, Plan};
use test_support::trial::{Known, Settings, Step, World};
use test_support::{SplitMix, caught};

/// Steps taken in the same process after a fault.
const STEPS_AFTER: usize = 4;

/// The steps of the workload, in parts. The database is closed after each part; the first part
/// begins with an empty disk.
const PARTS: [&[Step]; 5] = [
    &[Step::Batch, Step::Close],
    &[
        Step::Insert,
        Step::Snapshot,
        Step::Submit,
        Step::Remove,
        Step::Transaction,
        Step::Merge,
        Step::Upsert,
        Step::Batch,
        Step::Close,
    ],
    &[
        Step::Batch,
        Step::Backup,
        Step::InsertUnique,
        Step::Prune,
        Step::Check,
        Step::Batch,
        Step::Close,
    ],
    &[
        Step::Upsert,
        Step::Snapshot,
        Step::BulkLoad,
        Step::Submit,
        Step::Prune,
        Step::DroppedTransaction,
        Step::Transaction,
        Step::BulkLoad,
        Step::Batch,
        Step::Close,
    ],
    &[
        Step::Batch,
        Step::Vacuum,
        Step::Insert,
        Step::Merge,
        Step::Batch,
        Step::Backup,
        Step::Check,
        Step::Close,
    ],
];

/// Settings of the databases of the workload. The last four seal and flush memtables in the
/// background, and their transactions continue in the tables.
fn workloads() -> [Settings; 8] {
    let plain = Settings {
        cache_bytes: 1 << 20,
        ..Settings::default()
    };
    let passing = Settings {
        keep_texts: true,
        retention: Some(Retention {
            window: Some(Duration::from_millis(1000)),
            sliding: true,
            ..Retention::default()
        }),
        ..plain
    };
    [
        plain,
        Settings {
            keep_texts: true,
            ..plain
        },
        Settings {
            similar: true,
            ..plain
        },
        passing,
        Settings {
            seal_after_changes: Some(8),
            ..plain
        },
        Settings {
            seal_after_changes: Some(8),
            ..passing
        },
        Settings {
            keys: true,
            fields: true,
            copies: 2,
            scopes: true,
            seal_after_changes: Some(8),
            ..passing
        },
        Settings {
            similar: true,
            copies: 5,
            seal_after_changes: Some(12),
            ..plain
        },
    ]
}

/// The event after a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// The process ends, and a new process opens the database.
    NewProcess,
    /// Power fails.
    Cut,
}

/// One fault in one part of a workload.
#[derive(Clone, Copy, Debug)]
struct Case {
    workload: usize,
    part: usize,
    at: u64,
    fault: Fault,
    lasts: bool,
    then: Then,
}

impl Case {
    /// Chooses one of four events after the fault.
    fn new(workload: usize, part: usize, at: u64, fault: Fault) -> Self {
        let place = (workload << 8 | part) as u64;
        let drawn = SplitMix(SplitMix(place).next() ^ at).next();
        Self {
            workload,
            part,
            at,
            fault,
            lasts: drawn & 1 == 0,
            then: match drawn & 2 {
                0 => Then::NewProcess,
                _ => Then::Cut,
            },
        }
    }
}

#[derive(Default)]
struct Tally {
    cases: u64,
    failures: u64,
    /// Steps during which the fault occurred.
    in_step: BTreeMap<Step, u64>,
    /// Errors by kind.
    errors: BTreeMap<String, u64>,
    /// Faults while a sealed memtable was waiting for its flush.
    sealed: u64,
    /// Faults in transactions that continued in the tables.
    in_tables: u64,
    /// Right reads in the same process after a fault.
    read: u64,
    refused: u64,
}

/// The worlds in which each part of a workload begins.
fn beginnings(workload: usize) -> Vec<World> {
    let mut world = World::new(workloads()[workload], 77 + workload as u64);
    let mut beginnings = Vec::new();
    for part in 0..PARTS.len() {
        beginnings.push(world.copy());
        for step in steps_of(workload, part) {
            world.take(step).unwrap();
        }
    }
    beginnings
}

fn steps_of(workload: usize, part: usize) -> impl Iterator<Item = Step> {
    let first = (part == 0).then(|| creation(workload));
    first.into_iter().chain(PARTS[part].iter().copied())
}

fn creation(workload: usize) -> Step {
    match workload % 2 {
        0 => Step::Create,
        _ => Step::BulkCreate,
    }
}

/// Counts the operations that a fault can concern, up to the end of each step.
fn concerned(beginning: &World, steps: impl Iterator<Item = Step>, fault: Fault) -> Vec<u64> {
    let mut world = beginning.copy();
    // A plan whose fault never occurs: it only counts.
    world.disk.plan(Plan::Fault {
        at: u64::MAX - 1,
        fault,
        lasts: false,
    });
    let up_to = |step| {
        world.take(step).unwrap();
        world.disk.concerned()
    };
    steps.map(up_to).collect()
}

/// The operations of a part that fail in turn, from the counts at the end of each step: one in
/// `stride`, or one of the part for every second kind of fault. Besides, every second step gets a
/// device fault in its middle, and each step a fault of another kind in turn.
fn operations_to_fail(
    ends: &[u64],
    fault: Fault,
    stride: Option<u64>,
    turn: usize,
) -> BTreeSet<u64> {
    let operations = ends.last().copied().unwrap_or(0);
    let one_of_part = turn.is_multiple_of(2).then_some(operations);
    let evenly = stride.or(one_of_part).into_iter().flat_map(|stride| {
        let stride = stride.max(1);
        (turn as u64 % stride..operations).step_by(stride as usize)
    });
    let steps_of_a_fault = match fault {
        Fault::Device => 2,
        _ => Fault::ALL.len(),
    };
    let is_hit = |step: usize| (step + turn).is_multiple_of(steps_of_a_fault);
    let begins = std::iter::once(0).chain(ends.iter().copied());
    let in_steps = begins
        .zip(ends)
        .enumerate()
        .filter(|(step, (begin, end))| is_hit(*step) && begin < *end)
        .map(|(_, (begin, end))| begin.midpoint(*end));
    evenly.chain(in_steps).collect()
}

fn try_case(case: Case, beginning: &World, tally: &mut Tally) {
    let Case {
        workload,
        part,
        at,
        fault,
        lasts,
        then,
    } = case;
    let mut world = beginning.copy();
    world.disk.plan(Plan::Fault { at, fault, lasts });
    let mut left = STEPS_AFTER;
    for step in steps_of(workload, part) {
        let failures = world.disk.failures();
        let in_tables = world.large_transactions;
        // Resolve a commit or file of unknown outcome first: a step needs known contents.
        let done = match world.exists {
            Known::Perhaps => world.verify(),
            _ => Ok(()),
        };
        let done = done.and_then(|()| match world.exists {
            Known::No => world.take(creation(workload)),
            _ => world.take(step),
        });
        if failures == 0 && world.disk.failures() > 0 {
            *tally.in_step.entry(step).or_default() += 1;
            tally.sealed += u64::from(world.has_two_journals());
            tally.in_tables += world.large_transactions - in_tables;
        }
        // Only the planned fault may cause an error.
        if let Err(error) = &done {
            assert!(world.disk.failures() > 0, "{step:?}: {error:?}");
            assert!(is_known(error, fault), "{step:?}: {error:?}");
            *tally.errors.entry(kind_of(error)).or_default() += 1;
        }
        if world.disk.failures() > 0 {
            // The process goes on after the fault: reads are right or fail, old snapshots too.
            if world.is_open() {
                let read = world.verify_during_unknown_commit();
                let read = read.and_then(|()| world.verify_snapshots());
                match read {
                    Ok(()) => tally.read += 1,
                    Err(error) => {
                        assert!(is_known(&error, fault), "{error:?}");
                        tally.refused += 1;
                    }
                }
            }
            if left == 0 {
                break;
            }
            left -= 1;
        }
    }
    tally.failures += world.disk.failures();
    tally.cases += 1;
    world.disk.plan(Plan::Nothing);
    // The disk works again. All acknowledged changes must be there, and the database usable.
    match then {
        Then::NewProcess => world.restart_process(),
        Then::Cut => world.restart(&mut Chance::new(at)),
    }
    world.verify().unwrap();
    if world.exists == Known::Yes {
        world.take(Step::Batch).unwrap();
        world.take(Step::Check).unwrap();
        world.verify().unwrap();
        world.take(Step::Vacuum).unwrap();
        world.verify().unwrap();
    }
}

/// Returns `true` if the fault can cause the error.
fn is_known(error: &Error, fault: Fault) -> bool {
    match error {
        Error::Io { .. }
        | Error::Storage { .. }
        | Error::CommitUnknown { .. }
        | Error::WritesFailed { .. }
        | Error::NotAllWritten { .. } => true,
        // Lost data is reported as damage.
        Error::Corrupt { .. } => fault == Fault::Sync(test_support::disk::Unsynced::Goes),
        _ => false,
    }
}

fn kind_of(error: &Error) -> String {
    let shown = format!("{error:?}");
    shown
        .split([' ', '{'])
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn failed_operation_loses_no_acknowledged_and_makes_no_refused_change() {
    let wanted = std::env::var("SIMDB_TEST_FAULTS").unwrap_or_default();
    let only = std::env::var("SIMDB_TEST_FAULT").ok();
    let mut tally = Tally::default();
    let begun = Instant::now();
    let mut failed = Vec::new();
    for workload in 0..workloads().len() {
        for (part, beginning) in beginnings(workload).iter().enumerate() {
            for (number, fault) in Fault::ALL.into_iter().enumerate() {
                let ends = concerned(beginning, steps_of(workload, part), fault);
                let stride = match (wanted.as_str(), &only) {
                    ("all", _) | (_, Some(_)) => Some(1),
                    ("", _) => None,
                    (every, _) => Some(every.parse().unwrap()),
                };
                for at in operations_to_fail(&ends, fault, stride, workload + part + number) {
                    let case = Case::new(workload, part, at, fault);
                    let name = format!("{case:?}");
                    if only.as_ref().is_some_and(|only| *only != name) {
                        continue;
                    }
                    if let Err(panic) = caught(|| try_case(case, beginning, &mut tally)) {
                        eprintln!("SIMDB_TEST_FAULT='{name}': {panic}");
                        failed.push(name);
                    }
                }
            }
        }
        if failed.len() > 20 {
            break;
        }
    }
    let Tally {
        cases,
        failures,
        read,
        refused,
        ..
    } = tally;
    println!(
        "{cases} faults, {failures} operations failed, {:.0} faults/s; read in the same process: \
         {read} right, {refused} refused",
        cases as f64 / begun.elapsed().as_secs_f64()
    );
    println!(
        "{} with a sealed memtable, {} in transactions on the tables",
        tally.sealed, tally.in_tables
    );
    println!("came in {:?}", tally.in_step);
    println!("errors {:?}", tally.errors);
    assert_eq!(failed, [""; 0], "repeat one of these with SIMDB_TEST_FAULT");
    if only.is_some() {
        assert_eq!(cases, 1, "there is no such fault");
    } else {
        let silent = [Step::Snapshot, Step::Open];
        let created = [Step::Create, Step::BulkCreate];
        for step in Step::ON_A_DATABASE.iter().chain(&created) {
            let is_hit = tally.in_step.contains_key(step);
            assert!(is_hit || silent.contains(step), "{step:?}");
        }
        for error in ["Io", "Storage", "CommitUnknown", "WritesFailed"] {
            assert!(tally.errors.contains_key(error), "{error}");
        }
        assert!(read > 0 && refused > 0 && tally.sealed > 0 && tally.in_tables > 0);
    }
}
