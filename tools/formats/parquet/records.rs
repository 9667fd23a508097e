//! [`ParquetRecords`]: the rows of a file as documents.

use anyhow::Result;
use simdb::{DocId, Fingerprint, Timestamp};

use super::ParquetFile;
use super::columns::{ColumnRole, document_columns};
use super::rows::{ParquetCell, ParquetRow, ParquetRows};
use crate::formats::score::Score;
use crate::formats::time::{time_of_ms, time_of_number, time_of_text};
use crate::formats::{
    DocumentContent, DocumentFields, Item, Records, fingerprint_of, id_of_digits, not_an_id,
    text_of, utf8,
};

/// Reads the rows of a file as documents.
pub struct ParquetRecords {
    rows: ParquetRows,
    max_text_bytes: usize,
}

impl ParquetRecords {
    /// Reads the columns that these fields name, or those of simdb's own files.
    pub fn new(file: ParquetFile, fields: &DocumentFields) -> Result<Self> {
        let columns = document_columns(&file, fields)?;
        Ok(Self {
            rows: ParquetRows::new(file, columns),
            max_text_bytes: fields.max_text_bytes,
        })
    }
}

impl Records for ParquetRecords {
    fn next(&mut self) -> Result<Option<Item>> {
        let Some(row) = self.rows.next_row()? else {
            return Ok(None);
        };
        Ok(Some(match id(&row) {
            Ok(id) => Item::of(row.number, id, content(&row, self.max_text_bytes)),
            Err(reason) => Item::reject(row.number, None, reason),
        }))
    }
}

/// The id of a row, which is in the first column.
fn id(row: &ParquetRow<'_>) -> Result<DocId, String> {
    let id = match &row.cells[0] {
        ParquetCell::Unsigned(id) => Ok(DocId(*id)),
        ParquetCell::Signed(id) => match u64::try_from(*id) {
            Ok(id) => Ok(DocId(id)),
            Err(_) => Err(not_an_id(&id.to_string())),
        },
        ParquetCell::Text(digits) => utf8(digits.data()).and_then(id_of_digits),
        _ => Err(not_an_id("null")),
    };
    id.map_err(|reason| in_column(&row.columns[0].name, &reason))
}

fn content(row: &ParquetRow<'_>, max_text_bytes: usize) -> Result<DocumentContent, String> {
    let mut content = DocumentContent {
        text: None,
        fingerprint: None,
        arrival: None,
        score: None,
    };
    for (column, cell) in row.columns.iter().zip(row.cells) {
        let in_column = |reason: String| in_column(&column.name, &reason);
        match column.role {
            ColumnRole::Text => {
                let text = text(cell).map_err(in_column)?;
                content.text = Some(text_of(text.to_owned(), max_text_bytes)?);
            }
            ColumnRole::Fingerprint => {
                let fingerprint = fingerprint(cell).map_err(in_column)?;
                content.fingerprint = Some((fingerprint, true));
            }
            ColumnRole::Time => content.arrival = Some(time(cell).map_err(in_column)?),
            ColumnRole::Score => content.score = Some(score(cell).map_err(in_column)?),
            // This column comes after the fingerprint. As in the other formats, null is reliable.
            ColumnRole::Reliable => {
                if let (Some((_, reliable)), ParquetCell::Boolean(value)) =
                    (&mut content.fingerprint, cell)
                {
                    *reliable = *value;
                }
            }
            ColumnRole::Id | ColumnRole::IdBits | ColumnRole::Distance => {}
        }
    }
    Ok(content)
}

fn text(cell: &ParquetCell) -> Result<&str, String> {
    match cell {
        ParquetCell::Text(bytes) => utf8(bytes.data()),
        _ => Err("it is null, a string is expected".to_owned()),
    }
}

fn fingerprint(cell: &ParquetCell) -> Result<Fingerprint, String> {
    match cell {
        ParquetCell::Signed(bits) => Ok(Fingerprint::from_bits(*bits as u64)),
        ParquetCell::Unsigned(bits) => Ok(Fingerprint::from_bits(*bits)),
        ParquetCell::Text(digits) => utf8(digits.data()).and_then(fingerprint_of),
        _ => Err("it is null, a fingerprint is expected".to_owned()),
    }
}

fn time(cell: &ParquetCell) -> Result<Timestamp, String> {
    match cell {
        ParquetCell::Millis(ms) => time_of_ms(*ms),
        ParquetCell::Text(text) => utf8(text.data()).and_then(time_of_text),
        ParquetCell::Signed(number) => time_of_number(&(*number).into()),
        ParquetCell::Unsigned(number) => time_of_number(&(*number).into()),
        ParquetCell::Number(number) => match serde_json::Number::from_f64(*number) {
            Some(number) => time_of_number(&number),
            None => Err(format!("{number} is not a time")),
        },
        ParquetCell::Null | ParquetCell::Boolean(_) => {
            Err("it is null, a time is expected".to_owned())
        }
    }
}

fn score(cell: &ParquetCell) -> Result<Score, String> {
    match cell {
        ParquetCell::Signed(number) => Ok((*number).into()),
        ParquetCell::Unsigned(number) => Ok((*number).into()),
        ParquetCell::Number(number) => {
            Score::of_number(*number).ok_or_else(|| format!("{number} is not a number to go by"))
        }
        ParquetCell::Text(digits) => utf8(digits.data()).and_then(Score::of_digits),
        _ => Err("it is null, a number is expected".to_owned()),
    }
}

fn in_column(name: &str, reason: &str) -> String {
    format!("column {name:?}: {reason}")
}
