//! [`ParquetWriter`]: a new file of required integer columns.

use std::sync::Arc;

use anyhow::Result;
use parquet::basic::{Compression, Encoding, Repetition, Type};
use parquet::data_type::{BoolType, DataType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type as SchemaType};

/// The rows of a row group. A row group is held in memory, 8 bytes for each value.
pub const GROUP_ROWS: usize = 1 << 20;

/// The writer's name and version in the metadata.
pub const CREATED_BY: &str = concat!("simdb version ", env!("CARGO_PKG_VERSION"));

/// A column of a new file.
#[derive(Clone, Copy, Debug)]
pub enum NewColumn {
    /// INT64, sorted or nearly sorted: stored as differences.
    Ascending(&'static str),
    /// INT64 in any order.
    Bits(&'static str),
    /// INT32, small integers.
    Small(&'static str),
    /// BOOLEAN; `false` is 0.
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

/// A consumer of the bytes of a file, in order.
pub type ByteSink<'s> = dyn FnMut(&[u8]) -> Result<()> + 's;

/// A new file. Its bytes go to a [`ByteSink`] row group by row group, because standard output cannot
/// seek.
pub struct ParquetWriter {
    file: SerializedFileWriter<Vec<u8>>,
    columns: Vec<(NewColumn, Vec<u64>)>,
    /// The number of rows, including those held in memory.
    rows: u64,
}

impl ParquetWriter {
    /// Starts a file with these columns and keys.
    pub fn new(columns: &[NewColumn], keys: Vec<KeyValue>) -> Result<Self> {
        let mut properties = WriterProperties::builder()
            .set_created_by(CREATED_BY.to_owned())
            // Fingerprints do not compress, and ids as differences take a byte or two.
            .set_compression(Compression::UNCOMPRESSED)
            .set_dictionary_enabled(false)
            .set_offset_index_disabled(true)
            .set_key_value_metadata(Some(keys));
        let mut fields = Vec::with_capacity(columns.len());
        for column in columns {
            let (name, kind, encoding) = column.layout();
            // Minimum and maximum help readers to skip row groups only if values are sorted.
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

    /// The number of rows pushed.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds a row, a value for each column, of which INT32 and BOOLEAN columns take the lowest bits.
    /// Every [`GROUP_ROWS`] rows, writes a row group to `sink`.
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

    /// Adds a key to the metadata.
    pub fn add_key(&mut self, pair: KeyValue) {
        self.file.append_key_value_metadata(pair);
    }

    /// Writes the remaining rows and the footer to `sink`.
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
