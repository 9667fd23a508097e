//! [`ForgivenClass`]: the differences of one class that the lines of a report forgive.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::claim::Claim;

/// The pairs that are printed of a class.
const SHOWN: usize = 5;

/// The differences of one class.
#[derive(Debug, Serialize)]
pub struct ForgivenClass {
    class: String,
    /// The number of differences in all lines.
    count: u64,
    /// The rarest pairs: the token of the removed text, the token of the keeper, and how often.
    rarest: Vec<(String, String, u64)>,
}

impl ForgivenClass {
    /// The classes of all lines, the rarest first.
    pub fn of(claims: &[Claim]) -> Vec<Self> {
        let mut counts: BTreeMap<String, BTreeMap<(String, String), u64>> = BTreeMap::new();
        let certificates = claims.iter().filter_map(|claim| claim.certificate.as_ref());
        // Another program may have written rows of another shape: `prove` refuses their lines.
        let rows = certificates.filter_map(|found| {
            serde_json::from_value::<Vec<[String; 3]>>(found.forgiven.clone()).ok()
        });
        let frames = claims
            .iter()
            .flat_map(|claim| claim.frames.iter().flatten());
        let frames = frames.map(|frame| [frame.clone(), String::new(), "frame".to_owned()]);
        for [a, b, class] in rows.flatten().chain(frames) {
            *counts.entry(class).or_default().entry((a, b)).or_default() += 1;
        }
        let classes = counts.into_iter().map(|(class, pairs)| {
            let mut rarest: Vec<_> = pairs.into_iter().map(|((a, b), n)| (a, b, n)).collect();
            rarest.sort_by_key(|(.., count)| *count);
            let count = rarest.iter().map(|(.., count)| count).sum();
            rarest.truncate(SHOWN);
            Self {
                class,
                count,
                rarest,
            }
        });
        let mut classes: Vec<_> = classes.collect();
        classes.sort_by_key(|class| class.count);
        classes
    }
}

impl fmt::Display for ForgivenClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "forgiven  {} {}:", self.count, self.class)?;
        for (at, (a, b, count)) in self.rarest.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            match (a.is_empty(), b.is_empty()) {
                (false, false) => write!(f, "{comma} {a} = {b}")?,
                _ => write!(f, "{comma} {a}{b}")?,
            }
            if *count > 1 {
                write!(f, " ({count})")?;
            }
        }
        Ok(())
    }
}
