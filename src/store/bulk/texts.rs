//! The texts that come with a bulk load, stored as they come; and their bands, to be sorted.

use rayon::prelude::*;

use crate::document::DocId;
use crate::error::Result;
use crate::store::bulk::sort::{SortContext, Sorter};
use crate::store::commit::write_transaction::WriteTransaction;
use crate::store::tables::bands::BandMaker;
use crate::store::tables::packed::chunk::pair;
use crate::store::tables::texts::Encoder;

/// Texts that are made ready at a time, and those of them that one core takes at a time: as many
/// as pay for the tables of a compression.
const TEXTS_AT_ONCE: usize = 4096;
const TEXTS_A_TASK: usize = 128;

/// Texts and the documents they belong to.
pub(super) type Texts = Vec<(DocId, String)>;

/// Texts on their way into a database.
pub(super) struct BulkTexts {
    gathered: Texts,
    gathered_bytes: usize,
    batch_bytes: usize,
    bands: Option<BulkBands>,
    workplace: SortContext,
}

/// The entries that `bands` is to have for the texts that were stored.
pub(super) struct BulkBands {
    maker: BandMaker,
    pub(super) entries: Sorter<u128>,
    /// Those of texts that were taken back.
    pub(super) gone: Sorter<u128>,
}

impl BulkBands {
    /// Bands whose sort uses up to so many bytes.
    pub(super) fn new(maker: BandMaker, memory_bytes: usize, workplace: &SortContext) -> Self {
        Self {
            maker,
            entries: Sorter::new(memory_bytes, workplace),
            // Texts are rarely taken back.
            gone: Sorter::new(memory_bytes / 16, workplace),
        }
    }
}

/// A text made ready: the bytes under which it is stored, and its keys.
struct Ready {
    id: DocId,
    bytes: Vec<u8>,
    keys: Vec<u64>,
}

impl BulkTexts {
    pub(super) fn new(
        batch_bytes: usize,
        bands: Option<BulkBands>,
        workplace: &SortContext,
    ) -> Self {
        Self {
            gathered: Vec::new(),
            gathered_bytes: 0,
            batch_bytes,
            bands,
            workplace: workplace.clone(),
        }
    }

    /// Takes a text; whether it is time to write.
    pub(super) fn push(&mut self, id: DocId, text: String) -> bool {
        self.gathered_bytes += text.capacity() + size_of::<(DocId, String)>();
        self.gathered.push((id, text));
        self.gathered_bytes > self.batch_bytes
    }

    /// Stores the texts gathered so far, but for those of documents that have a text, and those
    /// that `fresh_of` leaves out: of several with one id the first counts.
    pub(super) fn write(
        &mut self,
        transaction: &mut WriteTransaction,
        fresh_of: impl Fn(&WriteTransaction, Texts) -> Result<Texts>,
    ) -> Result<()> {
        self.gathered_bytes = 0;
        let mut texts = std::mem::take(&mut self.gathered);
        texts.sort_by_key(|(id, _)| *id);
        texts.dedup_by_key(|(id, _)| *id);
        let texts = fresh_of(transaction, transaction.without_text(texts)?)?;
        for part in texts.chunks(TEXTS_AT_ONCE) {
            let ready = self.make_ready(part)?;
            transaction.add_texts(ready.iter().map(|ready| (ready.id, ready.bytes.as_slice())))?;
            if let Some(bands) = &mut self.bands {
                for Ready { id, keys, .. } in &ready {
                    for key in keys {
                        bands.entries.push(pair(*key, id.0))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Compresses texts and makes their keys, on all cores.
    fn make_ready(&self, texts: &[(DocId, String)]) -> Result<Vec<Ready>> {
        let maker = self.bands.as_ref().map(|bands| &bands.maker);
        let make = |texts: &[(DocId, String)]| {
            let mut encoder = Encoder::default();
            let ready = texts.iter().map(|(id, text)| {
                Ok(Ready {
                    id: *id,
                    bytes: encoder.encode(*id, text)?,
                    keys: maker.map_or(Vec::new(), |maker| maker.keys(text)),
                })
            });
            ready.collect::<Result<Vec<Ready>>>()
        };
        let parts = self.workplace.run(|| {
            let parts = texts.par_chunks(TEXTS_A_TASK).map(make);
            parts.collect::<Result<Vec<Vec<Ready>>>>()
        });
        Ok(parts?.into_iter().flatten().collect())
    }

    /// Removes the texts of these documents, and gives the bands of all others.
    pub(super) fn take_back(
        self,
        transaction: &mut WriteTransaction,
        ids: impl Iterator<Item = Result<u64>>,
    ) -> Result<Option<BulkBands>> {
        let mut bands = self.bands;
        transaction.remove_texts(ids, |entry| match &mut bands {
            Some(bands) => bands.gone.push(entry),
            None => Ok(()),
        })?;
        Ok(bands)
    }

    /// How many entries `bands` will have, if none are taken back; nothing where none are kept.
    pub(super) fn band_entries(&self) -> Option<u64> {
        self.bands.as_ref().map(|bands| bands.entries.len())
    }
}
