//! [`DuplicateOf`]: the stored document that a new document duplicates.

use serde::Serialize;
use serde_json::Value;
use simdb::containment::Containment;
use simdb::{DocId, Match, Outcome, Similar, Snapshot};

use super::missing_words::{missing_words, rows};

/// The comparison of two texts, with the field names of JSON lines.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Alike {
    /// `None` for very long texts, whose edit distance would take too long.
    pub edit_similarity: Option<f64>,
    pub jaccard: f64,
    /// `None` if the thresholds alone have decided.
    #[serde(flatten)]
    pub contained: Option<Contained>,
}

/// The words of two texts that the other text lacks: A is the new text or the query, B the
/// stored text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contained {
    /// `verdict` is a field of the answers of watch.
    pub containment: &'static str,
    pub missing_in_b: Value,
    pub missing_in_a: Value,
    #[serde(skip)]
    words: Option<String>,
}

impl From<&Containment> for Contained {
    fn from(found: &Containment) -> Self {
        Self {
            containment: found.verdict.name(),
            missing_in_b: rows(&found.missing_in_b),
            missing_in_a: rows(&found.missing_in_a),
            words: missing_words(found),
        }
    }
}

impl From<&Similar> for Alike {
    fn from(similar: &Similar) -> Self {
        Self {
            edit_similarity: similar.resemblance.edit_similarity,
            jaccard: similar.resemblance.jaccard,
            contained: similar.containment.as_deref().map(Contained::from),
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
        )?;
        let Some(found) = &self.contained else {
            return Ok(());
        };
        write!(f, ", {}", found.containment)?;
        let words = found.words.as_ref();
        words.map_or(Ok(()), |words| write!(f, ": {words}"))
    }
}

/// The stored document that a new document duplicates.
#[derive(Clone, Debug, PartialEq)]
pub struct DuplicateOf {
    pub id: DocId,
    /// The key of a new document, whose id is not known here; `None` for a stored document.
    pub key: Option<String>,
    /// The Hamming distance; `None` if the recipe makes no fingerprints of texts.
    pub distance: Option<u32>,
    /// The resemblance of the texts, if they were compared.
    pub alike: Option<Alike>,
}

impl DuplicateOf {
    /// The stored document that prevented a change; `None` if the change was made.
    pub fn in_outcome(outcome: &Outcome) -> Option<Self> {
        match outcome {
            Outcome::Duplicate(Match { id, distance, .. }) => Some(Self {
                id: *id,
                key: None,
                distance: Some(*distance),
                alike: None,
            }),
            Outcome::Similar(similar) => Some(similar.into()),
            _ => None,
        }
    }

    /// The difference of both documents in millionths: of their texts if these were compared,
    /// otherwise of their fingerprints.
    pub fn unlikeness(&self) -> u32 {
        let share = match &self.alike {
            Some(alike) => 1.0 - alike.edit_similarity.unwrap_or(0.0).max(alike.jaccard),
            None => f64::from(self.distance.unwrap_or(0)) / 64.0,
        };
        (share * 1e6) as u32
    }
}

/// The stored documents that a new document covers, with the field names of JSON lines.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Extended {
    /// The document that stays.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extends: Vec<u64>,
    /// Its key, in a database with keys.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extends_keys: Vec<String>,
    /// The documents that were removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replaces: Vec<u64>,
    /// Their keys, in a database with keys.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replaces_keys: Vec<String>,
}

impl Extended {
    pub fn in_outcome(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Extends(stored) => Self {
                extends: vec![stored.id.0],
                ..Self::default()
            },
            Outcome::Supersedes(removed) => Self {
                replaces: removed.iter().map(|removed| removed.id.0).collect(),
                replaces_keys: removed
                    .iter()
                    .filter_map(|removed| removed.key.as_deref().map(str::to_owned))
                    .collect(),
                ..Self::default()
            },
            _ => Self::default(),
        }
    }

    /// Adds the key of the document that stays.
    pub fn with_keys(mut self, snapshot: &Snapshot) -> simdb::Result<Self> {
        for id in &self.extends {
            self.extends_keys.extend(snapshot.key(DocId(*id))?);
        }
        Ok(self)
    }
}

impl DuplicateOf {
    /// The new document, for the report of a stored document that it has replaced.
    pub fn replacing(removed: &Similar, new: DocId, key: Option<String>) -> Self {
        // In the line of a removed document, A is the removed text.
        let containment = removed.containment.clone();
        let swapped = Similar {
            id: new,
            containment: containment.map(|found| Box::new(found.swapped())),
            ..removed.clone()
        };
        Self {
            key,
            ..Self::from(&swapped)
        }
    }
}

impl From<&Similar> for DuplicateOf {
    fn from(similar: &Similar) -> Self {
        Self {
            id: similar.id,
            key: None,
            distance: similar.distance,
            alike: Some(similar.into()),
        }
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
            key: None,
            distance: Some(distance),
            alike,
        };
        let alike = |edit_similarity, jaccard| {
            Some(Alike {
                edit_similarity,
                jaccard,
                contained: None,
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
