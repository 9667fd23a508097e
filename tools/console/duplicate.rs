//! [`DuplicateOf`]: the document that another is a duplicate of, and their resemblance.

use serde::Serialize;
use simdb::{DocId, Match, Outcome, Resemblance, Similar};

/// The resemblance of two texts, with the fields that lines of JSON have for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Alike {
    /// `None` for very long texts.
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

/// The document that another is a duplicate of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DuplicateOf {
    pub id: DocId,
    /// `None` if the recipe makes no fingerprints of texts.
    pub distance: Option<u32>,
    /// The resemblance of the texts, if they were compared.
    pub alike: Option<Alike>,
}

impl DuplicateOf {
    /// The document that forbade a change, if one did.
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

    /// The difference of both documents in millionths: of the texts if they were compared, of the
    /// fingerprints otherwise.
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

/// A share as people read it: `0.72`. A share of less than 1 is at most 0.99.
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
    fn only_the_whole_is_shown_as_such() {
        assert_eq!(share(1.0), "1.00");
        assert_eq!(share(0.9999), "0.99");
        assert_eq!(share(0.655), "0.66");
        assert_eq!(share(0.0), "0.00");
    }

    #[test]
    fn the_texts_tell_how_unlike_a_document_is_if_they_were_compared() {
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
