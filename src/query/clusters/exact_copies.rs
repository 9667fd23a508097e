//! [`exact_copies`]: documents with one text, whose fingerprint is unreliable.

use std::collections::HashMap;

use crate::error::Result;
use crate::ids::scope::IdRanges;
use crate::ids::{DocId, Fingerprint};
use crate::store::View;

/// The unreliable documents among some ids with one text, two or more, in order of their ids. None
/// in a database that keeps no texts: fingerprints of this kind are equal for different texts, such
/// as "ha ha ha" and "ha ha".
pub(super) fn exact_copies(
    view: &View,
    among: &IdRanges,
) -> Result<Vec<(Fingerprint, Vec<DocId>)>> {
    let mut copies = Vec::new();
    if !view.keeps_texts() {
        return Ok(copies);
    }
    let mut unreliable = view.unreliable()?;
    unreliable.retain(|(_, id)| among.contains(*id));
    unreliable.sort_unstable();
    // Equal texts have equal fingerprints: a text whose fingerprint no other has is not read.
    for group in unreliable.chunk_by(|(a, _), (b, _)| a == b) {
        if group.len() < 2 {
            continue;
        }
        let mut by_text: HashMap<String, Vec<DocId>> = HashMap::new();
        for (_, id) in group {
            let text = view.text(*id)?;
            // Two empty texts have nothing in common.
            if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
                by_text.entry(text).or_default().push(*id);
            }
        }
        let with_copies = by_text.into_values().filter(|ids| ids.len() > 1);
        copies.extend(with_copies.map(|ids| (group[0].0, ids)));
    }
    // The order of a hash table differs from run to run.
    copies.sort_unstable();
    Ok(copies)
}
