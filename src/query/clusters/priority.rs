//! [`Priority`]: the document of a cluster that is kept.

use super::Keep;
use crate::error::{Error, Result};
use crate::ids::{DocId, Timestamp};
use crate::store::View;

/// The priority of documents: the document of a cluster with the highest priority is kept.
pub(crate) enum Priority<'p> {
    Keep(Keep),
    /// The document with the highest score.
    Score(&'p mut dyn FnMut(DocId) -> f64),
}

impl Priority<'_> {
    /// Refuses a priority that needs texts or arrivals which the database does not keep.
    pub(in crate::query) fn refuse_if_not_kept(&self, view: &View) -> Result<()> {
        match self {
            Self::Keep(Keep::Longest | Keep::Cleanest) => view.refuse_without_texts(),
            Self::Keep(Keep::Oldest) if !view.keeps_arrivals() => {
                let path = view.path().to_path_buf();
                Err(Error::NoArrivals { path })
            }
            _ => Ok(()),
        }
    }

    /// The score of a document. Of two documents with equal scores, the smaller id has the
    /// priority.
    pub(in crate::query) fn score(&mut self, view: &View, id: DocId) -> Result<u64> {
        Ok(match self {
            Self::Keep(Keep::First) => 0,
            Self::Keep(Keep::Oldest) => {
                let arrival = view.stored(id)?.and_then(|state| state.arrival);
                // The earliest arrival has the highest score; a document without an arrival comes
                // last.
                arrival.map_or(0, |Timestamp(ms)| u64::MAX - ms)
            }
            Self::Keep(keep @ (Keep::Longest | Keep::Cleanest)) => {
                let text = view.text(id)?.unwrap_or_default();
                let length = text.chars().count() as u64;
                match keep {
                    Keep::Longest => length,
                    _ => u64::MAX - length,
                }
            }
            Self::Score(score) => sort_key(score(id)),
        })
    }
}

/// Maps a score to an integer with the same order. NaN is below all scores.
fn sort_key(score: f64) -> u64 {
    if score.is_nan() {
        return 0;
    }
    // `-0.0 + 0.0` is `0.0`: the two zeros are equal scores.
    let bits = (score + 0.0).to_bits();
    // Without their sign, the bits of positive numbers ascend with the score, and the bits of
    // negative numbers descend.
    if bits >> 63 == 0 {
        bits | 1 << 63
    } else {
        !bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sort_keys_are_in_order_of_scores_and_nan_is_least() {
        let ascending = [
            f64::NAN,
            f64::NEG_INFINITY,
            -1e300,
            -1.5,
            -f64::MIN_POSITIVE,
            0.0,
            f64::MIN_POSITIVE,
            0.5,
            7.0,
            1e300,
            f64::INFINITY,
        ];
        let keys = ascending.map(sort_key);
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
        assert_eq!(sort_key(-0.0), sort_key(0.0));
        assert_eq!(sort_key(-f64::NAN), 0);
    }
}
