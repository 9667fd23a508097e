//! The stored texts or records: each can be read, has its sketch and a document, and `forest` holds
//! their forest keys and no others. The rows of keys: each can be read.

use rayon::prelude::*;

use super::entry_sum::EntrySum;
use super::{NAMED, PackedTable, TableCheck, both, has_document, holds, unless_corrupt};
use crate::analysis::{Analysed, Sketch};
use crate::error::Result;
use crate::ids::DocId;
use crate::record::{Record, key_hash};
use crate::store::tables::copies::copied_entry;
use crate::store::tables::keys::{self, FIRST_GROUP};
use crate::store::tables::packed::damaged_ranges::{Part, rows_past_damage, split_damage};
use crate::store::tables::packed::entry::pair;
use crate::store::tables::schema::{FINGERPRINTS, TEXT_KEYS};
use crate::store::tables::text_keys;
use crate::store::tables::texts;
use crate::store::view::access::SnapshotTables;

type TextsTable = redb::ReadOnlyTable<u64, &'static [u8]>;

/// A stored text with its stored sketch.
struct StoredText {
    id: DocId,
    record: Record,
    sketch: Option<Sketch>,
}

/// The entries of other tables that the rows make.
#[derive(Clone, Copy, Default)]
struct MadeSums {
    forest: EntrySum,
    keys: EntrySum,
    copied: EntrySum,
}

/// A batch, whose forest keys are made on all cores, ends after 4,096 texts or 16 MiB of text.
const TEXTS_PER_BATCH: usize = 4096;
const BYTES_PER_BATCH: usize = 16 << 20;

impl TableCheck {
    pub(super) fn texts(&mut self, tables: &SnapshotTables) -> Result<()> {
        let Some(table) = &tables.texts else {
            return Ok(());
        };
        let made = self.stored_texts(tables, table)?;
        if let Some(forest) = tables.kept(TEXT_KEYS) {
            self.forest(tables, table, forest, made.map(|made| made.forest))?;
        }
        self.keys(tables, made.map(|made| made.keys))?;
        self.copies(tables, made.map(|made| made.copied))
    }

    /// Reads every text and looks up its document. Returns `None` if a text cannot be read.
    fn stored_texts(
        &mut self,
        tables: &SnapshotTables,
        table: &TextsTable,
    ) -> Result<Option<MadeSums>> {
        let (mut count, mut is_whole) = (0, true);
        let MadeSums {
            mut forest,
            keys: mut document_keys,
            mut copied,
        } = MadeSums::default();
        let (mut batch, mut batch_bytes) = (Vec::new(), 0);
        let mut lost_refusals = Vec::new();
        let keeps_keys = tables.kept(TEXT_KEYS).is_some();
        for part in rows_past_damage(table, 0, &tables.db_path) {
            let (id, sealed) = match part? {
                Part::Read((id, sealed)) => (DocId(id), sealed),
                Part::Damaged(range) => {
                    is_whole = false;
                    self.name_range("texts", range)?;
                    continue;
                }
            };
            if tables.keeps.keys && id.0 >= FIRST_GROUP {
                let keys = keys::decode(id, &sealed, &tables.db_path);
                match unless_corrupt(keys, &mut self.damage)? {
                    Some(keys) => (keys.iter())
                        .for_each(|(id, key)| document_keys.add(pair(key_hash(key), id.0))),
                    None => is_whole = false,
                }
                continue;
            }
            // Forest keys are made in batches: a single text is too little work for all cores.
            let stored = texts::decode(id, &sealed, &tables.db_path).and_then(|record| {
                let sketch = texts::decode_sketch(id, &sealed, &tables.db_path)?;
                Ok(StoredText { id, record, sketch })
            });
            let stored = unless_corrupt(stored, &mut self.damage)?;
            let has_text = (stored.as_ref()).is_none_or(|stored| stored.record.has_text());
            if let Some(stored) = &stored
                && let Some(copies) = stored.record.copies()
            {
                copied.add(copied_entry(id, &copies));
                if lost_refusals.len() < NAMED {
                    lost_refusals.extend(self.lost_refusal(tables, id, &copies));
                }
            }
            match stored {
                Some(stored) if keeps_keys => {
                    batch_bytes += stored.record.content().len();
                    batch.push(stored);
                    if batch.len() >= TEXTS_PER_BATCH || batch_bytes >= BYTES_PER_BATCH {
                        forest = forest.union(self.forest_of(&batch, tables));
                        (batch, batch_bytes) = (Vec::new(), 0);
                    }
                }
                Some(_) => {}
                None => is_whole = false,
            }
            // Damage to `fingerprints` was named when the packed tables were read.
            let has_document = split_damage(has_document(tables.table(FINGERPRINTS), id.0));
            if let (Ok(Ok(false)), true) = (has_document, self.is_flushed) {
                self.damage.push(format!(
                    "table texts holds document {id}, table fingerprints does not"
                ));
            }
            count += u64::from(has_text);
            self.progress.step()?;
        }
        if keeps_keys {
            forest = forest.union(self.forest_of(&batch, tables));
        }
        self.damage.append(&mut lost_refusals);
        if is_whole && self.is_flushed {
            self.compare_counts(tables, count, document_keys.count);
        }
        Ok(is_whole.then_some(MadeSums {
            forest,
            keys: document_keys,
            copied,
        }))
    }

    /// Compares the numbers of texts and keys with the counters.
    fn compare_counts(&mut self, tables: &SnapshotTables, texts: u64, keys: u64) {
        let counted = tables.counters().texts;
        if texts != counted {
            self.damage.push(format!(
                "the counters say {counted} texts; table texts holds {texts}"
            ));
        }
        let documents = tables.counters().documents;
        if tables.keeps.keys && keys != documents {
            self.damage.push(format!(
                "table texts holds {keys} keys; there are {documents} documents"
            ));
        }
    }

    /// Reads `forest` and compares its entries with `made`, the entries of the texts.
    fn forest(
        &mut self,
        tables: &SnapshotTables,
        texts: &TextsTable,
        forest: &PackedTable<u128>,
        made: Option<EntrySum>,
    ) -> Result<()> {
        let mut found = EntrySum::default();
        let is_whole = self.read(forest, |entry: u128| {
            found.add(entry);
            Ok(())
        })?;
        // An entry that seems to be missing may be in a part that cannot be read.
        let Some(made) = made.filter(|made| is_whole && self.is_flushed && found != *made) else {
            return Ok(());
        };
        self.damage.push(format!(
            "table forest does not hold the forest keys of the stored texts: it has {} entries, the texts \
             make {}",
            found.count, made.count
        ));
        let before = self.damage.len();
        self.name(texts::rows(texts, &tables.db_path)?.map(|row| {
            let (id, sealed) = row?;
            let id = DocId(id.value());
            let text = texts::decode(id, sealed.value(), &tables.db_path)?;
            for key in text_keys::keys(&text, tables.keeps.scope_of(id)) {
                if !holds(forest, pair(key, id.0))? {
                    return Ok(Some(format!(
                        "table forest lacks document {id} under key {key:016x}"
                    )));
                }
            }
            Ok(None)
        }))?;
        if self.damage.len() > before {
            return Ok(());
        }
        // Slow, because each entry makes all forest keys of its text again, but only in a damaged
        // file.
        self.name(forest.entries()?.map(|entry| {
            let (key, id) = both(entry?);
            let text = tables.record(DocId(id))?;
            let scope = tables.keeps.scope_of(DocId(id));
            let keys = text.map_or(Vec::new(), |text| text_keys::keys(&text, scope));
            Ok(keys.binary_search(&key).is_err().then(|| {
                format!(
                    "table forest holds document {id} under key {key:016x}, which no text of it has"
                )
            }))
        }))
    }

    /// The sum of the forest keys of texts. Names texts with another sketch than theirs.
    fn forest_of(&mut self, texts: &[StoredText], tables: &SnapshotTables) -> EntrySum {
        let forest_of_text = |stored: &StoredText| {
            let scope = tables.keeps.scope_of(stored.id);
            let keyed = Analysed::keyed(stored.record.clone()).in_scope(scope);
            let mut sum = EntrySum::default();
            (keyed.text_keys().iter()).for_each(|key| sum.add(pair(*key, stored.id.0)));
            let is_wrong = keyed.sketch() != stored.sketch;
            (sum, Vec::from_iter(is_wrong.then_some(stored.id)))
        };
        let (sum, wrong) = tables.in_parallel(|| {
            let each = texts.par_iter().map(forest_of_text);
            each.reduce(Default::default, |(sum, mut wrong), (other, more)| {
                wrong.extend(more);
                (sum.union(other), wrong)
            })
        });
        self.damage.extend(
            wrong.iter().take(NAMED).map(|id| {
                format!("table texts holds document {id} with the sketch of another text")
            }),
        );
        sum
    }
}
