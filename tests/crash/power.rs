//! Power is cut at any operation of the disk, again and again, also while what the last cut left is
//! mended. What was acknowledged is there, of what was not a commit is there wholly or not at all,
//! and all answers are those of a plain map. In half of the databases tails are set aside early: what
//! is merged in the background goes its own way, so that of these a seed repeats what was done, and
//! not to the operation where power was cut.
//!
//! `SIMDB_TEST_CUTS` sets how often power is cut, `SIMDB_TEST_FIRST_SEED` from which database on.
//! `SIMDB_TEST_SEED` repeats what one of them went through.

// What was covered is told, and what repeats a failure.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::time::Instant;

use test_support::disk::{Asked, Chance, Plan};
use test_support::trial::{Known, Settings, Step, World};
use test_support::{SplitMix, caught};

/// Cuts unless another number is asked for.
const CUTS: u64 = 2_000;
/// Cuts in the life of one database.
const CUTS_A_RUN: u64 = 10;
/// Attempts at a cut in one run.
const ATTEMPTS: u64 = 16;

/// What was cut, and what was done.
#[derive(Default)]
struct Tally {
    runs: u64,
    cuts: u64,
    /// Those while the disk was mended that another had left.
    doubles: u64,
    /// Those of these that came third or later.
    triples: u64,
    /// Those where a tail had been set aside, to be merged in the background.
    set_aside: u64,
    /// Those in transactions that went on in the tables.
    in_tables: u64,
    operations: u64,
    changes: u64,
    in_step: BTreeMap<Step, u64>,
    at: BTreeMap<Asked, u64>,
    /// How often each step was taken to its end, and the operations that changed something then.
    whole: BTreeMap<Step, (u64, u64)>,
}

/// About how many operations of the disk a step takes, from which the one is drawn at which power
/// fails. Where it takes fewer, power fails later.
fn operations_of(step: Step) -> u64 {
    match step {
        Step::Vacuum => 160,
        Step::BulkCreate | Step::Backup => 110,
        Step::Create => 60,
        Step::Close | Step::Merge | Step::Check | Step::BulkLoad => 50,
        _ => 30,
    }
}

impl Tally {
    fn cut(&mut self, world: &World, step: Step, in_a_row: u64) {
        self.cuts += 1;
        self.doubles += u64::from(in_a_row > 0);
        self.triples += u64::from(in_a_row > 1);
        self.set_aside += u64::from(world.has_two_journals());
        *self.in_step.entry(step).or_default() += 1;
        let asked = world.disk.died_at().expect("power was cut");
        *self.at.entry(asked).or_default() += 1;
    }

    fn whole(&mut self, step: Step, operations: u64) {
        let (count, sum) = self.whole.entry(step).or_default();
        *count += 1;
        *sum += operations;
    }
}

/// One database, from its creation on, through some cuts.
fn run(seed: u64, tally: &mut Tally) {
    let mut sequence = SplitMix(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let settings = Settings::drawn(&mut sequence);
    let mut world = World::new(settings, sequence.next());
    world.is_large = sequence.below(40) == 0;
    let mut chance = Chance::new(sequence.next());
    let mut in_a_row = 0;
    let (first, mut cuts) = (tally.cuts, 0);
    for _ in 0..ATTEMPTS {
        if cuts == CUTS_A_RUN {
            break;
        }
        let is_cut = live(&mut world, &mut sequence, in_a_row, tally);
        tally.operations += world.disk.operations();
        if is_cut {
            world.restart(&mut chance);
        }
        cuts = tally.cuts - first;
        in_a_row = match is_cut {
            true => in_a_row + 1,
            false => 0,
        };
        if in_a_row == 4 {
            in_a_row = 0;
        }
    }
    // At the end all is as it should be, whatever happened before.
    world.disk.plan(Plan::Nothing);
    world.look().unwrap();
    if world.is_there == Known::Yes {
        world.take(Step::Check).unwrap();
        world.look().unwrap();
        world.take(Step::Close).unwrap();
    }
    world.assert_no_strange_files();
    tally.changes += world.changed;
    tally.runs += 1;
}

/// One life of a process; whether power was cut.
fn live(world: &mut World, sequence: &mut SplitMix, in_a_row: u64, tally: &mut Tally) -> bool {
    let is_done = sequence.below(2) == 0;
    // Half of all cuts come while is mended what the one before has left.
    let while_mending = in_a_row > 0 && sequence.below(8) > 0;
    let plan = match while_mending {
        true => Plan::Cut {
            at: sequence.below(16),
            is_done,
        },
        false => Plan::Nothing,
    };
    world.disk.plan(plan);
    let again = if while_mending { in_a_row } else { 0 };
    if step(world, Step::Open, again, tally, World::look) {
        return true;
    }
    if while_mending {
        let next = [Step::Check, Step::Close, Step::Insert, Step::Merge];
        let next = next[sequence.below(4) as usize];
        if world.is_there == Known::Yes && step(world, next, again, tally, |world| world.take(next))
        {
            return true;
        }
    }
    if world.is_there == Known::Yes && sequence.below(2) == 0 {
        world.check_beside();
    }
    if world.is_there == Known::No {
        world.disk.plan(Plan::Nothing);
        let next = match sequence.below(2) {
            0 => Step::Create,
            _ => Step::BulkCreate,
        };
        if sequence.below(3) == 0 {
            let at = sequence.below(operations_of(next));
            world.disk.plan(Plan::Cut { at, is_done });
        }
        if step(world, next, 0, tally, |world| world.take(next)) {
            return true;
        }
    }
    if !while_mending {
        world.disk.plan(Plan::Nothing);
        for _ in 0..sequence.below(4) {
            let next = Step::LIGHT[sequence.below(Step::LIGHT.len() as u64) as usize];
            assert!(!step(world, next, 0, tally, |world| world.take(next)));
        }
    }
    let steps = &Step::ON_A_DATABASE;
    let mut next = steps[sequence.below(steps.len() as u64) as usize];
    let at = sequence.below(operations_of(next));
    world.disk.plan(Plan::Cut { at, is_done });
    for _ in 0..6 {
        if step(world, next, 0, tally, |world| world.take(next)) {
            return true;
        }
        next = steps[sequence.below(steps.len() as u64) as usize];
    }
    false
}

/// Does something; whether power was cut meanwhile. Nothing else may go wrong.
fn step(
    world: &mut World,
    step: Step,
    in_a_row: u64,
    tally: &mut Tally,
    run: impl FnOnce(&mut World) -> simdb::Result<()>,
) -> bool {
    let before = world.disk.changes();
    let in_tables = world.large_transactions;
    let done = run(world);
    if world.disk.is_dead() {
        tally.cut(world, step, in_a_row);
        tally.in_tables += world.large_transactions - in_tables;
        if world.is_open() {
            // Who reads on gets what is so, or an error.
            let _ = world.look_in_process();
        }
        let _ = world.look_at_held();
        return true;
    }
    if let Err(error) = done {
        panic!("{step:?}: {error:?}");
    }
    tally.whole(step, world.disk.changes() - before);
    false
}

#[test]
fn whenever_power_is_cut_what_was_acknowledged_is_there_and_no_answer_is_wrong() {
    let number = |name| std::env::var(name).ok().map(|value| value.parse().unwrap());
    let cuts: u64 = number("SIMDB_TEST_CUTS").unwrap_or(CUTS);
    let only: Option<u64> = number("SIMDB_TEST_SEED");
    let first = number("SIMDB_TEST_FIRST_SEED").unwrap_or(0);
    let mut tally = Tally::default();
    let begun = Instant::now();
    let mut failed = Vec::new();
    for seed in only.unwrap_or(first).. {
        if let Err(panic) = caught(|| run(seed, &mut tally)) {
            eprintln!("SIMDB_TEST_SEED={seed}, after {} cuts: {panic}", tally.cuts);
            failed.push(seed);
        }
        if only.is_some() || tally.cuts >= cuts || failed.len() == 10 {
            break;
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let Tally {
        runs,
        cuts,
        doubles,
        triples,
        set_aside,
        in_tables,
        operations,
        changes,
        ..
    } = tally;
    println!(
        "{cuts} cuts, of which {doubles} while another was mended ({triples} for the third time), \
         {set_aside} with a tail set aside, {in_tables} in transactions on the tables; in {runs} databases, {operations} operations, {changes} changes, {:.0} cuts/s",
        cuts as f64 / seconds
    );
    println!("cut in {:?}", tally.in_step);
    println!("cut at {:?}", tally.at);
    let each = tally.whole.iter();
    let each: Vec<_> = each
        .map(|(step, (count, sum))| (step, count, sum / count))
        .collect();
    println!("whole, and operations of each that change something {each:?}");
    assert_eq!(failed, [0; 0], "repeat one of these with SIMDB_TEST_SEED");
    // Of fewer cuts it may be that none was in this or that.
    if only.is_none() && cuts >= CUTS {
        for step in Step::ON_A_DATABASE {
            let silent = [Step::Snapshot, Step::DroppedTransaction];
            assert!(
                silent.contains(&step) || tally.in_step.contains_key(&step),
                "{step:?}"
            );
        }
        for step in [Step::Create, Step::BulkCreate, Step::Open] {
            assert!(tally.in_step.contains_key(&step), "{step:?}");
        }
        for asked in [
            Asked::Create,
            Asked::Write,
            Asked::SetLen,
            Asked::Sync,
            Asked::Remove,
            Asked::SyncFolder,
        ] {
            assert!(tally.at.contains_key(&asked), "{asked:?}");
        }
        assert!(doubles * 20 >= cuts * 9, "{doubles} of {cuts}");
        assert!(triples > 0 && set_aside * 20 > cuts && in_tables > 0);
    }
}

/// Cuts power at every operation of a step, leaves what is found alone once, and looks again. How
/// often it was cut in what.
fn cut_everywhere_in(step: Step) -> BTreeMap<Asked, u64> {
    let mut cut_at = BTreeMap::new();
    for at in 0.. {
        for chances in 0..3 {
            let mut world = World::new(Settings::default(), 11);
            if !matches!(step, Step::Create | Step::BulkCreate) {
                make_for(step, &mut world);
            }
            let is_done = chances == 1;
            world.disk.plan(Plan::Cut { at, is_done });
            let _ = world.take(step);
            let Some(asked) = world.disk.died_at() else {
                return cut_at;
            };
            *cut_at.entry(asked).or_default() += 1;
            world.restart(&mut Chance::new(at * 3 + chances));
            world.look().unwrap();
            if world.is_there == Known::Yes {
                world.take(Step::Close).unwrap();
                world.look().unwrap();
                world.take(Step::Check).unwrap();
                world.look().unwrap();
            }
        }
    }
    unreachable!("every step has an end")
}

/// A database with something in its tables and something in its journal.
fn make_for(step: Step, world: &mut World) {
    world.take(Step::Create).unwrap();
    for step in [Step::Batch, Step::Merge, Step::Batch, Step::Merge] {
        world.take(step).unwrap();
    }
    // The first change after it was opened notes in the file that there is a journal.
    world.take(Step::Close).unwrap();
    if step != Step::Upsert {
        world.take(Step::Batch).unwrap();
    }
}

fn count(cut_at: &BTreeMap<Asked, u64>) -> u64 {
    cut_at.values().sum()
}

#[test]
fn a_file_that_a_cut_left_opens_also_after_it_was_opened_and_closed() {
    assert!(count(&cut_everywhere_in(Step::Upsert)) > 60);
}

#[test]
fn a_check_can_be_cut_anywhere() {
    assert!(count(&cut_everywhere_in(Step::Check)) > 90);
}

#[test]
fn closing_can_be_cut_anywhere() {
    assert!(count(&cut_everywhere_in(Step::Close)) > 60);
}

/// A file that is whole before it gets its name.
#[test]
fn what_gives_a_file_its_name_can_be_cut_anywhere() {
    for step in [Step::Create, Step::BulkCreate, Step::Vacuum, Step::Backup] {
        let cut_at = cut_everywhere_in(step);
        assert!(count(&cut_at) > 120, "{step:?}");
        for asked in [Asked::Rename, Asked::SyncFolder] {
            assert!(cut_at.contains_key(&asked), "{step:?} {asked:?}");
        }
    }
}
