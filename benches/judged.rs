//! Containment on pairs that readers have judged.

use std::collections::BTreeMap;
use std::path::Path;

use bench_support::table::time;
use bench_support::timing::timed;
use serde_json::Value;
use simdb::Normaliser;
use simdb::containment::{Containment, Verdict, Weights};
use simdb::similarity::Likeness;

#[derive(Default)]
struct Counts {
    right: u32,
    wrong: u32,
    missed: u32,
}

impl Counts {
    fn add(&mut self, is_removable: bool, is_found: bool) {
        self.right += u32::from(is_removable && is_found);
        self.wrong += u32::from(!is_removable && is_found);
        self.missed += u32::from(is_removable && !is_found);
    }

    fn print(&self, name: &str) {
        let share = |of: u32| f64::from(self.right) / f64::from(of.max(1));
        println!(
            "{name}: precision {:.3}, recall {:.3} ({} right, {} wrong, {} missed)",
            share(self.right + self.wrong),
            share(self.right + self.missed),
            self.right,
            self.wrong,
            self.missed
        );
    }
}

/// Prints precision, recall and the right directions of containment, and of likeness.
pub fn print_judged(path: &Path) {
    let lines = std::fs::read_to_string(path).expect("judged pairs");
    let pairs: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let normaliser = Normaliser::new();
    let (mut contained, mut alike) = (Counts::default(), Counts::default());
    let mut directions = [0, 0];
    let (_, taken) = timed(|| {
        for pair in &pairs {
            let text = |name: &str| pair[name].as_str().expect("a text");
            let is_removable = match text("gold") {
                "removable" => true,
                "different" => false,
                _ => continue,
            };
            let (found, resemblance) = Containment::with_resemblance(
                &normaliser,
                Weights::builtin(),
                text("a"),
                text("b"),
            );
            contained.add(is_removable, found.verdict.is_removable());
            alike.add(is_removable, resemblance.is_enough(&Likeness::default()));
            let expected = match text("labels") {
                "AA" => Verdict::AInB,
                "BB" => Verdict::BInA,
                _ => continue,
            };
            if found.verdict.is_removable() {
                directions[usize::from(found.verdict == expected)] += 1;
            }
        }
    });
    println!(
        "{} judged pairs, {}",
        pairs.len(),
        time(taken / pairs.len().max(1) as u32)
    );
    contained.print("contained");
    alike.print("alike (edit similarity, Jaccard)");
    println!(
        "direction: {} of {} right",
        directions[1],
        directions[0] + directions[1]
    );
}

/// Prints the share of labelled pairs that containment finds, by kind of edit.
pub fn print_kinds<'t>(pairs: impl Iterator<Item = (&'t str, &'t str, &'t str)>) {
    let normaliser = Normaliser::new();
    let mut kinds: BTreeMap<&str, [u32; 2]> = BTreeMap::new();
    for (kind, a, b) in pairs {
        let found = Containment::new(&normaliser, Weights::builtin(), a, b);
        kinds.entry(kind).or_default()[usize::from(found.verdict.is_removable())] += 1;
    }
    for (kind, [kept, found]) in kinds {
        println!("contained, {kind}: {found} of {}", kept + found);
    }
}
