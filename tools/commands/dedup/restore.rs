//! The documents that stay for a paragraph that was not compared.

use std::collections::{HashMap, HashSet};

use anyhow::Result;

use super::decisions::Decisions;
use crate::corpus::block_counter::BlockKey;
use crate::corpus::records::InputRecords;
use crate::corpus::repeated_blocks::RepeatedBlocks;
use crate::corpus::statistics::Rejected;
use crate::formats::Item;

impl Decisions {
    /// Keeps the first removed document with each paragraph that was not compared and is in no kept
    /// document.
    pub fn restore(
        &mut self,
        ignored: &RepeatedBlocks,
        records: &InputRecords<'_>,
        rejected: &Rejected,
    ) -> Result<()> {
        // The first removed document of each paragraph, or `None` if a kept document has the
        // paragraph.
        let mut holders: HashMap<BlockKey, Option<u64>> = HashMap::new();
        records.for_each("checking", |input, item| {
            let Item::Record(record) = item else {
                return Ok(());
            };
            let is_good = !rejected.records.contains(&(input, record.number));
            if let (true, Some(text)) = (is_good, &record.content.text) {
                if self.removed.contains_key(&record.id.0) {
                    for key in ignored.without_repeated(text).1 {
                        holders.entry(key).or_insert(Some(record.id.0));
                    }
                } else {
                    holders.extend(ignored.repeated_in(text).map(|key| (key, None)));
                }
            }
            Ok(())
        })?;
        let restored: HashSet<u64> = holders.into_values().flatten().collect();
        for id in &restored {
            self.removed.remove(id);
        }
        if !restored.is_empty() {
            let mut sizes: HashMap<u64, u64> = HashMap::new();
            for removal in self.removed.values() {
                // The keeper is one more document.
                *sizes.entry(removal.keeper).or_insert(1) += 1;
            }
            self.clusters = sizes.len() as u64;
            self.largest = sizes.into_values().max().unwrap_or_default();
        }
        self.restored = restored.len() as u64;
        Ok(())
    }
}
