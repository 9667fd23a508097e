//! The table of texts, keys and fields in a write transaction.

use std::borrow::Cow;

use redb::ReadableTable;

use super::WriteTransaction;
use crate::error::Result;
use crate::ids::DocId;
use crate::record::Record;
use crate::store::disk::path::RedbResult;
use crate::store::tables::edit::{DocumentEdit, TextEdit};
use crate::store::tables::keys::{EncodedKeyRow, KeyRow};
use crate::store::tables::packed::ApplyCounts;
use crate::store::tables::packed::entry::pair;
use crate::store::tables::schema::{self, COPIED};
use crate::store::tables::{keys, text_keys, texts};

impl WriteTransaction {
    pub(crate) fn texts_mut(&mut self) -> Result<redb::Table<'_, u64, &'static [u8]>> {
        self.is_changed = true;
        self.open_texts()
    }

    pub(super) fn apply_texts<'e>(&mut self, edits: &'e [DocumentEdit]) -> Result<ApplyCounts> {
        let mut applied = ApplyCounts::default();
        if !self.keeps.has_texts_table() {
            return Ok(applied);
        }
        let mut encoder = texts::Encoder::default();
        let had_text = |old: Option<redb::AccessGuard<'_, &'static [u8]>>| {
            u64::from(old.is_some_and(|old| texts::has_text(old.value())))
        };
        let mut table = self.open_texts()?;
        for edit in edits {
            let row = match (&edit.text, edit.new_copies()) {
                (TextEdit::Keep, None) => continue,
                (TextEdit::Remove, _) => None,
                (TextEdit::Put(keyed), None) => {
                    Some((Cow::Borrowed(keyed.record()), keyed.sketch()))
                }
                (TextEdit::Put(keyed), Some(copies)) => {
                    let record = keyed.record().with_copies(Some(copies));
                    Some((Cow::Owned(record), keyed.sketch()))
                }
                // The row is written again, with its text.
                (TextEdit::Keep, Some(copies)) => {
                    let row = texts::get_with_sketch(&table, edit.id, &self.db_path)?;
                    let no_row = || (Record::new(None, None, None, None, None), None);
                    let (record, sketch) = row.unwrap_or_else(no_row);
                    Some((Cow::Owned(record.with_copies(Some(copies))), sketch))
                }
            };
            let old = match row.filter(|(record, _)| record.has_row()) {
                Some((record, sketch)) => {
                    let bytes = encoder.encode(edit.id, &record, sketch)?;
                    applied.added += u64::from(record.has_text());
                    table
                        .insert(edit.id.0, bytes.as_slice())
                        .writing(&self.db_path)?
                }
                None => table.remove(edit.id.0).writing(&self.db_path)?,
            };
            applied.removed += had_text(old);
        }
        if self.keeps.keys {
            let changed = edits.iter().filter(|edit| edit.text != TextEdit::Keep);
            let key_of = |edit: &'e DocumentEdit| edit.text.record().and_then(Record::key);
            let changes = changed.map(|edit| (edit.id, key_of(edit)));
            keys::apply(&mut table, changes, &self.db_path)?;
        }
        Ok(applied)
    }

    /// The documents that have no stored text.
    pub(crate) fn without_text<V>(&self, documents: Vec<(DocId, V)>) -> Result<Vec<(DocId, V)>> {
        let table = self.open_texts()?;
        let mut without = Vec::with_capacity(documents.len());
        for (id, value) in documents {
            let text = table.get(id.0).reading(&self.db_path)?;
            if text.is_none() {
                without.push((id, value));
            }
        }
        Ok(without)
    }

    /// The rows of the keys of new documents, by ascending ids, to be [stored](Self::add_key_rows).
    pub(crate) fn key_rows<'k>(
        &self,
        keys: impl Iterator<Item = (DocId, &'k str)>,
    ) -> Result<Vec<KeyRow>> {
        let keys = keys.map(|(id, key)| (id, Some(key)));
        keys::changed_rows(&self.open_texts()?, keys, &self.db_path)
    }

    pub(crate) fn add_key_rows(&mut self, rows: &[EncodedKeyRow]) -> Result<()> {
        self.is_changed |= !rows.is_empty();
        let mut table = self.open_texts()?;
        let mut rows = rows.iter();
        rows.try_for_each(|row| keys::write_row(&mut table, row, &self.db_path))
    }

    /// Stores encoded texts of documents without a text. The caller updates the table of text keys.
    pub(crate) fn add_texts<'b>(
        &mut self,
        texts: impl Iterator<Item = (DocId, &'b [u8])>,
    ) -> Result<()> {
        let (mut added, mut is_changed) = (0, false);
        {
            let mut table = self.open_texts()?;
            for (id, bytes) in texts {
                let old = table.insert(id.0, bytes).writing(&self.db_path)?;
                let is_new = old.is_none();
                drop(old);
                added += u64::from(is_new && texts::has_text(bytes));
                is_changed |= is_new;
            }
        }
        self.is_changed |= is_changed;
        self.counters.texts = self.counters.texts.saturating_add(added);
        Ok(())
    }

    /// Removes the texts and keys of documents. Passes the entries of text keys that the caller
    /// must remove to `remove_entry`.
    pub(crate) fn remove_texts(
        &mut self,
        ids: impl Iterator<Item = Result<u64>>,
        mut remove_entry: impl FnMut(u128) -> Result<()>,
    ) -> Result<()> {
        let (mut removed, mut is_changed) = (0, false);
        self.changes.add_any_documents();
        {
            let mut table = self.open_texts()?;
            for id in ids {
                let id = id?;
                if self.keeps.keys {
                    is_changed |= keys::apply(&mut table, [(DocId(id), None)], &self.db_path)?;
                }
                if self.keeps.copies() {
                    let changes = self.tables()?.removed_copies_changes(DocId(id))?;
                    self.packed(COPIED)?
                        .apply(changes.copied.into_iter().map(Ok))?;
                }
                let old = table.remove(id).writing(&self.db_path)?;
                let Some(old) = old else {
                    continue;
                };
                removed += u64::from(texts::has_text(old.value()));
                is_changed = true;
                if self.keeps.text_keys {
                    let text = texts::decode(DocId(id), old.value(), &self.db_path)?;
                    for key in text_keys::keys(&text, self.keeps.scope_of(DocId(id))) {
                        remove_entry(pair(key, id))?;
                    }
                }
            }
        }
        self.is_changed |= is_changed;
        self.counters.texts = self.counters.texts.saturating_sub(removed);
        Ok(())
    }

    /// `None` if the database keeps no texts.
    pub(crate) fn texts_to_read(&self) -> Result<Option<redb::Table<'_, u64, &'static [u8]>>> {
        let has_texts = self.keeps.has_texts_table();
        has_texts.then(|| self.open_texts()).transpose()
    }

    pub(super) fn open_texts(&self) -> Result<redb::Table<'_, u64, &'static [u8]>> {
        self.transaction
            .open_table(schema::TEXTS)
            .writing(&self.db_path)
    }
}
