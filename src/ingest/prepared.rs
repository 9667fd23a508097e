//! [`PreparedChange`]: a change that was validated and completed on the thread of its caller.

use rayon::prelude::*;

use super::Change;
use crate::analysis::frames::TextEnds;
use crate::error::{Error, Result};
use crate::ids::scope::{IdRanges, ScopeNumber};
use crate::ids::{DocId, DocRef, Timestamp};
use crate::query::TextQuery;
use crate::record::{Record, key_hash};
use crate::store::{Store, TextEdit, refuse_scope, refuse_unstorable};

/// A change with everything that does not depend on the changes before it: arrival, text, forest
/// keys and text query. Callers of a group commit prepare in parallel, outside the write lock.
pub(crate) struct PreparedChange {
    /// The key of the document; `None` in a database without keys.
    pub(super) key: Option<String>,
    /// The change, without text, key, scope and fields of its document. The id of a document with a
    /// key is the hash of the key.
    pub(super) change: Change,
    /// The time of a copy, if the document is refused; `None` in a database without copies.
    pub(super) seen: Option<Timestamp>,
    /// The arrival of the document; `None` if the database keeps no arrivals.
    pub(super) arrival: Option<Timestamp>,
    /// The edit of the stored text.
    pub(super) text: TextEdit,
    /// The query that decides a [`Change::InsertUnlessSimilar`], or a [`Change::InsertUnique`] of
    /// an unreliable text.
    pub(super) query: Option<Box<TextQuery>>,
    /// The scope of the document; the empty scope in a database without scopes.
    pub(super) scope: ScopeNumber,
    /// The ids of the documents with which the document is compared.
    pub(super) among: IdRanges,
}

impl PreparedChange {
    fn new(mut change: Change, store: &Store) -> Result<Self> {
        change.check()?;
        let header = store.header();
        if !header.keys
            && let DocRef::Key(key) = change.doc_ref()
        {
            let path = store.path().to_path_buf();
            return Err(Error::KeepsNoKeys { path, key });
        }
        let Some(document) = change.document_mut() else {
            return Ok(Self {
                key: match &mut change {
                    Change::RemoveKey(key) => Some(std::mem::take(key)),
                    _ => None,
                },
                change,
                seen: None,
                arrival: None,
                text: TextEdit::Remove,
                query: None,
                scope: ScopeNumber::default(),
                among: IdRanges::ALL,
            });
        };
        // Refused before the change is queued: the other changes of a group must not fail with it.
        refuse_unstorable(document, header, store.path())?;
        let seen = (header.copies > 0).then(|| document.arrival.unwrap_or_else(Timestamp::now));
        // The time of the call, not of the commit: the change may wait in the queue.
        document.arrival = match header.retention {
            Some(_) => document.arrival.or_else(|| Some(Timestamp::now())),
            None => None,
        };
        let scope = store.scope_of(document.scope.as_deref())?;
        let among = store.ids_within(&std::mem::take(&mut document.within), scope)?;
        let record = header.keeps().take_record(document);
        let arrival = document.arrival;
        let text = record.as_ref().filter(|record| record.has_text());
        let query = query_of(&change, text.map(Record::text), scope, store)?;
        let key = change.document_mut().and_then(|document| {
            document.scope = None;
            let key = document.key.take()?;
            // Prefetched answers are kept by the id of the document, which is given later.
            document.id = DocId(key_hash(&key));
            Some(key)
        });
        let text = match (record, &query, &change) {
            (Some(record), Some(query), Change::InsertUnlessSimilar { .. })
                if header.text_keys.is_some() =>
            {
                TextEdit::Put(query.keyed(record, scope))
            }
            (Some(record), ..) => TextEdit::Put(store.keyed(record, scope)),
            (None, ..) if header.keep_texts => TextEdit::Remove,
            // With `Remove` each upsert of an unchanged document would be written to the journal.
            (None, ..) => TextEdit::Keep,
        };
        Ok(Self {
            key,
            change,
            seen,
            arrival,
            text,
            query,
            scope,
            among,
        })
    }

    /// The key of the document to be changed, or else the id.
    pub(super) fn doc_ref(&self) -> DocRef {
        match &self.key {
            Some(key) => DocRef::Key(key.clone()),
            None => self.change.doc_ref(),
        }
    }

    /// Bytes in memory of the text, its forest keys, its packed wording and its text query.
    pub(crate) fn text_bytes(&self) -> usize {
        let query_bytes = self.query.as_ref().map_or(0, |query| query.len_bytes());
        let text_bytes = self.text.len_bytes() + self.text.packed_bytes();
        text_bytes + size_of_val(self.text.keys()) + query_bytes
    }
}

/// The query that decides a change; `None` unless texts decide.
fn query_of(
    change: &Change,
    text: Option<&str>,
    scope: ScopeNumber,
    store: &Store,
) -> Result<Option<Box<TextQuery>>> {
    let header = store.header();
    // The fingerprint of the document may not be the fingerprint of its text, if it was made
    // elsewhere.
    Ok(match (change, text) {
        (Change::InsertUnlessSimilar { document, rule }, Some(text)) => {
            let query = TextQuery::new(text, Some(document.text_fingerprint()));
            let query = query.likeness(rule.likeness).decision(rule.decision);
            let query = query.narrow().with_frames(store.frames()?, Some(scope));
            Some(Box::new(query))
        }
        // No fingerprint recognises a copy of an unreliable text. Its wording has a forest key.
        (Change::InsertUnique { document, .. }, Some(text))
            if !document.reliable && header.text_keys.is_some() =>
        {
            let query = TextQuery::of_wording(text, document.text_fingerprint());
            Some(Box::new(query))
        }
        (Change::InsertUnlessSimilar { document, .. }, None) if header.keep_texts => {
            let id = document.doc_ref();
            return Err(Error::TextMissing { id });
        }
        (Change::InsertUnlessSimilar { .. }, None) => {
            let path = store.path().to_path_buf();
            return Err(Error::KeepsNoTexts { path });
        }
        _ => None,
    })
}

/// Changes prepared at a time.
const MAX_PART_CHANGES: usize = 1024;
/// After 4 MiB of texts no more changes are added to a part: a text query takes a dozen times the
/// bytes of its text.
const MAX_PART_BYTES: usize = 4 << 20;

/// Takes and prepares the next part of the changes; `None` if no changes are left.
pub(crate) fn prepare_next(
    changes: &mut impl Iterator<Item = Change>,
    store: &Store,
) -> Option<Vec<Result<PreparedChange>>> {
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
    (!part.is_empty()).then(|| prepare_each(part, store))
}

/// From 16 changes on, texts are prepared on all cores. The forest keys, or the text query, of a
/// text take some ten microseconds, so fewer changes are not worth waking other threads.
const MIN_PARALLEL_CHANGES: usize = 16;

/// Prepares changes, and returns the first error.
pub(crate) fn prepare_all(changes: Vec<Change>, store: &Store) -> Result<Vec<PreparedChange>> {
    prepare_each(changes, store).into_iter().collect()
}

fn prepare_each(changes: Vec<Change>, store: &Store) -> Vec<Result<PreparedChange>> {
    let header = store.header();
    let is_costly = |change: &Change| {
        header.text_keys.is_some()
            || header.frames > 0
            || matches!(change, Change::InsertUnlessSimilar { .. })
    };
    let prepare = |change| PreparedChange::new(change, store);
    let is_parallel = changes.len() >= MIN_PARALLEL_CHANGES && changes.iter().any(is_costly);
    if is_parallel || header.frames > 0 {
        number_scopes(&changes, store);
    }
    if header.frames > 0 {
        learn_frames(&changes, is_parallel, store);
    }
    if !is_parallel {
        return changes.into_iter().map(prepare).collect();
    }
    store.in_parallel(|| changes.into_par_iter().map(prepare).collect())
}

/// Counts the lines at the ends of all texts. Before the texts are compared: each of them may be
/// the last that makes a line of the others a frame.
fn learn_frames(changes: &[Change], is_parallel: bool, store: &Store) {
    let documents = changes.iter().filter_map(Change::document);
    let texts = documents.filter_map(|document| {
        let scope = document.scope.as_deref();
        if let Some(scope) = scope {
            refuse_scope(scope, store.header().scopes, store.path()).ok()?;
        }
        Some((store.scope_of(scope).ok()?.0, document.text.as_deref()?))
    });
    let texts: Vec<(u64, &str)> = texts.collect();
    let ends = |(scope, text): (u64, &str)| (scope, TextEnds::new(text));
    let ends = match is_parallel {
        true => store.in_parallel(|| texts.into_par_iter().map(ends).collect()),
        false => texts.into_iter().map(ends).collect(),
    };
    store.learn(ends);
}

/// Numbers the scopes of documents in order of the documents, so that ids do not depend on the
/// threads that prepare changes. A scope that cannot be numbered is refused with its change.
fn number_scopes(changes: &[Change], store: &Store) {
    let documents = changes.iter().filter_map(Change::document);
    for scope in documents.filter_map(|document| document.scope.as_deref()) {
        if refuse_scope(scope, store.header().scopes, store.path()).is_ok() {
            let _ = store.scope_of(Some(scope));
        }
    }
}
