//! The obvious way to store the four tables on disk: a row in redb for each entry. The key of a row
//! is a rotated fingerprint with the id of its document. A query reads the rows with its block key.

use std::path::Path;

use redb::{Database, ReadOnlyTable, ReadableDatabase, ReadableTable, TableDefinition};

use bench_support::contender::{Answer, Asker, Contender};

const BLOCKS: u32 = 4;
const BLOCK_BITS: u32 = 16;
const TABLES: [TableDefinition<'_, u128, ()>; BLOCKS as usize] = [
    TableDefinition::new("block0"),
    TableDefinition::new("block1"),
    TableDefinition::new("block2"),
    TableDefinition::new("block3"),
];

pub struct RowPerEntry {
    tables: Vec<ReadOnlyTable<u128, ()>>,
    /// Keeps the file open.
    _database: Database,
}

impl RowPerEntry {
    /// Writes the rows in one durable transaction, in sorted order, which is the fastest.
    pub fn load(path: &Path, keys: &[u64], cache_bytes: usize) -> Result<Self, redb::Error> {
        let database = Database::builder()
            .set_cache_size(cache_bytes)
            .create(path)?;
        let transaction = database.begin_write()?;
        for (block, definition) in (0..BLOCKS).zip(TABLES) {
            let rotated = keys.iter().map(|key| key.rotate_left(block * BLOCK_BITS));
            let mut rows: Vec<u128> = rotated
                .zip(0_u64..)
                .map(|(key, id)| u128::from(key) << 64 | u128::from(id))
                .collect();
            rows.sort_unstable();
            let mut table = transaction.open_table(definition)?;
            for row in rows {
                table.insert(row, ())?;
            }
        }
        transaction.commit()?;
        let transaction = database.begin_read()?;
        let mut tables = Vec::with_capacity(TABLES.len());
        for definition in TABLES {
            let table = transaction.open_table(definition)?;
            // Reads every row to fill the cache.
            for row in table.iter()? {
                row?;
            }
            tables.push(table);
        }
        Ok(Self {
            tables,
            _database: database,
        })
    }

    /// Every document within a radius of at most 3, at which one of four blocks is equal.
    fn within(&self, query: u64, radius: u32) -> Result<Answer, redb::Error> {
        assert!(radius < BLOCKS, "only equal block keys are read");
        let mut answer = Vec::new();
        for (block, table) in (0..BLOCKS).zip(&self.tables) {
            let rotated = query.rotate_left(block * BLOCK_BITS);
            let block_mask = u64::MAX << (64 - BLOCK_BITS);
            let from = u128::from(rotated & block_mask) << 64;
            let to = u128::from(rotated | !block_mask) << 64 | u128::from(u64::MAX);
            for row in table.range(from..=to)? {
                let row = row?.0.value();
                let distance = ((row >> 64) as u64 ^ rotated).count_ones();
                if distance <= radius {
                    answer.push((distance, row as u64));
                }
            }
        }
        answer.sort_unstable();
        // A document may share several blocks with the query.
        answer.dedup();
        Ok(answer)
    }
}

impl Contender for RowPerEntry {
    fn asker(&self) -> Asker<'_> {
        Box::new(|query, radius| self.within(query, radius).expect("query"))
    }
}
