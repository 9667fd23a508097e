//! [`DuplicateOf`]: the stored document that a new document duplicates.

use serde::Serialize;
use simdb::{DocId, Match, Outcome, Resemblance, Similar};

/// The resemblance of two texts, with the field names of JSON lines.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Alike {
    /// `None` for very long texts, whose edit distance would take too long.
    pub edit_similarity: Option<f64>,
    pub jaccard: f64,
}

impl From<Resemblance> for Alike {
    fn from(resemblance: Resemblance) -> Self {
        Self {
            edit_similarity: resemblance.edit_similarity,
            jaccard: resemblance.jaccard,
        }
    }
}

impl std::fmt::Display for Alike {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let edit_similarity = self.edit_similarity.map_or("-".to_owned(), share);
        let jaccard = share(self.jaccard);
        write!(
            f,
            "edit similarity {edit_similarity}, Jaccard index {jaccard}"
        )
    }
}

/// The stored document that a new document duplicates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DuplicateOf {
    pub id: DocId,
    /// The Hamming distance; `None` if the recipe makes no fingerprints of texts.
    pub distance: Option<u32>,
    /// The resemblance of the texts, if they were compared.
    pub alike: Option<Alike>,
}

impl DuplicateOf {
    /// The stored document that prevented a change; `None` if the change was made.
    pub fn in_outcome(outcome: &Outcome) -> Option<Self> {
        match *outcome {
            Outcome::Duplicate(Match { id, distance, .. }) => Some(Self {
                id,
                distance: Some(distance),
                alike: None,
            }),
            Outcome::Similar(Similar {
                id,
                distance,
                resemblance,
                ..
            }) => Some(Self {
                id,
                distance,
                alike: Some(resemblance.into()),
            }),
            _ => None,
        }
    }

    /// The difference of both documents in millionths: of their texts if these were compared,
    /// otherwise of their fingerprints.
    pub fn unlikeness(&self) -> u32 {
        let share = match self.alike {
            Some(alike) => 1.0 - alike.edit_similarity.unwrap_or(0.0).max(alike.jaccard),
            None => f64::from(self.distance.unwrap_or(0)) / 64.0,
        };
        (share * 1e6) as u32
    }
}

impl std::fmt::Display for DuplicateOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.distance {
            Some(1) => write!(f, "1 bit apart")?,
            Some(distance) => write!(f, "{distance} bits apart")?,
            None => write!(f, "alike")?,
        }
        match &self.alike {
            Some(alike) => write!(f, ", {alike}"),
            None => Ok(()),
        }
    }
}

/// A share with two decimals: `0.72`. A share below 1 is at most 0.99.
pub fn share(share: f64) -> String {
    if share >= 1.0 {
        return "1.00".to_owned();
    }
    let hundredths = (share * 100.0).round();
    format!("{:.2}", hundredths.min(99.0) / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_below_one_is_not_rounded_to_one() {
        assert_eq!(share(1.0), "1.00");
        assert_eq!(share(0.9999), "0.99");
        assert_eq!(share(0.655), "0.66");
        assert_eq!(share(0.0), "0.00");
    }

    #[test]
    fn unlikeness_uses_texts_if_they_were_compared() {
        let of = |distance, alike| DuplicateOf {
            id: DocId(1),
            distance: Some(distance),
            alike,
        };
        let alike = |edit_similarity, jaccard| {
            Some(Alike {
                edit_similarity,
                jaccard,
            })
        };
        assert!(of(3, None).unlikeness() > of(2, None).unlikeness());
        let edited = of(2, alike(Some(0.7), 0.1));
        assert!(edited.unlikeness() > of(20, alike(Some(0.1), 0.8)).unlikeness());
        assert_eq!(
            edited.to_string(),
            "2 bits apart, edit similarity 0.70, Jaccard index 0.10"
        );
        assert_eq!(of(1, None).to_string(), "1 bit apart");
    }
}
