//! [`ParquetRecords`]: the rows of a file as documents.

use anyhow::{Result, ensure};
use serde_json::{Number, Value};

use super::ParquetFile;
use super::columns::{document_columns, document_fields};
use super::rows::{ParquetCell, ParquetRow, ParquetRows};
use crate::formats::fields::{DocumentFields, DocumentPart, FieldValue, PartValues};
use crate::formats::id_sequence::IdSequence;
use crate::formats::{Item, Records, utf8};

/// A reader of the rows of a file as documents.
pub struct ParquetRecords {
    rows: ParquetRows,
    fields: DocumentFields,
    /// The ids of the next rows; `None` if rows have ids.
    counted: Option<IdSequence>,
}

impl ParquetRecords {
    /// Reads the columns that `fields` names, or the columns of simdb's own files.
    pub fn new(file: ParquetFile, fields: &DocumentFields, counted: IdSequence) -> Result<Self> {
        ensure!(
            fields.keep.is_empty(),
            "{}: --keep takes fields of JSON Lines, CSV and TSV, not of Parquet",
            file.name()
        );
        let columns = document_columns(&file, fields)?;
        let (fields, _) = document_fields(&file, fields)?;
        Ok(Self {
            rows: ParquetRows::new(file, columns),
            counted: fields.are_counted.then_some(counted),
            fields,
        })
    }
}

impl Records for ParquetRecords {
    fn next(&mut self) -> Result<Option<Item>> {
        let row = self.rows.next_row()?;
        let counted = self.counted.as_mut();
        Ok(row.map(|row| self.fields.item(row.number, counted, Ok(row))))
    }

    fn next_ids(&self) -> Option<IdSequence> {
        self.counted
    }
}

impl PartValues for ParquetRow<'_> {
    const KIND: &'static str = "column";
    const TEXT_MAY_BE_NULL: bool = false;

    fn take(&mut self, part: DocumentPart) -> Result<Option<FieldValue>, String> {
        let mut columns = self.columns.iter().zip(self.cells);
        let Some((column, cell)) = columns.find(|(column, _)| column.role.part() == part) else {
            return Ok(None);
        };
        let in_column = |reason| format!("column {:?}: {reason}", column.name);
        Ok(Some(FieldValue::Json(match cell {
            ParquetCell::Null => Value::Null,
            ParquetCell::Signed(bits) if part == DocumentPart::Fingerprint => {
                return Ok(Some(FieldValue::Bits(*bits as u64)));
            }
            ParquetCell::Unsigned(bits) if part == DocumentPart::Fingerprint => {
                return Ok(Some(FieldValue::Bits(*bits)));
            }
            ParquetCell::Signed(number) => Value::from(*number),
            ParquetCell::Unsigned(number) => Value::from(*number),
            // JSON has no infinite numbers. As strings they are refused with their names.
            ParquetCell::Number(number) => Number::from_f64(*number)
                .map_or_else(|| Value::from(number.to_string()), Value::Number),
            ParquetCell::Text(bytes) => Value::from(utf8(bytes.data()).map_err(in_column)?),
            ParquetCell::Boolean(value) => Value::Bool(*value),
            ParquetCell::Millis(ms) => return Ok(Some(FieldValue::Millis(*ms))),
        })))
    }
}
