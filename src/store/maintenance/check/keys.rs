//! The keys of documents: table `keys` holds the key of each document and no others, and no two
//! documents have one key.

use super::entry_sum::EntrySum;
use super::{TableCheck, both, holds};
use crate::error::Result;
use crate::ids::DocId;
use crate::record::key_hash;
use crate::store::tables::packed::entry::{Entry, pair};
use crate::store::tables::schema::{FINGERPRINTS, KEYS};
use crate::store::view::access::SnapshotTables;

impl TableCheck {
    /// Reads `keys` and compares its entries with `stored`, the entries of the stored keys; `None`
    /// if a stored key cannot be read.
    pub(super) fn keys(&mut self, tables: &SnapshotTables, stored: Option<EntrySum>) -> Result<()> {
        let Some(keys) = tables.kept(KEYS) else {
            return Ok(());
        };
        let (mut found, mut last, mut twins) = (EntrySum::default(), 0_u128, Vec::new());
        let is_whole = self.read(keys, |entry: u128| {
            found.add(entry);
            if found.count > 1 && entry.first() == last.first() {
                twins.push((DocId(last.second()), DocId(entry.second())));
            }
            last = entry;
            Ok(())
        })?;
        if !self.is_flushed {
            return Ok(());
        }
        // Most documents of one hash have different keys.
        self.name(twins.into_iter().map(|(one, other)| {
            let key = tables.key(one)?;
            let is_same = key.is_some() && key == tables.key(other)?;
            Ok(is_same.then(|| format!("documents {one} and {other} have the same key")))
        }))?;
        // An entry that seems to be missing may be in a part that cannot be read.
        let Some(stored) = stored.filter(|stored| is_whole && found != *stored) else {
            return Ok(());
        };
        self.damage.push(format!(
            "table keys does not hold the keys of the documents: it has {} entries, table texts has {} \
             keys",
            found.count, stored.count
        ));
        self.name(keys.entries()?.map(|entry| {
            let (hash, id) = both(entry?);
            let key = tables.key(DocId(id))?;
            let is_other = key.is_none_or(|key| key_hash(&key) != hash);
            Ok(is_other.then(|| {
                format!(
                    "table keys holds document {id} under hash {hash:016x}, which is not of its key"
                )
            }))
        }))?;
        self.name(
            tables
                .table(FINGERPRINTS)
                .entries()?
                .map(|entry: Result<u128>| {
                    let id = entry?.first();
                    let Some(key) = tables.key(DocId(id))? else {
                        return Ok(Some(format!("document {id} has no key")));
                    };
                    let is_there = holds(keys, pair(key_hash(&key), id))?;
                    Ok((!is_there).then(|| format!("table keys lacks document {id}")))
                }),
        )
    }
}
