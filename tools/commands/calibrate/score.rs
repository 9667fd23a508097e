//! The precision, recall and F1 of each way to find near-duplicates, for each class.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::corpus::{LabelledCorpus, LabelledPair, LabelledText, PairKey, class_order};
use super::measure::MAX_RADIUS;
use crate::console::rows::or_dash;
use crate::console::table::Align::{Left, Right};
use crate::console::table::Table;
use crate::console::{counted, grouped};

/// The class of all pairs.
const ALL: &str = "all";

/// The wording check pays if it raises the best F1 by at least 0.005.
const LEAST_GAIN: f64 = 0.005;

/// The confusion matrix of one way, and its shares, which are `None` for shares of 0 pairs.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct WayScore {
    tp: u64,
    fp: u64,
    r#fn: u64,
    tn: u64,
    pub precision: Option<f64>,
    pub recall: Option<f64>,
    pub f1: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct ClassScore {
    pub class: String,
    /// Listed pairs.
    pub pairs: u64,
    pub near_duplicates: u64,
    /// Documents of the listed pairs.
    documents: usize,
    /// Documents with an unreliable fingerprint.
    unreliable: usize,
    /// Fingerprints alone, for each radius from 0.
    pub fingerprints: Vec<WayScore>,
    /// Fingerprints and the wording check, for each radius from 0.
    pub checked: Vec<WayScore>,
    /// The forest, fingerprints, and the wording check.
    pub similar: WayScore,
    recommended: Recommended,
    #[serde(skip)]
    least_precision: f64,
}

#[derive(Clone, Copy, Serialize)]
struct Recommended {
    fingerprints: Radii,
    checked: Radii,
    check_pays: bool,
}

#[derive(Clone, Copy, Serialize)]
struct Radii {
    /// The least radius with the best F1; `None` if no radius finds a near-duplicate.
    best: Option<usize>,
    /// The largest radius with enough precision; `None` if there is no such radius.
    precise: Option<usize>,
}

/// The numbers of pairs that are found and not listed.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Unlisted {
    /// False positives.
    pub counted: usize,
    /// Pairs that are grey, or of one family.
    pub ignored: usize,
}

pub(super) fn scores(corpus: &LabelledCorpus, least_precision: f64) -> (Vec<ClassScore>, Unlisted) {
    let is_unlisted = |pair: &(&PairKey, &LabelledPair)| pair.1.label.is_none();
    let (ignored, pairs): (Vec<_>, Vec<_>) =
        (corpus.pairs.iter()).partition(|pair| is_unlisted(pair) && corpus.ignores(*pair.0));
    let counted = pairs.iter().filter(|pair| is_unlisted(pair)).count();
    let unlisted = Unlisted {
        counted,
        ignored: ignored.len(),
    };
    let mut classes: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for pair in &pairs {
        classes
            .entry(class_order(&pair.1.class))
            .or_default()
            .push(*pair);
    }
    let classes = classes
        .into_iter()
        .map(|((_, class), pairs)| (class, pairs));
    let scores = classes
        .chain([(ALL, pairs.clone())])
        .map(|(class, pairs)| ClassScore::new(class, &pairs, &corpus.documents, least_precision));
    (scores.collect(), unlisted)
}

impl WayScore {
    /// Scores pairs: `true` for a pair that is found, and its label, `None` for an unlisted pair.
    fn new(pairs: impl Iterator<Item = (bool, Option<bool>)>) -> Self {
        let [mut tp, mut fp, mut fn_, mut tn] = [0; 4];
        for pair in pairs {
            match pair {
                (true, Some(true)) => tp += 1,
                (true, _) => fp += 1,
                (false, Some(true)) => fn_ += 1,
                (false, Some(false)) => tn += 1,
                (false, None) => {}
            }
        }
        let share = |part: u64, all: u64| (all > 0).then(|| part as f64 / all as f64);
        Self {
            tp,
            fp,
            r#fn: fn_,
            tn,
            precision: share(tp, tp + fp),
            recall: share(tp, tp + fn_),
            f1: share(2 * tp, 2 * tp + fp + fn_),
        }
    }
}

impl ClassScore {
    fn new(
        class: &str,
        pairs: &[(&PairKey, &LabelledPair)],
        documents: &[LabelledText],
        least_precision: f64,
    ) -> Self {
        let score = |is_found: &dyn Fn(&LabelledPair) -> bool| {
            WayScore::new(pairs.iter().map(|(_, pair)| (is_found(pair), pair.label)))
        };
        let at_radii = |least: fn(&LabelledPair) -> Option<u32>| -> Vec<WayScore> {
            (0..=MAX_RADIUS)
                .map(|radius| score(&|pair| least(pair).is_some_and(|least| least <= radius)))
                .collect()
        };
        let fingerprints = at_radii(|pair| pair.alone);
        let checked = at_radii(|pair| pair.checked);
        let listed = pairs.iter().filter(|(_, pair)| pair.label.is_some());
        let indices: BTreeSet<_> = listed.clone().flat_map(|(key, _)| [key.0, key.1]).collect();
        let unreliable = indices
            .iter()
            .filter(|index| !documents[**index as usize].reliable);
        let near_duplicates = listed.clone().filter(|(_, pair)| pair.label == Some(true));
        let is_precise = |score: &WayScore| score.precision >= Some(least_precision);
        let radii = |scores: &[WayScore]| Radii {
            best: best(scores),
            precise: scores.iter().rposition(is_precise),
        };
        let best_f1 = |scores: &[WayScore]| best(scores).and_then(|radius| scores[radius].f1);
        let gain = best_f1(&checked).unwrap_or(0.0) - best_f1(&fingerprints).unwrap_or(0.0);
        Self {
            class: class.to_owned(),
            pairs: listed.count() as u64,
            near_duplicates: near_duplicates.count() as u64,
            documents: indices.len(),
            unreliable: unreliable.count(),
            similar: score(&|pair| pair.similar),
            recommended: Recommended {
                fingerprints: radii(&fingerprints),
                checked: radii(&checked),
                check_pays: gain >= LEAST_GAIN,
            },
            fingerprints,
            checked,
            least_precision,
        }
    }

    /// The table of scores, and the recommended radii.
    pub fn text(&self) -> String {
        let unreliable = self.unreliable as f64 / self.documents as f64;
        let unreliable = (self.documents > 0).then(|| format!("{:.1}%", unreliable * 100.0));
        let mut table = Table::new(&[Left, Right, Right, Right, Right, Right, Right]);
        table.row("radius|precision|recall|F1|checked: precision|recall|F1".split('|'));
        let shares = |score: &WayScore| [score.precision, score.recall, score.f1].map(decimal);
        for (radius, (alone, checked)) in self.fingerprints.iter().zip(&self.checked).enumerate() {
            table.row([&[radius.to_string()][..], &shares(alone), &shares(checked)].concat());
        }
        let beside = ["similar", "", "", ""].map(str::to_owned);
        table.row([&beside[..], &shares(&self.similar)].concat());

        let Recommended {
            fingerprints,
            checked,
            check_pays,
        } = self.recommended;
        let best = |radii: Radii, scores: &[WayScore]| match radii.best {
            Some(radius) => format!("radius {radius} (F1 {})", decimal(scores[radius].f1)),
            None => "no radius finds anything".to_owned(),
        };
        let precise = |radii: Radii| match radii.precise {
            Some(radius) => format!("radius {radius}"),
            None => "no radius".to_owned(),
        };
        format!(
            "{}: {}, {} of them near-duplicates; {} of {} have an unreliable fingerprint\n{table}\n\
             best F1: fingerprints alone {}, with the wording check {}, similar {}\n\
             largest with a precision of at least {}: fingerprints alone {}, with the wording check {}\n\
             the wording check {}",
            self.class,
            counted(self.pairs, "pair"),
            grouped(self.near_duplicates),
            unreliable.as_deref().unwrap_or("none"),
            counted(self.documents as u64, "document"),
            best(fingerprints, &self.fingerprints),
            best(checked, &self.checked),
            decimal(self.similar.f1),
            self.least_precision,
            precise(fingerprints),
            precise(checked),
            if check_pays {
                "pays: the best F1 with it is higher"
            } else {
                "does not pay: the best F1 without it is as high"
            },
        )
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

fn decimal(share: Option<f64>) -> String {
    or_dash(share.map(|share| format!("{share:.4}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// True positives, false positives, false negatives and true negatives.
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
    }
}
