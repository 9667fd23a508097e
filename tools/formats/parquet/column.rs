//! [`Column`]: the values of a column in a row group, one after the other.

use std::sync::Arc;

use anyhow::Result;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type,
    Int96Type,
};
use parquet::schema::types::ColumnDescPtr;

use super::kind::Kind;
use super::pages::{Gate, Pages};

/// A value of a column.
#[derive(Clone, Debug)]
pub enum Cell {
    /// None.
    Null,
    /// A signed integer.
    Signed(i64),
    /// An unsigned integer.
    Unsigned(u64),
    /// A number with a fraction.
    Number(f64),
    /// A text, or what is taken for one.
    Text(ByteArray),
    /// True or false.
    Boolean(bool),
    /// A time, in milliseconds since 1970.
    Millis(i64),
}

/// The values of a column in a row group.
pub struct Column {
    values: Values,
    kind: Kind,
}

enum Values {
    Boolean(Cursor<BoolType>),
    Int32(Cursor<Int32Type>),
    Int64(Cursor<Int64Type>),
    Int96(Cursor<Int96Type>),
    Float(Cursor<FloatType>),
    Double(Cursor<DoubleType>),
    Bytes(Cursor<ByteArrayType>),
    /// A type that nothing is read of.
    Other,
}

impl Column {
    /// A column that is no part of a list, before its first value.
    pub fn new(descriptor: ColumnDescPtr, kind: Kind, pages: Pages) -> Self {
        let gate = pages.gate();
        let deepest = descriptor.max_def_level();
        let values = match get_column_reader(descriptor, Box::new(pages)) {
            ColumnReader::BoolColumnReader(r) => Values::Boolean(Cursor::new(r, gate, deepest)),
            ColumnReader::Int32ColumnReader(r) => Values::Int32(Cursor::new(r, gate, deepest)),
            ColumnReader::Int64ColumnReader(r) => Values::Int64(Cursor::new(r, gate, deepest)),
            ColumnReader::Int96ColumnReader(r) => Values::Int96(Cursor::new(r, gate, deepest)),
            ColumnReader::FloatColumnReader(r) => Values::Float(Cursor::new(r, gate, deepest)),
            ColumnReader::DoubleColumnReader(r) => Values::Double(Cursor::new(r, gate, deepest)),
            ColumnReader::ByteArrayColumnReader(r) => Values::Bytes(Cursor::new(r, gate, deepest)),
            ColumnReader::FixedLenByteArrayColumnReader(_) => Values::Other,
        };
        Self { values, kind }
    }

    /// The next value; nothing at the end. To be called at the edge.
    pub fn next(&mut self) -> Result<Option<Cell>> {
        let kind = self.kind;
        Ok(match &mut self.values {
            Values::Boolean(cursor) => cursor.next()?.map(|v| cell(v, Cell::Boolean)),
            Values::Int32(cursor) => cursor.next()?.map(|v| {
                cell(v, |value| match kind {
                    Kind::Unsigned => Cell::Unsigned(u64::from(value as u32)),
                    _ => Cell::Signed(value.into()),
                })
            }),
            Values::Int64(cursor) => cursor.next()?.map(|v| {
                cell(v, |value| match kind {
                    Kind::Unsigned => Cell::Unsigned(value as u64),
                    Kind::Time { in_ms } => Cell::Millis(value.div_euclid(in_ms)),
                    _ => Cell::Signed(value),
                })
            }),
            Values::Int96(cursor) => cursor
                .next()?
                .map(|v| cell(v, |value| Cell::Millis(value.to_millis()))),
            Values::Float(cursor) => cursor
                .next()?
                .map(|v| cell(v, |value| Cell::Number(value.into()))),
            Values::Double(cursor) => cursor.next()?.map(|v| cell(v, Cell::Number)),
            Values::Bytes(cursor) => cursor.next()?.map(|v| cell(v, Cell::Text)),
            Values::Other => None,
        })
    }
}

fn cell<T>(value: Option<T>, is: impl FnOnce(T) -> Cell) -> Cell {
    value.map_or(Cell::Null, is)
}

/// Values on their way, some at a time and never of two pages.
struct Cursor<T: DataType> {
    reader: ColumnReaderImpl<T>,
    gate: Arc<Gate>,
    values: std::vec::IntoIter<T::T>,
    levels: Vec<i16>,
    /// How many of those were given out.
    given: usize,
    /// How many there are to give out.
    read: usize,
    /// The level of a value that is there.
    deepest: i16,
}

impl<T: DataType> Cursor<T> {
    fn new(reader: ColumnReaderImpl<T>, gate: Arc<Gate>, deepest: i16) -> Self {
        Self {
            reader,
            gate,
            values: Vec::new().into_iter(),
            levels: Vec::new(),
            given: 0,
            read: 0,
            deepest,
        }
    }

    fn next(&mut self) -> Result<Option<Option<T::T>>> {
        if self.given == self.read && !self.refill()? {
            return Ok(None);
        }
        let is_there = match self.levels.get(self.given) {
            Some(level) => *level == self.deepest,
            None => true,
        };
        self.given += 1;
        Ok(Some(if is_there { self.values.next() } else { None }))
    }

    /// Reads some more values, if there are any.
    fn refill(&mut self) -> Result<bool> {
        // What is held of the page before goes first.
        self.values = Vec::new().into_iter();
        for is_next_page in [false, true] {
            if is_next_page {
                self.gate.open();
            }
            self.levels.clear();
            let mut values = Vec::new();
            let (read, _, _) = self.reader.read_records(
                self.gate.records(),
                Some(&mut self.levels),
                None,
                &mut values,
            )?;
            if read > 0 {
                self.values = values.into_iter();
                (self.given, self.read) = (0, read);
                return Ok(true);
            }
        }
        Ok(false)
    }
}
