//! The stored texts: that each can be read and belongs to a document, and that `bands` holds the
//! bands of all of them and no others.

use rayon::prelude::*;

use super::{NAMED, Sum, Walk, noted};
use crate::document::DocId;
use crate::error::Result;
use crate::store::tables::bands::BandMaker;
use crate::store::tables::packed::Packed;
use crate::store::tables::packed::chunk::{Entry, pair};
use crate::store::tables::packed::damaged_ranges::{Part, damage_apart};
use crate::store::tables::texts;
use crate::store::view::snapshot_tables::SnapshotTables;
use crate::store::view::source::FingerprintSource;

type Bands = Packed<redb::ReadOnlyTable<u128, &'static [u8]>>;

/// Texts that are read before their bands are made, on all cores, and what they take together.
const TEXTS_AT_ONCE: usize = 4096;
const BYTES_AT_ONCE: usize = 16 << 20;

/// About how many steps it is to walk `bands`.
pub(super) fn expected(tables: &SnapshotTables) -> Result<u64> {
    let chunks = match &tables.bands {
        Some(bands) => bands.chunks()?,
        None => 0,
    };
    Ok(chunks.saturating_mul(u128::CAPACITY as u64))
}

impl Walk {
    /// Reads every text, and finds its document. Gives the entries that `bands` should hold, where
    /// it is kept; nothing if a text cannot be read.
    pub(super) fn texts(
        &mut self,
        tables: &SnapshotTables,
        maker: Option<&BandMaker>,
    ) -> Result<Option<Sum>> {
        let Some(table) = &tables.texts else {
            return Ok(None);
        };
        let (mut count, mut bands, mut whole) = (0, Sum::default(), true);
        let mut batch = Batch::default();
        for part in texts::parts(table, &tables.db_path) {
            let (id, sealed) = match part? {
                Part::Read(row) => row,
                Part::Damaged(gap) => {
                    whole = false;
                    self.gap("texts", gap)?;
                    continue;
                }
            };
            let text = texts::decode(id, &sealed, &tables.db_path);
            match (noted(text, &mut self.damage)?, maker) {
                (Some(text), Some(maker)) => {
                    batch.push(id, text);
                    if batch.is_full() {
                        bands = bands.and(batch.bands(tables, maker));
                        batch = Batch::default();
                    }
                }
                (Some(_), None) => {}
                (None, _) => whole = false,
            }
            let entry = tables
                .fingerprints
                .first_in(pair(id.0, 0), pair(id.0, u64::MAX));
            // What cannot be read was told already.
            if let (Ok(Ok(None)), true) = (damage_apart(entry), self.is_merged) {
                self.damage.push(format!(
                    "table texts holds document {id}, table fingerprints does not"
                ));
            }
            count += 1;
            self.progress.step()?;
        }
        if whole && self.is_merged && count != tables.counters().texts {
            let counted = tables.counters().texts;
            self.damage.push(format!(
                "the counters say {counted} texts; table texts holds {count}"
            ));
        }
        if let Some(maker) = maker {
            bands = bands.and(batch.bands(tables, maker));
        }
        Ok(whole.then_some(bands))
    }

    /// Walks `bands`, and compares it with what it should hold.
    pub(super) fn bands(
        &mut self,
        tables: &SnapshotTables,
        bands: &Bands,
        maker: &BandMaker,
        from_texts: Option<Sum>,
    ) -> Result<()> {
        let mut found = Sum::default();
        let whole = self.walk(bands, |entry: u128| {
            found.add(entry);
            Ok(())
        })?;
        let Some(expected) = from_texts.filter(|_| whole && self.is_merged) else {
            // What it lacks says nothing while parts of it, or of the texts, cannot be read.
            return Ok(());
        };
        if found == expected {
            return Ok(());
        }
        self.damage.push(format!(
            "table bands does not hold the bands of the stored texts: it has {} entries, the texts \
             make {}",
            found.count, expected.count
        ));
        let before = self.damage.len();
        self.name_missing_bands(tables, bands, maker)?;
        if self.damage.len() == before {
            self.name_strange_bands(tables, bands, maker)?;
        }
        Ok(())
    }

    fn name_missing_bands(
        &mut self,
        tables: &SnapshotTables,
        bands: &Bands,
        maker: &BandMaker,
    ) -> Result<()> {
        let Some(table) = &tables.texts else {
            return Ok(());
        };
        let before = self.damage.len();
        for row in texts::rows(table, &tables.db_path)? {
            let (id, sealed) = row?;
            let id = DocId(id.value());
            let text = texts::decode(id, sealed.value(), &tables.db_path)?;
            for key in maker.keys(&text) {
                let wanted = pair(key, id.0);
                if bands.first_in(wanted, wanted)?.is_none() {
                    self.damage.push(format!(
                        "table bands lacks document {id} under key {key:016x}"
                    ));
                    break;
                }
            }
            if self.damage.len() - before == NAMED {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Makes the bands of a text again for each entry: only of a damaged table.
    fn name_strange_bands(
        &mut self,
        tables: &SnapshotTables,
        bands: &Bands,
        maker: &BandMaker,
    ) -> Result<()> {
        let before = self.damage.len();
        for entry in bands.entries()? {
            let entry: u128 = entry?;
            let (key, id) = (entry.first(), DocId(entry.second()));
            let text = tables.text(id)?;
            let keys = text.map_or(Vec::new(), |text| maker.keys(&text));
            if keys.binary_search(&key).is_err() {
                self.damage.push(format!(
                    "table bands holds document {id} under key {key:016x}, which no text of it has"
                ));
            }
            if self.damage.len() - before == NAMED {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Texts whose bands are to be made.
#[derive(Default)]
struct Batch {
    texts: Vec<(DocId, String)>,
    bytes: usize,
}

impl Batch {
    fn push(&mut self, id: DocId, text: String) {
        self.bytes += text.len();
        self.texts.push((id, text));
    }

    fn is_full(&self) -> bool {
        self.texts.len() >= TEXTS_AT_ONCE || self.bytes >= BYTES_AT_ONCE
    }

    /// The entries that these texts make.
    fn bands(&self, tables: &SnapshotTables, maker: &BandMaker) -> Sum {
        let bands_of = |(id, text): &(DocId, String)| {
            let mut sum = Sum::default();
            for key in maker.keys(text) {
                sum.add(pair(key, id.0));
            }
            sum
        };
        tables.in_parallel(|| {
            let texts = self.texts.par_iter();
            texts.map(bands_of).reduce(Sum::default, Sum::and)
        })
    }
}
