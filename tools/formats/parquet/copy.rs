//! [`copy_rows`]: some of the rows of a file into another, and [`mark_rows`]: the same with two more
//! columns.
//!
//! What is copied is levels and values, column by column, so nested columns come along as they are,
//! as do names, types, annotations, what is said beside the schema, and how each column is packed.
//! Pages and dictionaries are made anew; bloom filters and checksums are not.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use parquet::basic::{Encoding, Repetition, Type};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{
    BoolType, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type,
    Int64Type, Int96Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type as SchemaType, TypePtr};

use super::file::ParquetFile;
use crate::formats::edge::at_edge;

/// The most rows of a row group: what becomes of each is held.
const MOST_GROUP_ROWS: u64 = 1 << 27;

/// Where Arrow keeps its own form of the schema, which would not have the new columns.
const ARROW_SCHEMA_KEY: &str = "ARROW:schema";

/// What a row is marked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The id of the document that is kept in its place.
    pub keeper: u64,
    /// In how many bits their fingerprints differ, if that is known.
    pub distance: Option<u32>,
}

/// What becomes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is left out.
    Drop,
    /// It is copied, with its mark if it has one and rows are marked.
    Keep(Option<Mark>),
}

/// What was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// The rows there were.
    pub rows: u64,
    /// Those that were written.
    pub kept: u64,
}

/// Writes the rows that are to be kept, which are counted from 0 and asked for in order. Everything
/// else about the file stays as it is; row groups of which nothing is kept are left out.
///
/// Memory: a byte for each row of a row group, two pages, and the pages of a column on their way.
pub fn copy_rows(
    input: &Path,
    output: impl Write + Send,
    fate: &mut dyn FnMut(u64) -> Result<Fate>,
) -> Result<Copied> {
    let file = ParquetFile::open(input, &Default::default())?;
    let schema = file.metadata().file_metadata().schema_descr();
    let schema = schema.root_schema_ptr();
    let mut writer = start(&file, output, schema, false)?;
    each_group(&file, |group, rows| {
        let mut kept = Vec::new();
        for row in rows {
            kept.push(fate(row)? != Fate::Drop);
        }
        let count = kept.iter().filter(|kept| **kept).count() as u64;
        if count > 0 {
            let mut output = writer.next_row_group()?;
            copy_columns(&file, group, &kept, &mut output)?;
            output.close()?;
        }
        Ok(count)
    })
    .and_then(|copied| {
        finish(&file, writer)?;
        Ok(copied)
    })
}

/// The same, and beside each row its mark in two more columns of these names: the document that is
/// kept in its place, INT64 with the bits of an id, and the distance, INT32; null where a row has none.
///
/// An error if there are columns of these names. The form of the schema that Arrow keeps for itself is
/// left out. Memory: that of [`copy_rows`], and 24 bytes for each row of a row group.
pub fn mark_rows(
    input: &Path,
    output: impl Write + Send,
    names: [&str; 2],
    fate: &mut dyn FnMut(u64) -> Result<Fate>,
) -> Result<Copied> {
    let file = ParquetFile::open(input, &Default::default())?;
    let mut writer = start(&file, output, with_marks(&file, names)?, true)?;
    each_group(&file, |group, rows| {
        let (mut kept, mut marks) = (Vec::new(), Vec::new());
        for row in rows {
            let fate = fate(row)?;
            kept.push(fate != Fate::Drop);
            if let Fate::Keep(mark) = fate {
                marks.push(mark);
            }
        }
        if marks.is_empty() {
            return Ok(0);
        }
        let mut output = writer.next_row_group()?;
        copy_columns(&file, group, &kept, &mut output)?;
        let keepers = marks.iter().map(|mark| Some(mark.as_ref()?.keeper as i64));
        write_optional::<Int64Type, _>(keepers, &mut output)?;
        let distances = marks
            .iter()
            .map(|mark| Some(mark.as_ref()?.distance? as i32));
        write_optional::<Int32Type, _>(distances, &mut output)?;
        output.close()?;
        Ok(marks.len() as u64)
    })
    .and_then(|copied| {
        finish(&file, writer)?;
        Ok(copied)
    })
}

/// Calls `copy` with each row group and the numbers of its rows; it says how many it has kept.
fn each_group(
    file: &ParquetFile,
    mut copy: impl FnMut(usize, std::ops::Range<u64>) -> Result<u64>,
) -> Result<Copied> {
    let mut copied = Copied::default();
    for group in 0..file.metadata().num_row_groups() {
        let rows = file.metadata().row_group(group).num_rows();
        let rows = u64::try_from(rows)
            .ok()
            .filter(|rows| *rows <= MOST_GROUP_ROWS);
        let rows = rows.with_context(|| {
            format!(
                "cannot copy {}: a row group has more than {MOST_GROUP_ROWS} rows; write it with \
                 smaller ones",
                file.name()
            )
        })?;
        let end = copied.rows + rows;
        copied.kept += at_edge(|| copy(group, copied.rows..end))
            .with_context(|| format!("cannot copy {} beyond row {}", file.name(), copied.rows))?;
        copied.rows = end;
    }
    Ok(copied)
}

/// Starts a file like another.
fn start<W: Write + Send>(
    file: &ParquetFile,
    output: W,
    schema: TypePtr,
    is_changed: bool,
) -> Result<SerializedFileWriter<W>> {
    let about = file.metadata().file_metadata();
    let mut pairs = about.key_value_metadata().cloned();
    if let Some(pairs) = pairs.as_mut().filter(|_| is_changed) {
        pairs.retain(|pair| pair.key != ARROW_SCHEMA_KEY);
    }
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("simdb version ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(pairs);
    let columns = file.metadata().row_groups().first();
    for column in columns.map(|group| group.columns()).unwrap_or_default() {
        let path = column.column_path().clone();
        let is_dictionary = |encoding: &Encoding| {
            matches!(
                encoding,
                Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY
            )
        };
        let encodings: Vec<_> = column.encodings().collect();
        properties = properties
            .set_column_compression(path.clone(), column.compression())
            .set_column_dictionary_enabled(path.clone(), encodings.iter().any(is_dictionary));
        let own = encodings.into_iter().find(|encoding| {
            matches!(
                encoding,
                Encoding::DELTA_BINARY_PACKED
                    | Encoding::DELTA_LENGTH_BYTE_ARRAY
                    | Encoding::DELTA_BYTE_ARRAY
                    | Encoding::BYTE_STREAM_SPLIT
            )
        });
        if let Some(encoding) = own {
            properties = properties.set_column_encoding(path, encoding);
        }
    }
    let properties = Arc::new(properties.build());
    at_edge(|| Ok(SerializedFileWriter::new(output, schema, properties)?))
        .with_context(|| format!("cannot copy {}", file.name()))
}

fn finish<W: Write + Send>(file: &ParquetFile, mut writer: SerializedFileWriter<W>) -> Result<()> {
    let finished = writer.finish();
    finished.with_context(|| format!("cannot finish the copy of {}", file.name()))?;
    Ok(())
}

/// The schema of a file with the columns for marks.
fn with_marks(file: &ParquetFile, [keeper, distance]: [&str; 2]) -> Result<TypePtr> {
    let schema = file.metadata().file_metadata().schema_descr();
    let root = schema.root_schema();
    let mut fields = root.get_fields().to_vec();
    for (name, kind) in [(keeper, Type::INT64), (distance, Type::INT32)] {
        ensure!(
            fields.iter().all(|field| field.name() != name),
            "cannot mark the rows of {}: it has a column {name:?} already",
            file.name()
        );
        let field = SchemaType::primitive_type_builder(name, kind)
            .with_repetition(Repetition::OPTIONAL)
            .build()?;
        fields.push(Arc::new(field));
    }
    let root = SchemaType::group_type_builder(root.name()).with_fields(fields);
    Ok(Arc::new(root.build()?))
}

/// Copies the rows that are kept of all columns of a row group.
fn copy_columns<W: Write + Send>(
    file: &ParquetFile,
    group: usize,
    kept: &[bool],
    output: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<()> {
    let schema = file.metadata().file_metadata().schema_descr();
    for leaf in 0..schema.num_columns() {
        let copy = match schema.column(leaf).physical_type() {
            Type::BOOLEAN => copy_column::<BoolType, W>,
            Type::INT32 => copy_column::<Int32Type, W>,
            Type::INT64 => copy_column::<Int64Type, W>,
            Type::INT96 => copy_column::<Int96Type, W>,
            Type::FLOAT => copy_column::<FloatType, W>,
            Type::DOUBLE => copy_column::<DoubleType, W>,
            Type::BYTE_ARRAY => copy_column::<ByteArrayType, W>,
            Type::FIXED_LEN_BYTE_ARRAY => copy_column::<FixedLenByteArrayType, W>,
        };
        copy(file, (group, leaf), kept, output)?;
    }
    Ok(())
}

/// Copies the rows that are kept of one column.
fn copy_column<T: DataType, W: Write + Send>(
    file: &ParquetFile,
    (group, leaf): (usize, usize),
    kept: &[bool],
    output: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<()> {
    let descriptor = file.metadata().file_metadata().schema_descr().column(leaf);
    let has_lists = descriptor.max_rep_level() > 0;
    let deepest = descriptor.max_def_level();
    let pages = file.pages(group, leaf)?;
    let gate = pages.gate();
    let mut reader = ColumnReaderImpl::<T>::new(descriptor.clone(), Box::new(pages));
    let mut writer = output.next_column()?.context("there is no such column")?;
    let (mut row, mut is_next_page) = (0, false);
    let mut is_kept = false;
    loop {
        let (mut definitions, mut repetitions, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let (_, _, levels) = reader.read_records(
            gate.records(),
            Some(&mut definitions),
            Some(&mut repetitions),
            &mut values,
        )?;
        if levels == 0 {
            if is_next_page {
                break;
            }
            gate.open();
            is_next_page = true;
            continue;
        }
        is_next_page = false;
        let mut values = values.into_iter();
        let mut chosen = Chosen::<T>::default();
        for level in 0..levels {
            let is_start = !has_lists || repetitions.get(level) == Some(&0);
            if is_start {
                let Some(fate) = kept.get(row) else {
                    bail!("it is damaged: column {} is too long", descriptor.path());
                };
                is_kept = *fate;
                row += 1;
            }
            let definition = definitions.get(level).copied();
            let value = match definition {
                Some(definition) if definition != deepest => None,
                _ => values.next(),
            };
            if is_kept {
                chosen.definitions.extend(definition);
                chosen.repetitions.extend(repetitions.get(level));
                chosen.values.extend(value);
            }
        }
        writer.typed::<T>().write_batch(
            &chosen.values,
            (deepest > 0).then_some(&chosen.definitions),
            has_lists.then_some(&chosen.repetitions),
        )?;
    }
    ensure!(
        row == kept.len(),
        "it is damaged: column {} is too short",
        descriptor.path()
    );
    writer.close()?;
    Ok(())
}

/// What is kept of some records of a column.
struct Chosen<T: DataType> {
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    values: Vec<T::T>,
}

impl<T: DataType> Default for Chosen<T> {
    fn default() -> Self {
        Self {
            definitions: Vec::new(),
            repetitions: Vec::new(),
            values: Vec::new(),
        }
    }
}

/// Writes an optional column that is no part of another.
fn write_optional<T: DataType, W: Write + Send>(
    cells: impl Iterator<Item = Option<T::T>>,
    output: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<()> {
    let (mut definitions, mut values) = (Vec::new(), Vec::new());
    for cell in cells {
        definitions.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    let mut writer = output.next_column()?.context("there is no such column")?;
    writer
        .typed::<T>()
        .write_batch(&values, Some(&definitions), None)?;
    writer.close()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::basic::Compression;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use std::path::PathBuf;

    const FIXTURES: [&str; 5] = ["snappy", "zstd_v2", "gzip", "brotli", "lz4"];

    fn fixture(name: &str) -> PathBuf {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/parquet");
        folder.join(name).with_extension("parquet")
    }

    fn open(bytes: Vec<u8>) -> SerializedFileReader<bytes::Bytes> {
        SerializedFileReader::new(bytes.into()).unwrap()
    }

    fn rows(reader: &SerializedFileReader<bytes::Bytes>) -> Vec<String> {
        let rows = reader.get_row_iter(None).unwrap();
        rows.map(|row| row.unwrap().to_string()).collect()
    }

    #[test]
    fn the_rows_that_are_kept_are_as_they_were_nested_columns_too() {
        for name in FIXTURES {
            let there = open(std::fs::read(fixture(name)).unwrap());
            let before = rows(&there);
            for (what, is_kept) in [
                ("all", &(|_| true) as &dyn Fn(u64) -> bool),
                ("odd", &|row| row % 2 == 1),
                ("last", &|row| row == 7),
                ("none", &|_| false),
            ] {
                let (mut bytes, mut asked) = (Vec::new(), Vec::new());
                let copied = copy_rows(&fixture(name), &mut bytes, &mut |row| {
                    asked.push(row);
                    Ok(match is_kept(row) {
                        true => Fate::Keep(None),
                        false => Fate::Drop,
                    })
                });
                let kept: Vec<_> = (0..)
                    .zip(&before)
                    .filter(|(row, _)| is_kept(*row))
                    .collect();
                assert_eq!(
                    copied.unwrap(),
                    Copied {
                        rows: 8,
                        kept: kept.len() as u64
                    }
                );
                assert_eq!(asked, (0..8).collect::<Vec<_>>());
                let copy = open(bytes);
                let after = rows(&copy);
                let expected: Vec<_> = kept.into_iter().map(|(_, row)| row.clone()).collect();
                assert_eq!(after, expected, "{name}, {what}");
                assert_like(&there, &copy);
            }
        }
    }

    fn assert_like(
        there: &SerializedFileReader<bytes::Bytes>,
        copy: &SerializedFileReader<bytes::Bytes>,
    ) {
        let [before, after] = [there, copy].map(|file| file.metadata().file_metadata());
        assert_eq!(before.schema(), after.schema());
        assert_eq!(before.key_value_metadata(), after.key_value_metadata());
        let packed = |file: &SerializedFileReader<bytes::Bytes>| {
            let group = file.metadata().row_groups().first()?;
            let columns = group.columns().iter();
            Some(
                columns
                    .map(|column| std::mem::discriminant(&column.compression()))
                    .collect::<Vec<_>>(),
            )
        };
        assert!(copy.num_row_groups() == 0 || packed(there) == packed(copy));
        assert_ne!(
            there.metadata().row_group(0).column(1).compression(),
            Compression::UNCOMPRESSED
        );
    }

    const NAMES: [&str; 2] = ["keeper", "distance"];

    #[test]
    fn marks_stand_in_two_more_columns_without_what_is_left_out() {
        let mut bytes = Vec::new();
        let copied = mark_rows(&fixture("snappy"), &mut bytes, NAMES, &mut |row| {
            Ok(match row {
                0..3 => Fate::Drop,
                _ => Fate::Keep(None),
            })
        });
        assert_eq!(copied.unwrap(), Copied { rows: 8, kept: 5 });
        let before = rows(&open(std::fs::read(fixture("snappy")).unwrap()));
        for (before, after) in before[3..].iter().zip(rows(&open(bytes))) {
            let before = before.strip_suffix('}').unwrap();
            assert_eq!(after, format!("{before}, keeper: null, distance: null}}"));
        }
    }

    #[test]
    fn marks_stand_in_two_more_columns() {
        let mut bytes = Vec::new();
        let copied = mark_rows(&fixture("snappy"), &mut bytes, NAMES, &mut |row| {
            Ok(Fate::Keep(match row {
                1 => Some(Mark {
                    keeper: 1,
                    distance: Some(2),
                }),
                7 => Some(Mark {
                    keeper: u64::MAX,
                    distance: None,
                }),
                _ => None,
            }))
        });
        assert_eq!(copied.unwrap(), Copied { rows: 8, kept: 8 });
        let before = rows(&open(std::fs::read(fixture("snappy")).unwrap()));
        let marked = open(bytes.clone());
        for (row, (before, after)) in before.iter().zip(rows(&marked)).enumerate() {
            let marks = match row {
                1 => "keeper: 1, distance: 2",
                7 => "keeper: -1, distance: null",
                _ => "keeper: null, distance: null",
            };
            let before = before.strip_suffix('}').unwrap();
            assert_eq!(after, format!("{before}, {marks}}}"));
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marked.parquet");
        std::fs::write(&path, bytes).unwrap();
        let error = mark_rows(&path, Vec::new(), NAMES, &mut |_| Ok(Fate::Keep(None))).unwrap_err();
        assert!(error.to_string().contains("\"keeper\" already"), "{error}");
    }

    #[test]
    fn who_is_asked_can_stop_it() {
        let stopped = copy_rows(&fixture("gzip"), Vec::new(), &mut |row| match row {
            3 => bail!("enough"),
            _ => Ok(Fate::Keep(None)),
        });
        assert!(format!("{:#}", stopped.unwrap_err()).contains("enough"));
    }
}
