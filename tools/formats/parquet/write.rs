//! [`ParquetWriter`]: required columns of integers into a new file.

use std::sync::Arc;

use anyhow::Result;
use parquet::basic::{Compression, Encoding, Repetition, Type};
use parquet::data_type::{BoolType, DataType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type as SchemaType};

/// The number of rows of a row group. They are held in memory, 8 bytes for each value.
pub const GROUP_ROWS: usize = 1 << 20;

/// The writer of a file, as its metadata names it.
pub const CREATED_BY: &str = concat!("simdb version ", env!("CARGO_PKG_VERSION"));

/// A column of a new file.
#[derive(Clone, Copy, Debug)]
pub enum NewColumn {
    /// INT64, sorted or nearly so: written as differences.
    Ascending(&'static str),
    /// INT64 of no known order: written as they are.
    Bits(&'static str),
    /// Small integers in INT32.
    Small(&'static str),
    /// BOOLEAN: `false` is 0.
    Boolean(&'static str),
}

impl NewColumn {
    /// The name, the type and the encoding.
    fn layout(self) -> (&'static str, Type, Encoding) {
        match self {
            Self::Ascending(name) => (name, Type::INT64, Encoding::DELTA_BINARY_PACKED),
            Self::Bits(name) => (name, Type::INT64, Encoding::PLAIN),
            Self::Small(name) => (name, Type::INT32, Encoding::DELTA_BINARY_PACKED),
            Self::Boolean(name) => (name, Type::BOOLEAN, Encoding::PLAIN),
        }
    }
}

/// A consumer of the bytes of a file, from the first to the last.
pub type ByteSink<'s> = dyn FnMut(&[u8]) -> Result<()> + 's;

/// A new file. Its bytes are handed out row group by row group, so that it need not be a file on disk.
pub struct ParquetWriter {
    file: SerializedFileWriter<Vec<u8>>,
    columns: Vec<(NewColumn, Vec<u64>)>,
    /// The number of rows, those that are held included.
    rows: u64,
}

impl ParquetWriter {
    /// Starts a file with these columns and keys. It is not compressed: fingerprints cannot be, and
    /// ids as differences take a byte or two.
    pub fn new(columns: &[NewColumn], keys: Vec<KeyValue>) -> Result<Self> {
        let mut properties = WriterProperties::builder()
            .set_created_by(CREATED_BY.to_owned())
            .set_compression(Compression::UNCOMPRESSED)
            .set_dictionary_enabled(false)
            .set_offset_index_disabled(true)
            .set_key_value_metadata(Some(keys));
        let mut fields = Vec::with_capacity(columns.len());
        for column in columns {
            let (name, kind, encoding) = column.layout();
            // The smallest and the largest value help readers only where values are sorted.
            let statistics = match encoding {
                Encoding::PLAIN => EnabledStatistics::None,
                _ => EnabledStatistics::Chunk,
            };
            properties = properties
                .set_column_encoding(ColumnPath::from(name), encoding)
                .set_column_statistics_enabled(ColumnPath::from(name), statistics);
            let field = SchemaType::primitive_type_builder(name, kind)
                .with_repetition(Repetition::REQUIRED)
                .build()?;
            fields.push(Arc::new(field));
        }
        let schema = SchemaType::group_type_builder("simdb")
            .with_fields(fields)
            .build()?;
        Ok(Self {
            file: SerializedFileWriter::new(Vec::new(), schema.into(), properties.build().into())?,
            columns: columns.iter().map(|column| (*column, Vec::new())).collect(),
            rows: 0,
        })
    }

    /// The number of rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds a row: the lowest bits of a value for each column. Hands the bytes of a row group to
    /// `sink` when there are [`GROUP_ROWS`] rows.
    pub fn push(&mut self, row: &[u64], sink: &mut ByteSink<'_>) -> Result<()> {
        for ((_, values), value) in self.columns.iter_mut().zip(row) {
            values.push(*value);
        }
        self.rows += 1;
        if self.rows.is_multiple_of(GROUP_ROWS as u64) {
            self.write_group(sink)?;
        }
        Ok(())
    }

    /// Adds a key beside the schema.
    pub fn add_key(&mut self, pair: KeyValue) {
        self.file.append_key_value_metadata(pair);
    }

    /// Hands the rest of the bytes to `sink`.
    pub fn finish(mut self, sink: &mut ByteSink<'_>) -> Result<()> {
        if !self.rows.is_multiple_of(GROUP_ROWS as u64) {
            self.write_group(sink)?;
        }
        sink(&self.file.into_inner()?)
    }

    fn write_group(&mut self, sink: &mut ByteSink<'_>) -> Result<()> {
        let mut group = self.file.next_row_group()?;
        for (column, values) in &mut self.columns {
            let words = values.drain(..);
            match column.layout().1 {
                Type::INT64 => write::<Int64Type>(&mut group, words.map(|word| word as i64))?,
                Type::INT32 => write::<Int32Type>(&mut group, words.map(|word| word as i32))?,
                _ => write::<BoolType>(&mut group, words.map(|word| word != 0))?,
            }
        }
        group.close()?;
        self.file.flush()?;
        sink(&std::mem::take(self.file.inner_mut()))
    }
}

fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: impl Iterator<Item = T::T>,
) -> Result<()> {
    if let Some(mut column) = group.next_column()? {
        let values: Vec<T::T> = values.collect();
        column.typed::<T>().write_batch(&values, None, None)?;
        column.close()?;
    }
    Ok(())
}
