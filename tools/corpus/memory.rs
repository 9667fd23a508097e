//! [`MemoryBudget`]: the division of the memory that a command may use.

use simdb::{Builder, Database, Settings};

use super::pipeline::PIPELINE_BYTES;

/// The memory of `--memory`. Its shares are upper bounds; a command uses some of them at a time.
#[derive(Clone, Copy, Debug)]
pub struct MemoryBudget {
    /// The bytes beside the pipeline.
    rest_bytes: u64,
}

impl MemoryBudget {
    pub fn new(total_bytes: u64) -> Self {
        Self {
            rest_bytes: total_bytes
                .saturating_sub(PIPELINE_BYTES)
                .max(total_bytes / 4),
        }
    }

    /// A builder of a database with these settings.
    pub fn builder(self, settings: &Settings) -> Builder {
        Database::builder()
            .cache_bytes(self.cache_bytes())
            .settings(settings)
    }

    /// The cache of one database.
    pub fn cache_bytes(self) -> usize {
        usize::try_from(self.rest_bytes / 2).unwrap_or(usize::MAX)
    }

    /// The cache of each of two databases that are open at a time.
    pub fn shared_cache_bytes(self) -> usize {
        self.cache_bytes() / 2
    }

    /// Sorting for a bulk load into an existing database, whose cache is used besides.
    pub fn sort_bytes(self) -> u64 {
        self.rest_bytes / 2
    }

    /// Sorting for a bulk load into a new database. Its pages are written once, so the cache is hardly
    /// used.
    pub fn sort_new_bytes(self) -> u64 {
        self.rest_bytes
    }

    /// Sorting beside two open databases.
    pub fn shared_sort_bytes(self) -> u64 {
        self.sort_bytes() / 2
    }

    /// Documents that wait for a transaction to apply them.
    pub fn waiting_bytes(self) -> u64 {
        self.rest_bytes / 4
    }
}
