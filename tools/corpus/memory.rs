//! [`MemoryBudget`]: the shares of `--memory`.

use simdb::{Builder, Database, Settings};

use super::pipeline::PIPELINE_BYTES;

/// A document in a memtable and in a transaction takes below 4 KiB, its text included: a
/// transaction of more documents continues in the tables.
const CHANGE_BYTES: u64 = 4 << 10;
/// The default of the library.
const MAX_MEMTABLE_CHANGES: usize = 64 << 10;

/// A part of a load has at least 16 MiB of documents and their index, some 16,000 texts of one
/// line. Each part rewrites most pages of the text keys, so a load in small parts takes twice as
/// long. The sorts of a bulk load take as much memory at least, after the index is freed.
const MIN_PART_BYTES: u64 = 16 << 20;

/// The memory of `--memory`. Each share is an upper bound; a command uses only some of the shares
/// at a time.
#[derive(Clone, Copy, Debug)]
pub struct MemoryBudget {
    /// The bytes that the pipeline does not take.
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
        self.bounded(Database::builder()).settings(settings)
    }

    /// A builder whose database keeps to the memory.
    pub fn bounded(self, builder: Builder) -> Builder {
        let changes = usize::try_from(self.rest_bytes / CHANGE_BYTES).unwrap_or(usize::MAX);
        let builder = builder.cache_bytes(self.cache_bytes());
        match changes < MAX_MEMTABLE_CHANGES {
            true => builder.merge_after_changes(changes),
            false => builder,
        }
    }

    /// The cache of one database.
    pub fn cache_bytes(self) -> usize {
        usize::try_from(self.rest_bytes / 2).unwrap_or(usize::MAX)
    }

    /// The cache of each of two databases that are open at the same time.
    pub fn shared_cache_bytes(self) -> usize {
        self.cache_bytes() / 2
    }

    /// The sort of a bulk load into an existing database, whose cache takes the other half.
    pub fn sort_bytes(self) -> u64 {
        self.rest_bytes / 2
    }

    /// The sort of a bulk load into a new database, which writes each page once and needs no cache.
    pub fn sort_new_bytes(self) -> u64 {
        self.rest_bytes
    }

    /// The sort of a bulk load beside two open databases.
    pub fn shared_sort_bytes(self) -> u64 {
        self.sort_bytes() / 2
    }

    /// The index and the kept documents of a load into a new database, which is not open meanwhile.
    pub fn new_index_bytes(self) -> u64 {
        (self.rest_bytes / 4 * 3).max(MIN_PART_BYTES)
    }

    /// The index and the kept documents of a part of a load into an existing database.
    pub fn part_bytes(self) -> u64 {
        self.waiting_bytes().max(MIN_PART_BYTES)
    }

    /// The documents that wait for one call of `Transaction::apply`.
    pub fn waiting_bytes(self) -> u64 {
        self.rest_bytes / 4
    }
}
