//! The precision, recall and F1 of each way to find near-duplicates, for each class.

use std::collections::BTreeSet;

use bench_support::table::Table;

use super::corpus::{CLASSES, LabelledCorpus, LabelledPair, LabelledText, PairKey};
use super::measure::MAX_RADIUS;

const COLUMNS: [&str; 6] = ["precision", "recall", "F1", "right", "wrong", "missed"];

/// The confusion matrix of one way, and its shares, which are `None` for shares of 0 pairs.
#[derive(Clone, Copy, Debug)]
pub struct WayScore {
    /// True positives, false positives, false negatives and true negatives.
    pub cells: [u64; 4],
    pub precision: Option<f64>,
    pub recall: Option<f64>,
    pub f1: Option<f64>,
}

pub struct ClassScore {
    class: &'static str,
    /// Listed pairs.
    pub pairs: usize,
    pub near_duplicates: usize,
    /// Documents of the listed pairs.
    pub documents: usize,
    /// Documents with an unreliable fingerprint.
    pub unreliable: usize,
    /// Fingerprints alone, for each radius from 0.
    pub fingerprints: Vec<WayScore>,
    /// Fingerprints and the wording check, for each radius from 0.
    pub checked: Vec<WayScore>,
    /// The forest, fingerprints, and the wording check.
    pub similar: WayScore,
}

/// The numbers of pairs that are found and not listed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unlisted {
    /// False positives.
    pub counted: usize,
    /// Pairs that are grey, or of one family.
    pub ignored: usize,
}

/// The scores of each class with pairs, then of all pairs.
pub fn scores(corpus: &LabelledCorpus) -> (Vec<ClassScore>, Unlisted) {
    let is_unlisted = |pair: &(&PairKey, &LabelledPair)| pair.1.label.is_none();
    let (ignored, pairs): (Vec<_>, Vec<_>) =
        (corpus.pairs.iter()).partition(|pair| is_unlisted(pair) && corpus.ignores(*pair.0));
    let unlisted = Unlisted {
        counted: pairs.iter().filter(|pair| is_unlisted(pair)).count(),
        ignored: ignored.len(),
    };
    let score = |name: &'static str, pairs: &[_]| ClassScore::new(name, pairs, &corpus.documents);
    let mut scores = Vec::new();
    for (class, (_, name)) in CLASSES.into_iter().enumerate() {
        let pairs: Vec<_> = (pairs.iter().copied())
            .filter(|(_, pair)| pair.class == class)
            .collect();
        if !pairs.is_empty() {
            scores.push(score(name, &pairs));
        }
    }
    scores.push(score("all", &pairs));
    (scores, unlisted)
}

impl WayScore {
    /// Scores pairs: `true` for a pair that is found, and its label, `None` for an unlisted pair.
    fn new(pairs: impl Iterator<Item = (bool, Option<bool>)>) -> Self {
        let mut cells = [0; 4];
        for pair in pairs {
            match pair {
                (true, Some(true)) => cells[0] += 1,
                (true, _) => cells[1] += 1,
                (false, Some(true)) => cells[2] += 1,
                (false, Some(false)) => cells[3] += 1,
                (false, None) => {}
            }
        }
        let [tp, fp, fn_, _] = cells;
        let share = |part: u64, all: u64| (all > 0).then(|| part as f64 / all as f64);
        Self {
            cells,
            precision: share(tp, tp + fp),
            recall: share(tp, tp + fn_),
            f1: share(2 * tp, 2 * tp + fp + fn_),
        }
    }
}

impl ClassScore {
    fn new(
        class: &'static str,
        pairs: &[(&PairKey, &LabelledPair)],
        documents: &[LabelledText],
    ) -> Self {
        let score = |is_found: &dyn Fn(&LabelledPair) -> bool| {
            WayScore::new(pairs.iter().map(|(_, pair)| (is_found(pair), pair.label)))
        };
        let at_radii = |least: fn(&LabelledPair) -> Option<u32>| -> Vec<WayScore> {
            (0..=MAX_RADIUS)
                .map(|radius| score(&|pair| least(pair).is_some_and(|least| least <= radius)))
                .collect()
        };
        let listed = pairs.iter().filter(|(_, pair)| pair.label.is_some());
        let indices: BTreeSet<_> = listed.clone().flat_map(|(key, _)| [key.0, key.1]).collect();
        let unreliable = indices
            .iter()
            .filter(|index| !documents[**index as usize].reliable);
        let near_duplicates = listed.clone().filter(|(_, pair)| pair.label == Some(true));
        Self {
            class,
            pairs: listed.count(),
            near_duplicates: near_duplicates.count(),
            documents: indices.len(),
            unreliable: unreliable.count(),
            fingerprints: at_radii(|pair| pair.alone),
            checked: at_radii(|pair| pair.checked),
            similar: score(&|pair| pair.similar),
        }
    }

    pub fn title(&self) -> String {
        format!(
            "{}: {} pairs, {} near-duplicates",
            self.class, self.pairs, self.near_duplicates
        )
    }

    /// Prints the table of scores, and the radii to choose for a least precision.
    pub fn print(&self, least_precision: f64) {
        let title = format!(
            "{}; {} of {} documents have an unreliable fingerprint",
            self.title(),
            self.unreliable,
            self.documents
        );
        let table = Table::new(&title, &COLUMNS);
        for (way, scores) in self.by_radius() {
            for (radius, score) in scores.iter().enumerate() {
                table.row(&format!("{way}, radius {radius}"), &score.columns());
            }
        }
        table.row("similar", &self.similar.columns());
        println!();
        for (way, scores) in self.by_radius() {
            let radius = |radius: Option<usize>| match radius {
                Some(radius) => format!("radius {radius}"),
                None => "no radius".to_owned(),
            };
            println!(
                "{way}: best F1 at {}, largest with a precision of {least_precision}: {}",
                radius(best(scores)),
                radius(largest(scores, least_precision))
            );
        }
    }

    fn by_radius(&self) -> [(&'static str, &[WayScore]); 2] {
        [
            ("fingerprints alone", &self.fingerprints),
            ("checked", &self.checked),
        ]
    }
}

impl WayScore {
    /// The values of [`COLUMNS`].
    fn columns(&self) -> [String; 6] {
        let share = |share: Option<f64>| share.map_or("-".to_owned(), |x| format!("{x:.4}"));
        let [right, wrong, missed, _] = self.cells.map(|cell| cell.to_string());
        let [precision, recall, f1] = [self.precision, self.recall, self.f1].map(share);
        [precision, recall, f1, right, wrong, missed]
    }
}

/// The least radius with the best F1; `None` if no near-duplicate is found.
fn best(scores: &[WayScore]) -> Option<usize> {
    let f1 = |radius: usize| scores[radius].f1.unwrap_or(0.0);
    // `max_by` returns the last maximum, so the order is reversed.
    let radii = (0..scores.len()).rev();
    let best = radii.max_by(|one, other| f1(*one).total_cmp(&f1(*other)));
    best.filter(|best| f1(*best) > 0.0)
}

/// The largest radius with enough precision; `None` if there is no such radius.
fn largest(scores: &[WayScore], least_precision: f64) -> Option<usize> {
    scores
        .iter()
        .rposition(|score| score.precision >= Some(least_precision))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(cells: [usize; 4]) -> WayScore {
        let pairs = [(true, true), (true, false), (false, true), (false, false)];
        let pairs = pairs.into_iter().zip(cells);
        WayScore::new(pairs.flat_map(|((is_found, label), count)| {
            std::iter::repeat_n((is_found, Some(label)), count)
        }))
    }

    #[test]
    fn share_of_no_pairs_is_none() {
        let none = score([0, 0, 0, 5]);
        assert_eq!((none.precision, none.recall, none.f1), (None, None, None));
        let some = score([3, 1, 2, 0]);
        assert_eq!(some.precision, Some(0.75));
        assert_eq!(some.recall, Some(0.6));
        assert_eq!(some.f1, Some(6.0 / 9.0));
    }

    #[test]
    fn best_radius_is_least_of_equal_f1() {
        let radii = [[0, 0, 4, 4], [2, 0, 2, 4], [2, 0, 2, 4], [3, 3, 1, 1]].map(score);
        assert_eq!(best(&radii), Some(1));
        assert_eq!(best(&radii[..1]), None);
        assert_eq!(largest(&radii, 0.9), Some(2));
    }
}
