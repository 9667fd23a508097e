//! [`ParquetRows`]: some columns of a file, row by row.

use anyhow::{Context, Result, bail, ensure};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType, Int96};
use simdb::Timestamp;

use super::ParquetFile;
use super::columns::{ColumnKind, ParquetColumn};
use crate::formats::catch_panics::catch_panics;

/// At most 1024 values of each column are held in memory.
pub(super) const BATCH_ROWS: usize = 1024;

const UNEQUAL: &str = "it is damaged: a row group has fewer or more rows than its metadata says";

/// A value of a column.
#[derive(Clone, Debug)]
pub enum ParquetCell {
    Null,
    Signed(i64),
    Unsigned(u64),
    Number(f64),
    /// The bytes of a string, which may not be UTF-8.
    Text(ByteArray),
    Boolean(bool),
    /// A time in milliseconds since 1970.
    Millis(i64),
}

/// A reader of some columns of a file, row by row.
pub struct ParquetRows {
    file: ParquetFile,
    columns: Vec<ParquetColumn>,
    next_group: usize,
    /// The columns of the current row group.
    readers: Vec<ColumnReader>,
    /// Values of each column that are not yet returned, equally many of each column.
    batch: Vec<std::vec::IntoIter<ParquetCell>>,
    /// The number of the next row, counted from 0.
    row: u64,
    /// The number of the first row after the current row group.
    group_end: u64,
    cells: Vec<ParquetCell>,
}

/// A row of these columns.
pub struct ParquetRow<'r> {
    /// The number of the row, counted from 0.
    pub number: u64,
    pub columns: &'r [ParquetColumn],
    /// The value of each column.
    pub cells: &'r [ParquetCell],
}

impl ParquetRows {
    /// Reads these columns, at least one.
    pub fn new(file: ParquetFile, columns: Vec<ParquetColumn>) -> Self {
        Self {
            file,
            columns,
            next_group: 0,
            readers: Vec::new(),
            batch: Vec::new(),
            row: 0,
            group_end: 0,
            cells: Vec::new(),
        }
    }

    /// The next row; `None` at the end.
    pub fn next_row(&mut self) -> Result<Option<ParquetRow<'_>>> {
        let number = self.row;
        if self.batch.first().is_none_or(|cells| cells.len() == 0) {
            let has_more = catch_panics(|| self.read_batch())
                .with_context(|| format!("cannot read {} beyond row {number}", self.file.name()))?;
            if !has_more {
                return Ok(None);
            }
        }
        self.cells.clear();
        self.cells
            .extend(self.batch.iter_mut().filter_map(Iterator::next));
        self.row += 1;
        Ok(Some(ParquetRow {
            number,
            columns: &self.columns,
            cells: &self.cells,
        }))
    }

    /// Reads the next values of each column. Returns `false` at the end of the file.
    fn read_batch(&mut self) -> Result<bool> {
        loop {
            let columns = self.columns.iter().zip(&mut self.readers);
            self.batch = columns
                .map(|(column, reader)| Ok(column.read(reader)?.into_iter()))
                .collect::<Result<_>>()?;
            let rows = self.batch.first().map_or(0, ExactSizeIterator::len);
            // A damaged column may have fewer values than the others, or more than the row group.
            let are_equal = self.batch.iter().all(|cells| cells.len() == rows);
            ensure!(
                are_equal && self.row + rows as u64 <= self.group_end,
                UNEQUAL
            );
            if rows > 0 {
                self.file.count_rows(rows);
                return Ok(true);
            }
            ensure!(self.row == self.group_end, UNEQUAL);
            if self.next_group == self.file.metadata().num_row_groups() {
                return Ok(false);
            }
            let group = self.file.row_group(self.next_group)?;
            self.next_group += 1;
            self.group_end += u64::try_from(group.metadata().num_rows())?;
            let readers = self.columns.iter();
            self.readers = readers
                .map(|column| Ok(group.get_column_reader(column.leaf)?))
                .collect::<Result<_>>()?;
        }
    }
}

/// A time without a zone, as its text; `None` before 1970.
fn local_time(ms: i64) -> Option<ParquetCell> {
    let text = Timestamp(u64::try_from(ms).ok()?).to_string();
    let without_zone = text.trim_end_matches('Z');
    Some(ParquetCell::Text(without_zone.into()))
}

impl ParquetColumn {
    /// Reads the next values; empty at the end of the row group.
    fn read(&self, reader: &mut ColumnReader) -> Result<Vec<ParquetCell>> {
        let depth = self.max_definition;
        let int32 = |value: i32| match self.kind {
            ColumnKind::Unsigned => ParquetCell::Unsigned(u64::from(value as u32)),
            _ => ParquetCell::Signed(value.into()),
        };
        let int64 = |value: i64| match self.kind {
            ColumnKind::Unsigned => ParquetCell::Unsigned(value as u64),
            ColumnKind::Time {
                units_per_ms,
                is_local,
            } => {
                let ms = value.div_euclid(units_per_ms);
                local_time(ms)
                    .filter(|_| is_local)
                    .unwrap_or(ParquetCell::Millis(ms))
            }
            _ => ParquetCell::Signed(value),
        };
        let int96 = |value: Int96| ParquetCell::Millis(value.to_millis());
        let float = |value: f32| ParquetCell::Number(value.into());
        match reader {
            ColumnReader::BoolColumnReader(r) => read_cells(r, depth, ParquetCell::Boolean),
            ColumnReader::Int32ColumnReader(r) => read_cells(r, depth, int32),
            ColumnReader::Int64ColumnReader(r) => read_cells(r, depth, int64),
            ColumnReader::Int96ColumnReader(r) => read_cells(r, depth, int96),
            ColumnReader::FloatColumnReader(r) => read_cells(r, depth, float),
            ColumnReader::DoubleColumnReader(r) => read_cells(r, depth, ParquetCell::Number),
            ColumnReader::ByteArrayColumnReader(r) => read_cells(r, depth, ParquetCell::Text),
            ColumnReader::FixedLenByteArrayColumnReader(_) => {
                bail!("column {:?} has a type that simdb does not read", self.name)
            }
        }
    }
}

fn read_cells<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    max_definition: i16,
    cell: impl Fn(T::T) -> ParquetCell,
) -> Result<Vec<ParquetCell>> {
    let (mut definitions, mut values) = (Vec::new(), Vec::new());
    reader.read_records(BATCH_ROWS, Some(&mut definitions), None, &mut values)?;
    let mut cells = values.into_iter().map(cell);
    if max_definition == 0 {
        return Ok(cells.collect());
    }
    let cells = definitions.into_iter().map(|definition| {
        let value = (definition == max_definition).then(|| cells.next());
        value.flatten().unwrap_or(ParquetCell::Null)
    });
    Ok(cells.collect())
}
