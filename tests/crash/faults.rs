//! Any operation of the disk fails, once or from then on, in any of the ways disks fail. What was
//! acknowledged is there when the database is opened again, an error says whether what was asked for
//! was done, and what is read meanwhile is right or an error.
//!
//! `SIMDB_TEST_FAULTS=all` has every operation of the whole workload fail in turn, a number one of
//! so many in each part; otherwise it is some of them. `SIMDB_TEST_FAULT` repeats one: what is printed
//! when it fails. (Where tails are merged in the background, which operation that is may differ.)

// What was covered is told, and what repeats a failure.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use simdb::{Error, Retention};
use test_support::disk::{Chance, Fault, Plan};
use test_support::trial::{Known, Settings, Step, World};
use test_support::{SplitMix, caught};

/// Faults that are tried of each kind in each part of a workload, evenly, unless all are asked for.
/// Each step is hit by the device's own in its midst besides, and by another kind in turn.
const TRIED: u64 = 3;
/// Steps that are taken in the same process after one has failed.
const STEPS_AFTER: usize = 4;

/// What is done, in parts, after each of which the database is closed. The first begins with an
/// empty disk.
const PARTS: [&[Step]; 5] = [
    &[Step::Batch, Step::Close],
    &[
        Step::Insert,
        Step::Snapshot,
        Step::Submits,
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
        Step::Submits,
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

/// The databases that the workload is done to. In the last two, tails are set aside and merged in the
/// background, and transactions go on in the tables.
fn workloads() -> [Settings; 6] {
    let plain = Settings {
        cache_bytes: 1 << 20,
        ..Settings::default()
    };
    let passing = Settings {
        keep_texts: true,
        retention: Some(Retention {
            window: Some(Duration::from_millis(1000)),
            sliding: true,
            by_clock: false,
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
            merge_from: Some(8),
            ..plain
        },
        Settings {
            merge_from: Some(8),
            ..passing
        },
    ]
}

/// What becomes of the machine after a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// The process ends, and another one begins.
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
    /// Of what may become of it, one of four.
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
    /// What was being done when the fault came.
    in_step: BTreeMap<Step, u64>,
    /// The kinds of errors there were.
    errors: BTreeMap<String, u64>,
    /// Faults that came when a tail had been set aside, to be merged in the background.
    set_aside: u64,
    /// Faults in transactions that went on in the tables.
    in_tables: u64,
    /// Reads in the same process after a fault, right and refused.
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

/// How many operations of a part a fault can concern, up to the end of each step.
fn concerned(beginning: &World, steps: impl Iterator<Item = Step>, fault: Fault) -> Vec<u64> {
    let mut world = beginning.copy();
    // It never comes.
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

/// The operations of a part that fail in turn, given how many of them a fault can concern up to the
/// end of each step: every so many, and one in the midst of each step that is hit by this fault.
fn places(ends: &[u64], fault: Fault, stride: Option<u64>, turn: usize) -> BTreeSet<u64> {
    let operations = ends.last().copied().unwrap_or(0);
    let stride = stride.unwrap_or(operations / TRIED).max(1);
    let evenly = (turn as u64 % stride..operations).step_by(stride as usize);
    let is_hit =
        |step: usize| fault == Fault::Device || (step + turn).is_multiple_of(Fault::ALL.len());
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
        let done = match world.is_there {
            Known::Perhaps => world.look(),
            _ => Ok(()),
        };
        let done = done.and_then(|()| match world.is_there {
            Known::No => world.take(creation(workload)),
            _ => world.take(step),
        });
        if failures == 0 && world.disk.failures() > 0 {
            *tally.in_step.entry(step).or_default() += 1;
            tally.set_aside += u64::from(world.has_two_journals());
            tally.in_tables += world.large_transactions - in_tables;
        }
        if let Err(error) = &done {
            assert!(world.disk.failures() > 0, "{step:?}: {error:?}");
            assert!(is_known(error, fault), "{step:?}: {error:?}");
            *tally.errors.entry(kind_of(error)).or_default() += 1;
        }
        if world.disk.failures() > 0 {
            if world.is_open() {
                let read = world.look_in_process();
                let read = read.and_then(|()| world.look_at_held());
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
    match then {
        Then::NewProcess => world.restart_process(),
        Then::Cut => world.restart(&mut Chance::new(at)),
    }
    world.look().unwrap();
    if world.is_there == Known::Yes {
        world.take(Step::Batch).unwrap();
        world.take(Step::Check).unwrap();
        world.look().unwrap();
        world.take(Step::Vacuum).unwrap();
        world.look().unwrap();
    }
}

/// Whether an error is one that a fault can bring about.
fn is_known(error: &Error, fault: Fault) -> bool {
    match error {
        Error::Io { .. }
        | Error::Storage { .. }
        | Error::CommitUnknown { .. }
        | Error::WritesFailed { .. }
        | Error::NotAllWritten { .. } => true,
        // What is gone is missed.
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
fn whatever_fails_nothing_acknowledged_is_lost_and_nothing_refused_is_done() {
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
                for at in places(&ends, fault, stride, workload + part + number) {
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
        "{} with a tail set aside, {} in transactions on the tables",
        tally.set_aside, tally.in_tables
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
        assert!(read > 0 && refused > 0 && tally.set_aside > 0 && tally.in_tables > 0);
    }
}
