//! [`ParquetWriter`]: required columns of integers into a new file, as many rows at a time as make a
//! row group.

use std::sync::Arc;

use anyhow::Result;
use parquet::basic::{Compression, Encoding, Repetition, Type};
use parquet::data_type::{BoolType, DataType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type as SchemaType};

/// How many rows make a row group.
pub const GROUP_ROWS: usize = 1 << 20;

/// A column of a new file.
pub struct NewColumn {
    /// What it is called.
    pub name: &'static str,
    kind: Type,
    encoding: Encoding,
    /// Whether its smallest and largest values are written beside it, which helps where it is
    /// sorted.
    has_statistics: bool,
}

impl NewColumn {
    /// 64 bits, sorted or nearly so: they are written as differences.
    pub const fn ascending(name: &'static str) -> Self {
        Self {
            name,
            kind: Type::INT64,
            encoding: Encoding::DELTA_BINARY_PACKED,
            has_statistics: true,
        }
    }

    /// 64 bits that nothing is known of. They are written as they are.
    pub const fn bits(name: &'static str) -> Self {
        Self {
            name,
            kind: Type::INT64,
            encoding: Encoding::PLAIN,
            has_statistics: false,
        }
    }

    /// Small integers, in 32 bits.
    pub const fn small(name: &'static str) -> Self {
        Self {
            name,
            kind: Type::INT32,
            encoding: Encoding::DELTA_BINARY_PACKED,
            has_statistics: true,
        }
    }

    /// True and false.
    pub const fn boolean(name: &'static str) -> Self {
        Self {
            name,
            kind: Type::BOOLEAN,
            encoding: Encoding::PLAIN,
            has_statistics: false,
        }
    }
}

/// The values of a column in a row group.
pub enum Values<'v> {
    /// 64 bits each.
    Int64(&'v [i64]),
    /// 32 bits each.
    Int32(&'v [i32]),
    /// A bit each.
    Boolean(&'v [bool]),
}

/// A file in the making. Its bytes are handed out row group by row group, from the first to the
/// last, so that it can go anywhere.
pub struct ParquetWriter {
    file: SerializedFileWriter<Vec<u8>>,
}

impl ParquetWriter {
    /// Starts a file of these columns. Nothing is compressed: fingerprints cannot be, and ids that
    /// are written as differences take a byte or two as they are.
    pub fn new(columns: &[NewColumn], about: Vec<KeyValue>) -> Result<Self> {
        let mut properties = WriterProperties::builder()
            .set_created_by(concat!("simdb version ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::UNCOMPRESSED)
            .set_dictionary_enabled(false)
            .set_offset_index_disabled(true)
            .set_key_value_metadata(Some(about));
        let mut fields = Vec::with_capacity(columns.len());
        for column in columns {
            let path = ColumnPath::from(column.name);
            let statistics = match column.has_statistics {
                true => EnabledStatistics::Chunk,
                false => EnabledStatistics::None,
            };
            properties = properties
                .set_column_encoding(path.clone(), column.encoding)
                .set_column_statistics_enabled(path, statistics);
            let field = SchemaType::primitive_type_builder(column.name, column.kind)
                .with_repetition(Repetition::REQUIRED)
                .build()?;
            fields.push(Arc::new(field));
        }
        let schema = SchemaType::group_type_builder("simdb")
            .with_fields(fields)
            .build()?;
        let file =
            SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties.build().into())?;
        Ok(Self { file })
    }

    /// The bytes of a row group, after those before it: the values of each column, in the order of
    /// the columns, all of them equally long.
    pub fn group(&mut self, columns: &[Values<'_>]) -> Result<Vec<u8>> {
        let mut group = self.file.next_row_group()?;
        for values in columns {
            match values {
                Values::Int64(values) => write::<Int64Type>(&mut group, values)?,
                Values::Int32(values) => write::<Int32Type>(&mut group, values)?,
                Values::Boolean(values) => write::<BoolType>(&mut group, values)?,
            }
        }
        group.close()?;
        self.file.flush()?;
        Ok(std::mem::take(self.file.inner_mut()))
    }

    /// Notes what is known of the file only now.
    pub fn note(&mut self, key: &str, value: String) {
        let pair = KeyValue::new(key.to_owned(), value);
        self.file.append_key_value_metadata(pair);
    }

    /// The last bytes, which describe the others.
    pub fn finish(self) -> Result<Vec<u8>> {
        Ok(self.file.into_inner()?)
    }
}

fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &[T::T],
) -> Result<()> {
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(values, None, None)?;
        column.close()?;
    }
    Ok(())
}
