//! [`TextWriter`]: stores texts or records as they are pushed, and sorts their text keys.

use rayon::prelude::*;

use crate::analysis::Analysed;
use crate::analysis::frames::TextEnds;
use crate::error::Result;
use crate::ids::DocId;
use crate::ids::scope::ScopeNumber;
use crate::record::Record;
use crate::store::bulk::sort::{SortContext, Sorter};
use crate::store::commit::write_transaction::WriteTransaction;
use crate::store::tables::packed::entry::pair;
use crate::store::tables::texts::Encoder;

/// Texts encoded in memory before they are stored.
const TEXTS_ENCODED_AT_ONCE: usize = 4096;
/// Each task creates a compressor, which takes longer than compressing a short text.
const ENCODED_PER_TASK: usize = 128;

pub(super) struct TextWriter {
    pending: Vec<(DocId, Record)>,
    pending_bytes: usize,
    batch_bytes: usize,
    /// Sorts new text keys; `None` in a database that keeps none. An entry of an orphaned text is
    /// pushed twice.
    keys: Option<Sorter<u128>>,
    context: SortContext,
}

/// The stored bytes of a text, and its text keys.
struct EncodedText {
    id: DocId,
    bytes: Vec<u8>,
    /// `None` in a database that keeps no text keys.
    keyed: Option<Analysed>,
}

impl TextWriter {
    pub(super) fn new(
        batch_bytes: usize,
        keys: Option<Sorter<u128>>,
        context: &SortContext,
    ) -> Self {
        Self {
            pending: Vec::new(),
            pending_bytes: 0,
            batch_bytes,
            keys,
            context: context.clone(),
        }
    }

    pub(super) fn push(&mut self, id: DocId, record: Record) {
        self.pending_bytes += record.content().len() + size_of::<(DocId, Record)>();
        self.pending.push((id, record));
    }

    pub(super) fn is_full(&self) -> bool {
        self.pending_bytes > self.batch_bytes
    }

    /// The ends of the gathered texts, each with its scope.
    pub(super) fn ends(&self) -> Vec<(u64, TextEnds)> {
        let ends = |(id, record): &(DocId, Record)| {
            let text = record.has_text().then(|| record.text())?;
            Some((scope_of(*id, record).0, TextEnds::new(text)))
        };
        let pending = &self.pending;
        self.context
            .run(|| pending.par_iter().filter_map(ends).collect())
    }

    /// Stores the first gathered text of each id, unless its document was stored before the load.
    pub(super) fn write(&mut self, transaction: &mut WriteTransaction) -> Result<()> {
        self.pending_bytes = 0;
        let mut pending = std::mem::take(&mut self.pending);
        // A stable sort, so that `dedup` leaves the first text of each id.
        pending.sort_by_key(|(id, _)| *id);
        pending.dedup_by_key(|(id, _)| *id);
        let mut new_only = match pending.first() {
            // A document with a key has a new id.
            Some((_, record)) if record.key().is_some() => pending,
            _ => new_only(pending, transaction)?,
        };
        let keys = (new_only.iter()).filter_map(|(id, record)| Some((*id, record.key()?)));
        let key_rows = transaction.key_rows(keys)?;
        transaction
            .add_key_rows(&self.encode_all(&key_rows, |encoder, row| row.encode(encoder))?)?;
        new_only.retain(|(_, record)| record.has_row());
        let copies: Vec<_> = new_only
            .iter()
            .filter_map(|(id, record)| Some((*id, record.copies()?)))
            .collect();
        transaction.add_copies(copies.iter().map(|(id, copies)| (*id, copies)))?;
        for texts in new_only.chunks(TEXTS_ENCODED_AT_ONCE) {
            let encoded = self.encode(texts)?;
            transaction.add_texts(encoded.iter().map(|text| (text.id, text.bytes.as_slice())))?;
            if let Some(sorter) = &mut self.keys {
                for EncodedText { id, keyed, .. } in &encoded {
                    for key in keyed.iter().flat_map(Analysed::text_keys) {
                        sorter.push(pair(*key, id.0))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Compresses texts and makes their text keys, on all cores.
    fn encode(&self, texts: &[(DocId, Record)]) -> Result<Vec<EncodedText>> {
        let keeps_keys = self.keys.is_some();
        self.encode_all(texts, |encoder, (id, record)| {
            let scope = scope_of(*id, record);
            let keyed = keeps_keys.then(|| Analysed::keyed(record.clone()).in_scope(scope));
            let sketch = keyed.as_ref().and_then(Analysed::sketch);
            Ok(EncodedText {
                id: *id,
                bytes: encoder.encode(*id, record, sketch)?,
                keyed,
            })
        })
    }

    /// Encodes on all cores.
    fn encode_all<T: Sync, R: Send>(
        &self,
        all: &[T],
        encode: impl Fn(&mut Encoder, &T) -> Result<R> + Send + Sync,
    ) -> Result<Vec<R>> {
        let all = all.par_iter().with_min_len(ENCODED_PER_TASK);
        self.context
            .run(|| all.map_init(Encoder::default, encode).collect())
    }

    /// Removes texts, and returns the sorted entries of text keys. The entries of a removed text
    /// are there twice.
    pub(super) fn remove_orphaned(
        self,
        transaction: &mut WriteTransaction,
        ids: impl Iterator<Item = Result<u64>>,
    ) -> Result<Option<Sorter<u128>>> {
        let mut entries = self.keys;
        transaction.remove_texts(ids, |entry| match &mut entries {
            Some(entries) => entries.push(entry),
            None => Ok(()),
        })?;
        Ok(entries)
    }

    /// The number of new entries of text keys, with the entries of orphaned texts.
    pub(super) fn key_entries(&self) -> u64 {
        self.keys.as_ref().map_or(0, |sorter| sorter.len())
    }
}

/// The scope of a new document. A document of the empty scope has no scope in its record.
fn scope_of(id: DocId, record: &Record) -> ScopeNumber {
    let scope = record.scope().map(|_| ScopeNumber::of(id));
    scope.unwrap_or_default()
}

/// The texts whose documents are not stored.
fn new_only(
    pending: Vec<(DocId, Record)>,
    transaction: &WriteTransaction,
) -> Result<Vec<(DocId, Record)>> {
    let without_text = transaction.without_text(pending)?;
    let mut new_only = Vec::with_capacity(without_text.len());
    let tables = transaction.tables()?;
    for (id, text) in without_text {
        if tables.document(id)?.is_none() {
            new_only.push((id, text));
        }
    }
    Ok(new_only)
}
