//! [`KeyNames`]: the keys of the documents that results name.

use std::collections::HashMap;

use anyhow::Result;
use simdb::{Database, DocId, Snapshot};

/// At most 65,536 keys are held. Results name a document again soon after the first time: a keeper
/// for each member, a document for each of its pairs.
const MAX_HELD: usize = 1 << 16;

/// The keys of documents, each read when a result names the document.
pub struct KeyNames {
    /// Another snapshot than the searched one, which waits while its visitor runs.
    snapshot: Snapshot,
    held: HashMap<u64, Option<String>>,
}

impl KeyNames {
    /// The keys of a database; `None` if its documents have none.
    pub fn of(database: &Database) -> Result<Option<Self>> {
        if !database.settings().keys {
            return Ok(None);
        }
        Ok(Some(Self {
            snapshot: database.snapshot()?,
            held: HashMap::new(),
        }))
    }

    /// The key of a document; `None` for a document that is not stored.
    pub fn key(&mut self, id: u64) -> Result<Option<String>> {
        if let Some(key) = self.held.get(&id) {
            return Ok(key.clone());
        }
        if self.held.len() == MAX_HELD {
            self.held.clear();
        }
        let key = self.snapshot.key(DocId(id))?;
        self.held.insert(id, key.clone());
        Ok(key)
    }
}
