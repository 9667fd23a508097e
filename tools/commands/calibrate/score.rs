//! How right the ways to find near-duplicates are: precision, recall and F1 for each class.

use serde::{Serialize, Serializer};

use super::corpus::{Corpus, class_order};
use super::measure::{Found, MOST_RADIUS, Measured};

/// The class of all pairs.
pub(super) const ALL: &str = "all";

/// How many radii are tried, from 0.
pub(super) const RADII: usize = MOST_RADIUS as usize + 1;

/// The wording check pays if the best F1 with it is so much better.
const LEAST_GAIN: f64 = 0.005;

/// What was found and what was not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub true_positives: u64,
    pub false_positives: u64,
    pub false_negatives: u64,
    pub true_negatives: u64,
}

impl Counts {
    fn add(&mut self, is_found: bool, label: bool) {
        *match (is_found, label) {
            (true, true) => &mut self.true_positives,
            (true, false) => &mut self.false_positives,
            (false, true) => &mut self.false_negatives,
            (false, false) => &mut self.true_negatives,
        } += 1;
    }

    /// Of what was found, the share that is right; nothing if nothing was found.
    pub fn precision(&self) -> Option<f64> {
        share(
            self.true_positives,
            self.true_positives + self.false_positives,
        )
    }

    /// Of the near-duplicates, the share that was found; nothing if there are none.
    pub fn recall(&self) -> Option<f64> {
        share(
            self.true_positives,
            self.true_positives + self.false_negatives,
        )
    }

    /// The harmonic mean of precision and recall.
    pub fn f1(&self) -> Option<f64> {
        let wrong = self.false_positives + self.false_negatives;
        share(2 * self.true_positives, 2 * self.true_positives + wrong)
    }
}

fn share(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct CountsLine {
            tp: u64,
            fp: u64,
            r#fn: u64,
            tn: u64,
            precision: Option<f64>,
            recall: Option<f64>,
            f1: Option<f64>,
        }
        let line = CountsLine {
            tp: self.true_positives,
            fp: self.false_positives,
            r#fn: self.false_negatives,
            tn: self.true_negatives,
            precision: self.precision(),
            recall: self.recall(),
            f1: self.f1(),
        };
        line.serialize(serializer)
    }
}

/// How right all ways are for one class of pairs.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ClassScore {
    pub class: String,
    pub pairs: u64,
    pub near_duplicates: u64,
    /// Documents of these pairs.
    pub documents: u64,
    /// Those whose fingerprint is unreliable.
    pub unreliable: u64,
    /// Fingerprints alone, for each radius from 0.
    pub fingerprints: Vec<Counts>,
    /// Fingerprints and the wording check, for each radius from 0.
    pub checked: Vec<Counts>,
    /// Bands, fingerprints, and the wording check.
    pub similar: Counts,
    pub recommended: Recommended,
}

/// What follows for a class.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Recommended {
    pub fingerprints: Radii,
    pub checked: Radii,
    pub check_pays: bool,
}

/// Radii for one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Radii {
    /// The least of those with the best F1; nothing if there is nothing to find.
    pub best: Option<u32>,
    /// The largest with the precision that is asked for; nothing if none has it.
    pub precise: Option<u32>,
}

/// How right all ways are for each class, and for all pairs.
pub(super) fn scores(
    corpus: &Corpus,
    measured: &Measured,
    least_precision: f64,
) -> (Vec<ClassScore>, Unlisted) {
    let mut classes: Vec<&str> = corpus
        .pairs
        .iter()
        .map(|pair| pair.class.as_str())
        .collect();
    let (alarms, unlisted) = alarms(corpus, measured);
    classes.extend(alarms.iter().map(|(class, _)| *class));
    classes.sort_unstable_by_key(|class| class_order(class));
    classes.dedup();
    let classes = classes.into_iter().map(Some).chain([None]);
    let scores = classes.map(|class| {
        let mut score = score(corpus, measured, &alarms, class);
        score.recommended = recommended(&score, least_precision);
        score
    });
    (scores.collect(), unlisted)
}

/// What became of pairs that are found and not listed.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Unlisted {
    /// False alarms.
    pub counted: u64,
    /// Those that were said to be neither, or are of one family.
    pub ignored: u64,
}

/// The pairs that are found and should not be, with their classes.
fn alarms<'c>(corpus: &'c Corpus, measured: &Measured) -> (Vec<(&'c str, Found)>, Unlisted) {
    let mut alarms = Vec::new();
    let mut unlisted = Unlisted::default();
    for &(key, found) in &measured.unlisted {
        let [a, b] = [key.0, key.1].map(|place| &corpus.documents[place as usize].family);
        let is_grey = corpus
            .closed
            .as_ref()
            .is_some_and(|grey| grey.contains(&key));
        if is_grey || a.is_some() && a == b {
            unlisted.ignored += 1;
        } else {
            unlisted.counted += 1;
            alarms.push((corpus.class_of_pair(key), found));
        }
    }
    (alarms, unlisted)
}

fn score(
    corpus: &Corpus,
    measured: &Measured,
    alarms: &[(&str, Found)],
    class: Option<&str>,
) -> ClassScore {
    let is_of = |other: &str| class.is_none_or(|class| class == other);
    let mut score = ClassScore {
        class: class.unwrap_or(ALL).to_owned(),
        pairs: 0,
        near_duplicates: 0,
        documents: 0,
        unreliable: 0,
        fingerprints: vec![Counts::default(); RADII],
        checked: vec![Counts::default(); RADII],
        similar: Counts::default(),
        recommended: Recommended::default(),
    };
    let mut documents = Vec::new();
    let listed = corpus.pairs.iter().zip(&measured.listed);
    for (pair, found) in listed.filter(|(pair, _)| is_of(&pair.class)) {
        score.pairs += 1;
        score.near_duplicates += u64::from(pair.label);
        documents.extend([pair.key.0, pair.key.1]);
        score.add(found, pair.label);
    }
    for (_, found) in alarms.iter().filter(|(class, _)| is_of(class)) {
        score.add_alarm(found);
    }
    documents.sort_unstable();
    documents.dedup();
    score.documents = documents.len() as u64;
    let unreliable = documents
        .iter()
        .filter(|place| !measured.made[**place as usize].reliable);
    score.unreliable = unreliable.count() as u64;
    score
}

/// Whether a pair that is found from a radius on is found at another.
fn is_within(least: Option<u32>, radius: usize) -> bool {
    least.is_some_and(|least| least as usize <= radius)
}

impl ClassScore {
    fn add(&mut self, found: &Found, label: bool) {
        for radius in 0..RADII {
            self.fingerprints[radius].add(is_within(found.alone, radius), label);
            self.checked[radius].add(is_within(found.checked, radius), label);
        }
        self.similar.add(found.similar, label);
    }

    /// Counts a pair that is not listed, where it is found.
    fn add_alarm(&mut self, found: &Found) {
        for radius in 0..RADII {
            self.fingerprints[radius].false_positives += u64::from(is_within(found.alone, radius));
            self.checked[radius].false_positives += u64::from(is_within(found.checked, radius));
        }
        self.similar.false_positives += u64::from(found.similar);
    }
}

fn recommended(score: &ClassScore, least_precision: f64) -> Recommended {
    let radii = |counts: &[Counts]| Radii {
        best: best(counts),
        precise: counts
            .iter()
            .rposition(|counts| counts.precision() >= Some(least_precision))
            .map(|radius| radius as u32),
    };
    let f1 = |counts: &[Counts]| {
        let radius = best(counts)?;
        counts[radius as usize].f1()
    };
    let (alone, checked) = (f1(&score.fingerprints), f1(&score.checked));
    Recommended {
        fingerprints: radii(&score.fingerprints),
        checked: radii(&score.checked),
        check_pays: checked.unwrap_or(0.0) - alone.unwrap_or(0.0) >= LEAST_GAIN,
    }
}

/// The least radius with the best F1, if anything is found.
fn best(counts: &[Counts]) -> Option<u32> {
    let mut best: Option<(usize, f64)> = None;
    for (radius, f1) in counts.iter().enumerate() {
        let f1 = f1.f1().unwrap_or(0.0);
        if f1 > best.map_or(0.0, |(_, best)| best) {
            best = Some((radius, f1));
        }
    }
    best.map(|(radius, _)| radius as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(cells: [u64; 4]) -> Counts {
        let [
            true_positives,
            false_positives,
            false_negatives,
            true_negatives,
        ] = cells;
        Counts {
            true_positives,
            false_positives,
            false_negatives,
            true_negatives,
        }
    }

    #[test]
    fn shares_of_nothing_are_none() {
        let none = counts([0, 0, 0, 5]);
        assert_eq!(
            (none.precision(), none.recall(), none.f1()),
            (None, None, None)
        );
        let some = counts([3, 1, 2, 0]);
        assert_eq!(some.precision(), Some(0.75));
        assert_eq!(some.recall(), Some(0.6));
        assert_eq!(some.f1(), Some(6.0 / 9.0));
    }

    #[test]
    fn the_best_radius_is_the_least_of_equals() {
        let radii = [[0, 0, 4, 4], [2, 0, 2, 4], [2, 0, 2, 4], [3, 3, 1, 1]].map(counts);
        assert_eq!(best(&radii), Some(1));
        assert_eq!(best(&radii[..1]), None);
    }
}
