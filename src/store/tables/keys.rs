//! The keys of documents, in table `texts`: the keys of 32 neighbouring ids are one row, behind the
//! rows of all texts.
//!
//! Neighbours have much in common, as the URLs of one site: together they are compressed to a
//! third, one by one not at all. A row is stored as a text of this content, for each key of the
//! group by id: a digit for the place in the group, two digits for the bytes of the key, and the
//! key.

use std::borrow::Cow;
use std::collections::BTreeMap;

use redb::ReadableTable;

use super::texts::{self, Encoder};
use crate::error::Result;
use crate::ids::DocId;
use crate::record::{Record, length, push_length};
use crate::store::disk::path::{DbPath, RedbResult};

/// 32 ids share a row. With 64, keys take a tenth less, and the look-up of a key takes longer.
const GROUP_IDS: u64 = 32;
/// Rows from here on are groups. The ids of documents with keys are smaller.
pub(crate) const FIRST_GROUP: u64 = 1 << 63;

const LENGTH_DIGITS: usize = 2;

/// The row of the key of a document.
fn row_of(id: DocId) -> DocId {
    DocId(FIRST_GROUP | (id.0 / GROUP_IDS))
}

/// The first id of the group in a row.
pub(crate) fn first_id(row: u64) -> u64 {
    (row & !FIRST_GROUP).saturating_mul(GROUP_IDS)
}

/// The documents and keys of a row.
pub(crate) fn decode(
    row: DocId,
    bytes: &[u8],
    db_path: &DbPath,
) -> Result<BTreeMap<DocId, String>> {
    let mut keys = BTreeMap::new();
    visit(row, bytes, db_path, |id, key| {
        keys.insert(id, key.to_owned());
    })?;
    Ok(keys)
}

/// Calls `visitor` with each document and key of a row.
fn visit(
    row: DocId,
    bytes: &[u8],
    db_path: &DbPath,
    visitor: impl FnMut(DocId, &str),
) -> Result<()> {
    let group = texts::decode(row, bytes, db_path)?;
    let damaged = || db_path.corrupt(format!("row {row} of keys is damaged"));
    parse(row, group.text(), visitor).ok_or_else(damaged)
}

fn parse(row: DocId, mut rest: &str, mut visitor: impl FnMut(DocId, &str)) -> Option<()> {
    while !rest.is_empty() {
        let place = length::<1>(rest.as_bytes())? as u64;
        let bytes = length::<LENGTH_DIGITS>(&rest.as_bytes()[1..])?;
        let key = rest.get(1 + LENGTH_DIGITS..1 + LENGTH_DIGITS + bytes)?;
        rest = &rest[1 + LENGTH_DIGITS + bytes..];
        visitor(DocId(first_id(row.0).saturating_add(place)), key);
    }
    Some(())
}

/// The key of a document; `None` if the document is not stored.
pub(crate) fn get(
    table: &impl ReadableTable<u64, &'static [u8]>,
    id: DocId,
    db_path: &DbPath,
) -> Result<Option<String>> {
    let row = row_of(id);
    let mut found = None;
    texts::get_row(table, row.0, db_path, |bytes| {
        visit(row, bytes, db_path, |other, key| {
            if other == id {
                found = Some(key.to_owned());
            }
        })
    })?;
    Ok(found)
}

/// Sets and removes keys, by ascending ids. Returns `true` if there were any changes.
pub(crate) fn apply<'k>(
    table: &mut redb::Table<'_, u64, &'static [u8]>,
    changes: impl IntoIterator<Item = (DocId, Option<&'k str>)>,
    db_path: &DbPath,
) -> Result<bool> {
    let rows = changed_rows(table, changes, db_path)?;
    let mut encoder = Encoder::default();
    for row in &rows {
        write_row(table, &row.encode(&mut encoder)?, db_path)?;
    }
    Ok(!rows.is_empty())
}

/// The keys of a group of ids, to be stored.
pub(crate) struct KeyRow {
    row: DocId,
    content: String,
}

/// A row of keys as it is stored.
pub(crate) struct EncodedKeyRow {
    row: DocId,
    /// `None` for a group without keys, which has no row.
    bytes: Option<Vec<u8>>,
}

impl KeyRow {
    pub(crate) fn encode(&self, encoder: &mut Encoder) -> Result<EncodedKeyRow> {
        let record = (!self.content.is_empty()).then(|| Record::from(self.content.as_str()));
        let bytes = record.map(|record| encoder.encode(self.row, &record, None));
        Ok(EncodedKeyRow {
            row: self.row,
            bytes: bytes.transpose()?,
        })
    }
}

/// The rows of keys that are set and removed, by ascending ids, with the stored keys beside them.
pub(crate) fn changed_rows<'k>(
    table: &impl ReadableTable<u64, &'static [u8]>,
    changes: impl IntoIterator<Item = (DocId, Option<&'k str>)>,
    db_path: &DbPath,
) -> Result<Vec<KeyRow>> {
    let mut changes = changes.into_iter().peekable();
    let mut rows = Vec::new();
    while let Some((first, _)) = changes.peek() {
        let row = row_of(*first);
        let stored = table.get(row.0).reading(db_path)?;
        let stored = stored.map(|bytes| decode(row, bytes.value(), db_path));
        let stored = stored.transpose()?.unwrap_or_default().into_iter();
        let stored = stored.map(|(id, key)| (id, Cow::Owned(key)));
        let mut keys: BTreeMap<DocId, Cow<'_, str>> = stored.collect();
        while let Some((id, key)) = changes.next_if(|(id, _)| row_of(*id) == row) {
            match key {
                Some(key) => keys.insert(id, Cow::Borrowed(key)),
                None => keys.remove(&id),
            };
        }
        let mut content = String::new();
        for (id, key) in &keys {
            push_length::<1>(&mut content, (id.0 % GROUP_IDS) as usize);
            push_length::<LENGTH_DIGITS>(&mut content, key.len());
            content.push_str(key);
        }
        rows.push(KeyRow { row, content });
    }
    Ok(rows)
}

pub(crate) fn write_row(
    table: &mut redb::Table<'_, u64, &'static [u8]>,
    row: &EncodedKeyRow,
    db_path: &DbPath,
) -> Result<()> {
    match &row.bytes {
        Some(bytes) => table.insert(row.row.0, bytes.as_slice()).writing(db_path)?,
        None => table.remove(row.row.0).writing(db_path)?,
    };
    Ok(())
}
