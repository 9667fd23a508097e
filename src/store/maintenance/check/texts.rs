//! The stored texts: that each can be read and belongs to a document, and that `bands` holds the
//! bands of all texts and no others.

use rayon::prelude::*;

use super::{EntrySum, TableCheck, both, unless_corrupt};
use crate::document::DocId;
use crate::error::Result;
use crate::store::tables::bands::BandMaker;
use crate::store::tables::packed::Packed;
use crate::store::tables::packed::chunk::pair;
use crate::store::tables::packed::damaged_ranges::{Part, split_damage};
use crate::store::tables::texts;
use crate::store::view::snapshot_tables::SnapshotTables;
use crate::store::view::source::FingerprintSource;

type TextsTable = redb::ReadOnlyTable<u64, &'static [u8]>;
type BandsTable = Packed<redb::ReadOnlyTable<u128, &'static [u8]>>;

/// Texts that are read before their bands are made, on all cores, and the bytes of their texts.
const TEXTS_AT_ONCE: usize = 4096;
const BYTES_AT_ONCE: usize = 16 << 20;

impl TableCheck {
    /// Reads every text, and compares the bands that the texts make with those in `bands`.
    pub(super) fn texts(
        &mut self,
        tables: &SnapshotTables,
        maker: Option<&BandMaker>,
    ) -> Result<()> {
        let Some(table) = &tables.texts else {
            return Ok(());
        };
        let made = self.stored_texts(tables, table, maker)?;
        if let (Some(maker), Some(bands)) = (maker, &tables.bands) {
            self.bands(tables, table, bands, maker, made)?;
        }
        Ok(())
    }

    /// Reads every text, and looks up its document. Returns the entries that `bands` should hold,
    /// if it is kept; `None` if a text cannot be read.
    fn stored_texts(
        &mut self,
        tables: &SnapshotTables,
        table: &TextsTable,
        maker: Option<&BandMaker>,
    ) -> Result<Option<EntrySum>> {
        let (mut count, mut bands, mut is_whole) = (0, EntrySum::default(), true);
        let (mut batch, mut batch_bytes) = (Vec::new(), 0);
        for part in texts::parts(table, &tables.db_path) {
            let (id, sealed) = match part? {
                Part::Read(row) => row,
                Part::Damaged(range) => {
                    is_whole = false;
                    self.name_range("texts", range)?;
                    continue;
                }
            };
            let text = texts::decode(id, &sealed, &tables.db_path);
            match (unless_corrupt(text, &mut self.damage)?, maker) {
                (Some(text), Some(maker)) => {
                    batch_bytes += text.len();
                    batch.push((id, text));
                    if batch.len() >= TEXTS_AT_ONCE || batch_bytes >= BYTES_AT_ONCE {
                        bands = bands.union(bands_of(&batch, tables, maker));
                        (batch, batch_bytes) = (Vec::new(), 0);
                    }
                }
                (Some(_), None) => {}
                (None, _) => is_whole = false,
            }
            let (first, last) = (pair(id.0, 0), pair(id.0, u64::MAX));
            let document = tables.fingerprints.first_in(first, last);
            // A range of `fingerprints` that cannot be read is named already.
            if let (Ok(Ok(None)), true) = (split_damage(document), self.is_flushed) {
                self.damage.push(format!(
                    "table texts holds document {id}, table fingerprints does not"
                ));
            }
            count += 1;
            self.progress.step()?;
        }
        let counted = tables.counters().texts;
        if is_whole && self.is_flushed && count != counted {
            self.damage.push(format!(
                "the counters say {counted} texts; table texts holds {count}"
            ));
        }
        if let Some(maker) = maker {
            bands = bands.union(bands_of(&batch, tables, maker));
        }
        Ok(is_whole.then_some(bands))
    }

    /// Reads `bands`, and compares it with the entries that the texts make.
    fn bands(
        &mut self,
        tables: &SnapshotTables,
        texts: &TextsTable,
        bands: &BandsTable,
        maker: &BandMaker,
        made: Option<EntrySum>,
    ) -> Result<()> {
        let mut found = EntrySum::default();
        let is_whole = self.read(bands, |entry: u128| {
            found.add(entry);
            Ok(())
        })?;
        // That `bands` lacks an entry means nothing while a part of it, or a text, cannot be read.
        let Some(made) = made.filter(|made| is_whole && self.is_flushed && found != *made) else {
            return Ok(());
        };
        self.damage.push(format!(
            "table bands does not hold the bands of the stored texts: it has {} entries, the texts \
             make {}",
            found.count, made.count
        ));
        let before = self.damage.len();
        self.name(texts::rows(texts, &tables.db_path)?.map(|row| {
            let (id, sealed) = row?;
            let id = DocId(id.value());
            let text = texts::decode(id, sealed.value(), &tables.db_path)?;
            for key in maker.keys(&text) {
                let wanted = pair(key, id.0);
                if bands.first_in(wanted, wanted)?.is_none() {
                    return Ok(Some(format!(
                        "table bands lacks document {id} under key {key:016x}"
                    )));
                }
            }
            Ok(None)
        }))?;
        if self.damage.len() > before {
            return Ok(());
        }
        // The bands of a text are made again for each of its entries, in a damaged table only.
        self.name(bands.entries()?.map(|entry| {
            let (key, id) = both(entry?);
            let text = tables.text(DocId(id))?;
            let keys = text.map_or(Vec::new(), |text| maker.keys(&text));
            Ok(keys.binary_search(&key).is_err().then(|| {
                format!(
                    "table bands holds document {id} under key {key:016x}, which no text of it has"
                )
            }))
        }))
    }
}

/// The entries of `bands` that texts make, on all cores.
fn bands_of(texts: &[(DocId, String)], tables: &SnapshotTables, maker: &BandMaker) -> EntrySum {
    let bands_of_text = |(id, text): &(DocId, String)| {
        let mut sum = EntrySum::default();
        for key in maker.keys(text) {
            sum.add(pair(key, id.0));
        }
        sum
    };
    tables.in_parallel(|| {
        texts
            .par_iter()
            .map(bands_of_text)
            .reduce(EntrySum::default, EntrySum::union)
    })
}
