//! [`Prepared`]: a change as a database can take it, and how it becomes so.

use std::time::SystemTime;

use rayon::prelude::*;

use super::Change;
use crate::document::DocId;
use crate::error::{Error, Result};
use crate::query::TextQuery;
use crate::recipe::TextFingerprint;
use crate::store::{BandMaker, Store, TextEdit, refuse_too_long};

/// A change as a database can take it.
pub(crate) struct Prepared {
    pub(super) change: Change,
    /// What becomes of the text that is stored. That of the document, which has it no more, is
    /// handed on as it is.
    pub(super) text: TextEdit,
    /// What to look for before it is stored, if that is told by texts.
    pub(super) query: Option<Box<TextQuery>>,
}

impl Prepared {
    /// A change whose document holds no text, and what becomes of the text that is stored.
    fn new(change: Change, text: TextEdit) -> Self {
        Self {
            change,
            text,
            query: None,
        }
    }

    /// The same, of a change that depends on which texts are stored.
    fn with_query(self, query: TextQuery) -> Self {
        Self {
            query: Some(Box::new(query)),
            ..self
        }
    }

    /// Whether it depends on which texts are stored.
    pub(crate) fn asks_for_texts(&self) -> bool {
        self.query.is_some()
    }

    /// Bytes of the text it brings, of its keys, and of what it is compared by.
    pub(crate) fn text_bytes(&self) -> usize {
        let query_bytes = self.query.as_ref().map_or(0, |query| query.len_bytes());
        let text_bytes = match &self.text {
            TextEdit::Put(text) => text.text.len() + size_of_val(text.keys()),
            TextEdit::Keep | TextEdit::Remove => 0,
        };
        text_bytes + query_bytes
    }
}

/// Changes that are prepared at a time: made ready to be compared, a text takes a dozen times its
/// room.
const PREPARED_AT_ONCE: usize = 1024;
const PREPARED_BYTES: usize = 4 << 20;

/// The next of the changes, prepared; nothing when there are no more.
pub(crate) fn next_prepared(
    changes: &mut impl Iterator<Item = Change>,
    store: &Store,
) -> Result<Option<Vec<Prepared>>> {
    let (mut part, mut bytes) = (Vec::new(), 0);
    while part.len() < PREPARED_AT_ONCE
        && bytes < PREPARED_BYTES
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
        prepared_all(part, store).map(Some)
    }
}

/// So many changes with texts that are compared, or kept with bands, are prepared on all cores: it
/// takes some ten microseconds each.
const PREPARED_IN_PARALLEL: usize = 16;

/// Changes as the database can take them, in their order.
pub(crate) fn prepared_all(changes: Vec<Change>, store: &Store) -> Result<Vec<Prepared>> {
    let is_work = |change: &Change| {
        store.header().bands.is_some() || matches!(change, Change::InsertUnlessSimilar { .. })
    };
    let prepare = |change| prepared(change, store);
    if changes.len() < PREPARED_IN_PARALLEL || !changes.iter().any(is_work) {
        return changes.into_iter().map(prepare).collect();
    }
    let made: Vec<_> = store.in_parallel(|| changes.into_par_iter().map(prepare).collect());
    // The first error, as if they were prepared in turn.
    made.into_iter().collect()
}

/// A change as the database can take it: with an arrival time where such times are kept, and only
/// there, and with a text where texts are kept, none that is too long, and with its band keys
/// where those are kept.
fn prepared(mut change: Change, store: &Store) -> Result<Prepared> {
    let Some(document) = change.document_mut() else {
        return Ok(Prepared::new(change, TextEdit::Remove));
    };
    document.arrival = match store.header().retention {
        Some(_) => document.arrival.or_else(|| Some(SystemTime::now().into())),
        None => None,
    };
    let text = document.text.take().filter(|_| store.header().keep_texts);
    if let Some(text) = &text {
        refuse_too_long(document.id, text)?;
    }
    let made = TextFingerprint {
        fingerprint: document.fingerprint,
        reliable: document.reliable,
    };
    let id = document.id;
    let query = match (&change, &text) {
        (Change::InsertUnlessSimilar { likeness, .. }, Some(text)) => {
            let query = TextQuery::new(&BandMaker, text, Some(made));
            Some(query.likeness(*likeness))
        }
        (Change::InsertUnlessSimilar { .. }, None) => return Err(without_text(id, store)),
        _ => None,
    };
    let text = match text {
        Some(text) => TextEdit::Put(store.banded(text)),
        None if store.header().keep_texts => TextEdit::Remove,
        // So that storing a document again as it is changes nothing.
        None => TextEdit::Keep,
    };
    let prepared = Prepared::new(change, text);
    Ok(match query {
        Some(query) => prepared.with_query(query),
        None => prepared,
    })
}

/// There is no text to compare with others.
fn without_text(id: DocId, store: &Store) -> Error {
    if store.header().keep_texts {
        Error::TextMissing { id: id.0 }
    } else {
        Error::KeepsNoTexts {
            path: store.path().to_path_buf(),
        }
    }
}
