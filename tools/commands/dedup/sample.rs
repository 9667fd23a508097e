//! [`RemovalSample`]: removals for a person to look at, chosen evenly over what they lost.

use std::collections::BTreeMap;
use std::fmt::Display;

use anyhow::Result;
use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_64;

use crate::commands::serve::removals_page;
use crate::console::file::OutputFile;
use crate::console::paths::OutputPath;

/// The most removals of a stratum that are shown.
const SHOWN: usize = 20;

/// The upper bounds of the strata of forgiven differences, and of lost words in nats.
const FORGIVEN: [usize; 4] = [0, 1, 3, 7];
const NATS: [f64; 4] = [4.0, 8.0, 16.0, 32.0];

/// The loss of a removal. Strata are shown from the largest loss on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stratum {
    Identical,
    /// No word is lost; the index of the bound of the number of forgiven differences.
    Forgiven(usize),
    /// Words are lost; the index of the bound of their weights.
    Lost(usize),
}

impl Stratum {
    fn new(line: &Map<String, Value>, [text, keeper]: &[String; 2]) -> Self {
        let rows = |name: &str| line.get(name).and_then(Value::as_array);
        let weights = rows("missing").into_iter().flatten();
        let lost: f64 = weights
            .filter_map(|row| row.get(1).and_then(Value::as_f64))
            .sum();
        let forgiven = rows("forgiven").map_or(0, Vec::len);
        match () {
            () if text == keeper => Self::Identical,
            () if lost == 0.0 => Self::Forgiven(FORGIVEN.partition_point(|most| *most < forgiven)),
            () => Self::Lost(NATS.partition_point(|most| *most < lost)),
        }
    }

    fn label(self) -> String {
        match self {
            Self::Identical => "identical".to_owned(),
            Self::Forgiven(0) => "no word lost, nothing forgiven".to_owned(),
            Self::Forgiven(1) => "no word lost, 1 difference forgiven".to_owned(),
            Self::Forgiven(bound) => {
                let range = range(FORGIVEN[bound - 1] + 1, FORGIVEN.get(bound));
                format!("no word lost, {range} differences forgiven")
            }
            Self::Lost(0) => format!("words of at most {} nats lost", NATS[0]),
            Self::Lost(bound) => {
                let range = range(NATS[bound - 1], NATS.get(bound));
                format!("words of {range} nats lost")
            }
        }
    }
}

/// The range from a value to the bound of a stratum, or without one.
fn range<T: Display>(from: T, to: Option<&T>) -> String {
    match to {
        Some(to) => format!("{from} to {to}"),
        None => format!("{from} or more"),
    }
}

/// A sample of removals, which becomes a page of HTML.
pub struct RemovalSample {
    page: OutputFile,
    removed: u64,
    /// The removals without a text, or whose keeper has none.
    unknown: u64,
    strata: BTreeMap<Stratum, Chosen>,
}

/// The removals of a stratum with the smallest hashes of their ids: the same in each run.
#[derive(Default)]
struct Chosen {
    count: u64,
    lines: BTreeMap<u64, Value>,
}

impl RemovalSample {
    /// Creates the file of the page.
    pub fn create(page: OutputPath) -> Result<Self> {
        Ok(Self {
            page: OutputFile::create(page)?,
            removed: 0,
            unknown: 0,
            strata: BTreeMap::new(),
        })
    }

    /// Offers a removal, as its line of the report and both texts.
    pub fn offer(&mut self, line: &Map<String, Value>, texts: Option<[String; 2]>) {
        self.removed += 1;
        let Some(texts) = texts else {
            self.unknown += 1;
            return;
        };
        let chosen = self.strata.entry(Stratum::new(line, &texts)).or_default();
        chosen.count += 1;
        let id = line
            .get("id")
            .and_then(Value::as_u64)
            .unwrap_or(self.removed);
        let hash = xxh3_64(&id.to_le_bytes());
        let is_full = chosen.lines.len() == SHOWN;
        if is_full
            && chosen
                .lines
                .last_key_value()
                .is_some_and(|(last, _)| *last < hash)
        {
            return;
        }
        let [text, keeper_text] = texts;
        let mut shown = line.clone();
        shown.insert("text".to_owned(), json!(text));
        shown.insert("keeper_text".to_owned(), json!(keeper_text));
        chosen.lines.insert(hash, Value::Object(shown));
        if chosen.lines.len() > SHOWN {
            chosen.lines.pop_last();
        }
    }

    /// Makes the page and publishes it.
    pub fn publish(self) -> Result<()> {
        let strata = self.strata.into_iter().rev();
        let strata: Vec<Value> = strata
            .map(|(stratum, Chosen { count, lines })| {
                let removals: Vec<Value> = lines.into_values().collect();
                json!({"label": stratum.label(), "count": count, "removals": removals})
            })
            .collect();
        let sample = json!({"removed": self.removed, "unknown": self.unknown, "strata": strata});
        removals_page(&serde_json::to_vec(&sample)?, self.page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strata_follow_what_a_removal_lost() {
        let texts = ["a".to_owned(), "b".to_owned()];
        let label = |missing: Value, forgiven: Value| {
            let line = json!({"missing": missing, "forgiven": forgiven});
            let line = line.as_object().cloned().unwrap_or_default();
            Stratum::new(&line, &texts).label()
        };
        let pair = json!(["x", "y", "form"]);
        assert_eq!(
            label(json!([]), json!([])),
            "no word lost, nothing forgiven"
        );
        assert_eq!(
            label(json!([]), json!([pair])),
            "no word lost, 1 difference forgiven"
        );
        assert_eq!(
            label(json!([]), json!([pair, pair, pair])),
            "no word lost, 2 to 3 differences forgiven"
        );
        assert_eq!(
            label(json!([]), json!(vec![pair; 9])),
            "no word lost, 8 or more differences forgiven"
        );
        assert_eq!(
            label(json!([["w", 3.5]]), json!([])),
            "words of at most 4 nats lost"
        );
        assert_eq!(
            label(json!([["w", 30.0], ["v", 10.0]]), json!([])),
            "words of 32 or more nats lost"
        );
        let equal = ["a".to_owned(), "a".to_owned()];
        assert_eq!(Stratum::new(&Map::new(), &equal), Stratum::Identical);
    }
}
