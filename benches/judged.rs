//! Containment on pairs that readers have judged.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use bench_support::table::time;
use bench_support::timing::timed;
use serde_json::Value;
use simdb::Normaliser;
use simdb::containment::{Containment, Verdict, Weights};
use simdb::similarity::Likeness;

use crate::verdict_probes::language_of;

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

/// The counts of each rule.
#[derive(Default)]
struct Rules {
    contained: Counts,
    news: Counts,
    alike: Counts,
}

impl Rules {
    fn print(&self, name: &str) {
        self.contained.print(&format!("{name}contained"));
        self.news.print(&format!("{name}news"));
        self.alike
            .print(&format!("{name}alike (edit similarity, Jaccard)"));
    }
}

/// Prints precision, recall and the right directions of containment, and of likeness, for all pairs
/// and by genre and language.
pub fn print_judged(path: &Path) {
    let lines = std::fs::read_to_string(path).expect("judged pairs");
    let pairs: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let normaliser = Normaliser::new();
    let mut all = Rules::default();
    let mut groups: BTreeMap<String, Rules> = BTreeMap::new();
    let mut directions = [0, 0];
    let mut taken = Duration::ZERO;
    for pair in &pairs {
        let text = |name: &str| pair[name].as_str().expect("a text");
        let is_removable = match text("gold") {
            "removable" => true,
            "different" => false,
            _ => continue,
        };
        let (a, b) = (text("a"), text("b"));
        let ((found, resemblance), time) =
            timed(|| Containment::with_resemblance(&normaliser, Weights::builtin(), a, b));
        taken += time;
        let news = Containment::new(&normaliser, Weights::news(), a, b);
        let language = pair["lang"].as_str().unwrap_or(language_of(a));
        let group = groups
            .entry(format!("{}, {language}, ", text("set")))
            .or_default();
        for rules in [&mut all, group] {
            let is_found = found.verdict.is_removable();
            rules.contained.add(is_removable, is_found);
            rules.news.add(is_removable, news.verdict.is_removable());
            let is_alike = resemblance.is_enough(&Likeness::default());
            rules.alike.add(is_removable, is_alike);
        }
        // A label by itself stands for two equal labels.
        let label = pair["labels"].as_str().map_or_else(
            || {
                pair["labels"][0]
                    .as_str()
                    .filter(|one| pair["labels"][1] == *one)
            },
            |labels| labels.get(..1).filter(|one| labels == one.repeat(2)),
        );
        let expected = match label {
            Some("A") => Verdict::AInB,
            Some("B") => Verdict::BInA,
            _ => continue,
        };
        if found.verdict.is_removable() {
            directions[usize::from(found.verdict == expected)] += 1;
        }
    }
    println!(
        "{}: {} judged pairs, {}",
        path.file_name().unwrap_or_default().display(),
        pairs.len(),
        time(taken / pairs.len().max(1) as u32)
    );
    all.print("");
    println!(
        "direction: {} of {} right",
        directions[1],
        directions[0] + directions[1]
    );
    for (group, rules) in groups {
        rules.print(&group);
    }
}

/// Prints the labelled pairs that containment and likeness find, by kind of edit.
pub fn print_kinds<'t>(pairs: impl Iterator<Item = (&'t str, &'t str, &'t str)>) {
    let normaliser = Normaliser::new();
    let mut kinds: BTreeMap<&str, [u32; 3]> = BTreeMap::new();
    for (kind, a, b) in pairs {
        let (found, resemblance) =
            Containment::with_resemblance(&normaliser, Weights::builtin(), a, b);
        let [contained, alike, all] = kinds.entry(kind).or_default();
        *contained += u32::from(found.verdict.is_removable());
        *alike += u32::from(resemblance.is_enough(&Likeness::default()));
        *all += 1;
    }
    for (kind, [contained, alike, all]) in kinds {
        println!("{kind}: contained {contained}, alike {alike} of {all}");
    }
}
