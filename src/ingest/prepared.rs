//! [`Prepared`]: a change that was checked and made ready on the caller's thread.

use std::time::SystemTime;

use rayon::prelude::*;

use super::Change;
use crate::document::Timestamp;
use crate::error::{Error, Result};
use crate::query::TextQuery;
use crate::recipe::TextFingerprint;
use crate::store::{BandMaker, Store, TextEdit, refuse_too_long};

/// A change as the database can store it: with an arrival only if arrivals are kept, and with its
/// text, the bands of the text and its text query made.
pub(crate) struct Prepared {
    /// The change. The text of its document has moved to `text`.
    pub(super) change: Change,
    /// The arrival of the document.
    pub(super) arrival: Option<Timestamp>,
    /// The change of the stored text.
    pub(super) text: TextEdit,
    /// The query that decides a [`Change::InsertUnlessSimilar`].
    pub(super) query: Option<Box<TextQuery>>,
}

impl Prepared {
    fn new(mut change: Change, store: &Store) -> Result<Self> {
        let header = store.header();
        let Some(document) = change.document_mut() else {
            return Ok(Self {
                change,
                arrival: None,
                text: TextEdit::Remove,
                query: None,
            });
        };
        let now = || Timestamp::from(SystemTime::now());
        document.arrival = match header.retention {
            Some(_) => document.arrival.or_else(|| Some(now())),
            None => None,
        };
        let text = document.text.take().filter(|_| header.keep_texts);
        if let Some(text) = &text {
            refuse_too_long(document.id, text)?;
        }
        let arrival = document.arrival;
        let query = match (&change, &text) {
            (Change::InsertUnlessSimilar { document, likeness }, Some(text)) => {
                let made = TextFingerprint {
                    fingerprint: document.fingerprint,
                    reliable: document.reliable,
                };
                let query = TextQuery::new(&BandMaker, text, Some(made));
                Some(Box::new(query.likeness(*likeness)))
            }
            (Change::InsertUnlessSimilar { document, .. }, None) if header.keep_texts => {
                return Err(Error::TextMissing { id: document.id.0 });
            }
            (Change::InsertUnlessSimilar { .. }, None) => {
                let path = store.path().to_path_buf();
                return Err(Error::KeepsNoTexts { path });
            }
            _ => None,
        };
        let text = match text {
            Some(text) => TextEdit::Put(store.banded(text)),
            None if header.keep_texts => TextEdit::Remove,
            // Storing an unchanged document then changes nothing.
            None => TextEdit::Keep,
        };
        Ok(Self {
            change,
            arrival,
            text,
            query,
        })
    }

    /// Bytes of the text, its band keys and its text query.
    pub(crate) fn text_bytes(&self) -> usize {
        let query_bytes = self.query.as_ref().map_or(0, |query| query.len_bytes());
        self.text.len_bytes() + size_of_val(self.text.keys()) + query_bytes
    }
}

/// Changes prepared at a time, and bytes of their texts: a text query takes a dozen times the bytes
/// of its text.
const MAX_PART_CHANGES: usize = 1024;
const MAX_PART_BYTES: usize = 4 << 20;

/// Takes and prepares the next changes; `None` if there are no more.
pub(crate) fn prepare_next(
    changes: &mut impl Iterator<Item = Change>,
    store: &Store,
) -> Result<Option<Vec<Prepared>>> {
    let (mut part, mut bytes) = (Vec::new(), 0);
    while part.len() < MAX_PART_CHANGES
        && bytes < MAX_PART_BYTES
        && let Some(mut change) = changes.next()
    {
        let text = change
            .document_mut()
            .and_then(|document| document.text.as_ref());
        bytes += text.map_or(0, String::len);
        part.push(change);
    }
    if part.is_empty() {
        Ok(None)
    } else {
        prepare_all(part, store).map(Some)
    }
}

/// From this many changes on, texts are prepared on all cores: bands and text queries take some ten
/// microseconds each.
const MIN_PARALLEL: usize = 16;

/// Prepares changes, in their order.
pub(crate) fn prepare_all(changes: Vec<Change>, store: &Store) -> Result<Vec<Prepared>> {
    let is_costly = |change: &Change| {
        store.header().bands.is_some() || matches!(change, Change::InsertUnlessSimilar { .. })
    };
    let prepare = |change| Prepared::new(change, store);
    if changes.len() < MIN_PARALLEL || !changes.iter().any(is_costly) {
        return changes.into_iter().map(prepare).collect();
    }
    let prepared: Vec<_> = store.in_parallel(|| changes.into_par_iter().map(prepare).collect());
    // The first error, as if the changes were prepared in turn.
    prepared.into_iter().collect()
}
