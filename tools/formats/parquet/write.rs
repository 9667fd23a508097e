//! [`ParquetWriter`]: a new file of required columns.

use std::sync::Arc;

use anyhow::Result;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type as SchemaType};

/// The most rows of a row group. A row group is held in memory, 8 bytes for each value.
pub const GROUP_ROWS: usize = 1 << 20;

/// A row group ends after 64 MiB of values, which integers alone do not reach.
const GROUP_BYTES: usize = 1 << 26;

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
    /// A UTF-8 string.
    Text(&'static str),
    /// BYTE_ARRAY.
    Bytes(&'static str),
    /// A list of INT64, which may be empty.
    List(&'static str),
}

/// A value of a row.
#[derive(Clone, Copy, Debug)]
pub enum Value<'v> {
    /// For integers and booleans. INT32 and BOOLEAN columns take the lowest bits.
    Word(u64),
    /// For strings and bytes.
    Bytes(&'v [u8]),
    List(&'v [u64]),
}

impl NewColumn {
    /// The name, the type and the encoding.
    fn layout(self) -> (&'static str, Type, Encoding) {
        match self {
            Self::Ascending(name) => (name, Type::INT64, Encoding::DELTA_BINARY_PACKED),
            Self::Bits(name) | Self::List(name) => (name, Type::INT64, Encoding::PLAIN),
            Self::Small(name) => (name, Type::INT32, Encoding::DELTA_BINARY_PACKED),
            Self::Boolean(name) => (name, Type::BOOLEAN, Encoding::PLAIN),
            Self::Text(name) | Self::Bytes(name) => (name, Type::BYTE_ARRAY, Encoding::PLAIN),
        }
    }

    /// The path of the values in the schema.
    fn path(self) -> ColumnPath {
        let (name, ..) = self.layout();
        match self {
            Self::List(_) => [name, "list", "element"].map(str::to_owned).to_vec().into(),
            _ => ColumnPath::from(name),
        }
    }

    fn field(self) -> Result<SchemaType> {
        let (name, kind, _) = self.layout();
        let required = |name, kind| {
            SchemaType::primitive_type_builder(name, kind).with_repetition(Repetition::REQUIRED)
        };
        Ok(match self {
            Self::Text(_) => {
                let text = required(name, kind).with_logical_type(Some(LogicalType::String));
                text.build()?
            }
            Self::List(_) => {
                let element = required("element", kind).build()?;
                let list = SchemaType::group_type_builder("list")
                    .with_repetition(Repetition::REPEATED)
                    .with_fields(vec![Arc::new(element)])
                    .build()?;
                SchemaType::group_type_builder(name)
                    .with_repetition(Repetition::REQUIRED)
                    .with_logical_type(Some(LogicalType::List))
                    .with_fields(vec![Arc::new(list)])
                    .build()?
            }
            _ => required(name, kind).build()?,
        })
    }
}

/// A consumer of the bytes of a file, in order.
pub type ByteSink<'s> = dyn FnMut(&[u8]) -> Result<()> + 's;

/// A new file. Its bytes go to a [`ByteSink`] row group by row group, because standard output
/// cannot seek.
pub struct ParquetWriter {
    file: SerializedFileWriter<Vec<u8>>,
    columns: Vec<(NewColumn, Held)>,
    /// The number of rows, including those held in memory.
    rows: u64,
    held_rows: usize,
    held_bytes: usize,
}

/// The values of a column that are held in memory.
#[derive(Default)]
struct Held {
    words: Vec<u64>,
    bytes: Vec<ByteArray>,
    /// The lengths of the lists.
    lengths: Vec<usize>,
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
            let (_, _, encoding) = column.layout();
            // Minimum and maximum help readers to skip row groups only if values are sorted.
            let statistics = match encoding {
                Encoding::PLAIN => EnabledStatistics::None,
                _ => EnabledStatistics::Chunk,
            };
            properties = properties
                .set_column_encoding(column.path(), encoding)
                .set_column_statistics_enabled(column.path(), statistics);
            fields.push(Arc::new(column.field()?));
        }
        let schema = SchemaType::group_type_builder("simdb")
            .with_fields(fields)
            .build()?;
        Ok(Self {
            file: SerializedFileWriter::new(Vec::new(), schema.into(), properties.build().into())?,
            columns: (columns.iter())
                .map(|column| (*column, Held::default()))
                .collect(),
            rows: 0,
            held_rows: 0,
            held_bytes: 0,
        })
    }

    /// The number of rows pushed.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds a row of integers and booleans: see [`push_values`](Self::push_values).
    pub fn push(&mut self, row: &[u64], sink: &mut ByteSink<'_>) -> Result<()> {
        self.push_values(row.iter().copied().map(Value::Word), sink)
    }

    /// Adds a row, a value for each column. Writes a row group to `sink` when [`GROUP_ROWS`] rows
    /// are held.
    pub fn push_values<'v>(
        &mut self,
        row: impl IntoIterator<Item = Value<'v>>,
        sink: &mut ByteSink<'_>,
    ) -> Result<()> {
        for ((_, held), value) in self.columns.iter_mut().zip(row) {
            self.held_bytes += held.push(value);
        }
        self.rows += 1;
        self.held_rows += 1;
        if self.held_rows == GROUP_ROWS || self.held_bytes >= GROUP_BYTES {
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
        if self.held_rows > 0 {
            self.write_group(sink)?;
        }
        sink(&self.file.into_inner()?)
    }

    fn write_group(&mut self, sink: &mut ByteSink<'_>) -> Result<()> {
        let mut group = self.file.next_row_group()?;
        for (column, held) in &mut self.columns {
            let held = std::mem::take(held);
            let levels = matches!(column, NewColumn::List(_)).then(|| held.levels());
            let words = held.words.into_iter();
            match column.layout().1 {
                Type::INT64 => {
                    let words = words.map(|word| word as i64).collect();
                    write::<Int64Type>(&mut group, words, levels)?;
                }
                Type::INT32 => {
                    let words = words.map(|word| word as i32).collect();
                    write::<Int32Type>(&mut group, words, levels)?;
                }
                Type::BYTE_ARRAY => write::<ByteArrayType>(&mut group, held.bytes, levels)?,
                _ => write::<BoolType>(&mut group, words.map(|word| word != 0).collect(), levels)?,
            }
        }
        group.close()?;
        self.file.flush()?;
        (self.held_rows, self.held_bytes) = (0, 0);
        sink(&std::mem::take(self.file.inner_mut()))
    }
}

impl Held {
    /// Adds a value, and returns its bytes in memory.
    fn push(&mut self, value: Value<'_>) -> usize {
        match value {
            Value::Word(word) => {
                self.words.push(word);
                size_of::<u64>()
            }
            Value::Bytes(bytes) => {
                self.bytes.push(bytes.to_vec().into());
                bytes.len()
            }
            Value::List(words) => {
                self.words.extend_from_slice(words);
                self.lengths.push(words.len());
                size_of_val(words)
            }
        }
    }

    /// The definition and repetition levels of lists: an empty list is a level without a value.
    fn levels(&self) -> [Vec<i16>; 2] {
        let mut levels = [Vec::new(), Vec::new()];
        for length in &self.lengths {
            for at in 0..(*length).max(1) {
                levels[0].push(i16::from(*length > 0));
                levels[1].push(i16::from(at > 0));
            }
        }
        levels
    }
}

fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: Vec<T::T>,
    levels: Option<[Vec<i16>; 2]>,
) -> Result<()> {
    if let Some(mut column) = group.next_column()? {
        let [definition, repetition] = match &levels {
            Some([definition, repetition]) => [Some(&definition[..]), Some(&repetition[..])],
            None => [None, None],
        };
        let typed = column.typed::<T>();
        typed.write_batch(&values, definition, repetition)?;
        column.close()?;
    }
    Ok(())
}
