//! [`ParquetCopy`]: a copy of some rows of several files, with or without added columns.
//!
//! Levels and values are copied column by column, so nested columns, names, types, annotations,
//! key-value metadata and compressions stay the same. Pages and dictionaries are written anew.
//! Bloom filters and checksums are lost.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use parquet::basic::{ConvertedType, Encoding, Repetition, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{
    SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter,
};
use parquet::schema::types::{Type as SchemaType, TypePtr};

use super::ParquetFile;
use super::metadata::{DOCUMENTS_KEY, pair};
use super::rows::BATCH_ROWS;
use super::same_columns::check_same_columns;
use super::write::CREATED_BY;
use crate::formats::catch_panics::catch_panics;
use crate::formats::copy::{AddedField, AddedKind, CopyDecision, NextDecision};

/// The most row groups of a file, because Parquet numbers row groups with a signed 16-bit integer.
pub const MOST_GROUPS: usize = i16::MAX as usize;

/// The metadata keys under which Arrow, Spark and Avro store schemas of their own. A copy with
/// added columns leaves these keys out, because a reader ignores a column that its own schema
/// lacks.
const OTHER_SCHEMA_KEYS: [&str; 4] = [
    "ARROW:schema",
    "org.apache.spark.sql.parquet.row.metadata",
    "parquet.avro.schema",
    "avro.schema",
];

/// A copy of rows of files that have the same columns.
pub struct ParquetCopy<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    first: Arc<ParquetFile>,
    added: Vec<AddedKind>,
    /// The index of the column of texts among the leaf columns, if texts are written anew.
    text_leaf: Option<usize>,
    rows: u64,
}

/// The rows of a row group that are copied.
#[derive(Default)]
struct GroupDecisions {
    kept: Vec<bool>,
    /// The values of each added column, for the kept rows.
    added: Vec<Vec<Option<u64>>>,
    /// New texts, by row.
    texts: BTreeMap<usize, ByteArray>,
}

impl<W: Write + Send> ParquetCopy<W> {
    /// Starts a file with the columns and keys of `first`, compressed and encoded as the first row
    /// group of `packed_like`.
    ///
    /// The columns `added` follow. An error if `first` has columns of these names.
    pub fn new(
        first: &Arc<ParquetFile>,
        packed_like: &ParquetFile,
        added: &[AddedField<'_>],
        output: W,
    ) -> Result<Self> {
        let metadata = first.metadata().file_metadata();
        let schema = match added {
            [] => metadata.schema_descr().root_schema_ptr(),
            added => with_added(first, added)?,
        };
        let is_copied = |pair: &&KeyValue| match pair.key.as_str() {
            // `finish` writes the number of the documents that are copied.
            DOCUMENTS_KEY => false,
            key => added.is_empty() || !OTHER_SCHEMA_KEYS.contains(&key),
        };
        let keys = metadata.key_value_metadata();
        let keys = keys.map(|pairs| pairs.iter().filter(is_copied).cloned().collect());
        let properties = WriterProperties::builder()
            .set_created_by(CREATED_BY.to_owned())
            .set_key_value_metadata(keys);
        let properties = pack_like(packed_like, properties).build();
        let writer = catch_panics(|| {
            Ok(SerializedFileWriter::new(
                output,
                schema,
                properties.into(),
            )?)
        })
        .with_context(|| format!("cannot copy {}", first.name()))?;
        Ok(Self {
            writer,
            first: Arc::clone(first),
            added: added.iter().map(|field| field.kind).collect(),
            text_leaf: None,
            rows: 0,
        })
    }

    /// Accepts new texts for this column, the path of a column of strings.
    pub fn rewriting(mut self, column: &str) -> Self {
        let mut leaves = self.first.schema().columns().iter();
        self.text_leaf = leaves.position(|leaf| leaf.path().string() == column);
        self
    }

    /// Copies rows of a file. `next` returns the decision about each row, counted from 0. A row
    /// group without kept rows is left out.
    ///
    /// Memory: for each row of a row group 1 byte, and 16 for each added column, the new texts of
    /// the row group, and one column of the new row group.
    pub fn copy(&mut self, file: &ParquetFile, next: &mut NextDecision<'_>) -> Result<()> {
        check_same_columns(&self.first, file)?;
        let mut start = 0;
        for (index, group) in file.metadata().row_groups().iter().enumerate() {
            let end = start + u64::try_from(group.num_rows())?;
            let mut decisions = GroupDecisions {
                added: vec![Vec::new(); self.added.len()],
                ..GroupDecisions::default()
            };
            for row in start..end {
                // `next` reads the file a second time, so the file may have changed in between.
                let Some((_, decision)) = next()?.filter(|(number, _)| *number == row) else {
                    bail!(
                        "{} has changed while it was read: row {row} is missing",
                        file.name()
                    );
                };
                decisions.push(decision);
            }
            let rows = decisions.kept.iter().filter(|is_kept| **is_kept).count();
            if rows > 0 {
                // The crate `parquet` panics on some damaged files. `next` is called outside, so
                // that a panic of the decisions stays a panic.
                catch_panics(|| self.copy_group((file, index), &decisions))
                    .with_context(|| format!("cannot copy {} beyond row {start}", file.name()))?;
            }
            self.rows += rows as u64;
            start = end;
        }
        Ok(())
    }

    fn copy_group(
        &mut self,
        (file, index): (&ParquetFile, usize),
        decisions: &GroupDecisions,
    ) -> Result<()> {
        let GroupDecisions { kept, added, texts } = decisions;
        let no_texts = BTreeMap::new();
        let input = file.row_group(index)?;
        let mut output = self.writer.next_row_group()?;
        for leaf in 0..input.num_columns() {
            let reader = input.get_column_reader(leaf)?;
            let mut column = output.next_column()?.context("there is no such column")?;
            let is_text = self.text_leaf == Some(leaf);
            let texts = if is_text { texts } else { &no_texts };
            copy_column(reader, &mut column, kept, texts).with_context(|| {
                format!("column {}", input.metadata().column(leaf).column_path())
            })?;
            column.close()?;
        }
        for (kind, values) in self.added.iter().zip(added) {
            let values = values.iter();
            if *kind == AddedKind::Short {
                let cells = values.map(|value| value.map(|value| value as i32));
                write_optional::<Int32Type, _>(cells, &mut output)?;
            } else {
                let cells = values.map(|value| value.map(|value| value as i64));
                write_optional::<Int64Type, _>(cells, &mut output)?;
            }
        }
        output.close()?;
        Ok(())
    }

    /// Writes the footer, and returns the output.
    pub fn finish(mut self) -> Result<W> {
        if self.first.value(DOCUMENTS_KEY).is_some() {
            let count = pair(DOCUMENTS_KEY, self.rows.to_string());
            self.writer.append_key_value_metadata(count);
        }
        catch_panics(|| Ok(self.writer.into_inner()?))
            .with_context(|| format!("cannot finish the copy of {}", self.first.name()))
    }
}

impl GroupDecisions {
    fn push(&mut self, decision: CopyDecision) {
        let row = self.kept.len();
        self.kept.push(decision != CopyDecision::Drop);
        let values = match decision {
            CopyDecision::Drop => return,
            CopyDecision::Keep(values) => values,
            CopyDecision::Unread => Vec::new(),
            CopyDecision::Rewrite(text) => {
                self.texts.insert(row, ByteArray::from(text.into_bytes()));
                Vec::new()
            }
        };
        for (index, column) in self.added.iter_mut().enumerate() {
            column.push(values.get(index).copied().flatten());
        }
    }
}

/// Refuses a file that has columns of the names of added columns.
pub fn check_added(file: &ParquetFile, added: &[AddedField<'_>]) -> Result<()> {
    for AddedField { name, option, .. } in added {
        ensure!(
            !file.has_column(name),
            "cannot add a column to {}: it has a column {name:?} already; choose other names with \
             {option}",
            file.name()
        );
    }
    Ok(())
}

fn copy_column(
    reader: ColumnReader,
    writer: &mut SerializedColumnWriter<'_>,
    kept: &[bool],
    texts: &BTreeMap<usize, ByteArray>,
) -> Result<()> {
    match reader {
        ColumnReader::BoolColumnReader(reader) => copy_values(reader, writer, kept, None),
        ColumnReader::Int32ColumnReader(reader) => copy_values(reader, writer, kept, None),
        ColumnReader::Int64ColumnReader(reader) => copy_values(reader, writer, kept, None),
        ColumnReader::Int96ColumnReader(reader) => copy_values(reader, writer, kept, None),
        ColumnReader::FloatColumnReader(reader) => copy_values(reader, writer, kept, None),
        ColumnReader::DoubleColumnReader(reader) => copy_values(reader, writer, kept, None),
        ColumnReader::ByteArrayColumnReader(reader) => {
            copy_values(reader, writer, kept, Some(texts))
        }
        ColumnReader::FixedLenByteArrayColumnReader(reader) => {
            copy_values(reader, writer, kept, None)
        }
    }
}

/// Copies the kept rows of a column. `new` has new values by row; the old values of these rows are
/// neither null nor in a list.
fn copy_values<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    writer: &mut SerializedColumnWriter<'_>,
    kept: &[bool],
    new: Option<&BTreeMap<usize, T::T>>,
) -> Result<()> {
    const UNEQUAL: &str = "it is damaged: a column has fewer or more rows than its row group";
    let mut row = 0;
    for run in kept.chunk_by(|a, b| a == b) {
        if !run[0] {
            ensure!(reader.skip_records(run.len())? == run.len(), UNEQUAL);
            row += run.len();
            continue;
        }
        let mut left = run.len();
        while left > 0 {
            let (mut definitions, mut repetitions, mut values) =
                (Vec::new(), Vec::new(), Vec::new());
            let (records, _, _) = reader.read_records(
                left.min(BATCH_ROWS),
                Some(&mut definitions),
                Some(&mut repetitions),
                &mut values,
            )?;
            ensure!(records > 0, UNEQUAL);
            left -= records;
            if let Some(new) = new.filter(|new| !new.is_empty()) {
                replace(
                    &mut values,
                    &definitions,
                    new.range(row..row + records),
                    row,
                )?;
            }
            row += records;
            // Levels mark nulls and the starts of lists. A column without nulls or lists has no
            // levels.
            let [definitions, repetitions] = [&definitions, &repetitions]
                .map(|levels| (!levels.is_empty()).then_some(&levels[..]));
            let writer = writer.typed::<T>();
            writer.write_batch(&values, definitions, repetitions)?;
        }
    }
    // Without this test, a column longer than its row group would be cut silently.
    ensure!(reader.skip_records(1)? == 0, UNEQUAL);
    Ok(())
}

/// Replaces the values of some rows of a batch, which starts with row `start`.
fn replace<'n, V: Clone + 'n>(
    values: &mut [V],
    definitions: &[i16],
    new: impl Iterator<Item = (&'n usize, &'n V)>,
    start: usize,
) -> Result<()> {
    // A row with a new value is not null, so its level is the highest.
    let highest = definitions.iter().max().copied().unwrap_or_default();
    let (mut nulls, mut counted) = (0, 0);
    for (row, value) in new {
        let row = row - start;
        let levels = definitions.get(counted..row).unwrap_or_default();
        nulls += levels.iter().filter(|level| **level < highest).count();
        counted = row;
        let place = values.get_mut(row - nulls);
        *place.context("it has changed while it was read: a text is missing")? = value.clone();
    }
    Ok(())
}

/// Writes an optional top-level column.
fn write_optional<T: DataType, W: Write + Send>(
    cells: impl Iterator<Item = Option<T::T>>,
    output: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<()> {
    let (mut definitions, mut values) = (Vec::new(), Vec::new());
    for cell in cells {
        // Definition level 1: the value is present; 0: it is null and takes no value.
        definitions.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    let mut column = output.next_column()?.context("there is no such column")?;
    let writer = column.typed::<T>();
    writer.write_batch(&values, Some(&definitions), None)?;
    column.close()?;
    Ok(())
}

/// Sets the compression and the encodings of each column as in the first row group of `file`.
fn pack_like(
    file: &ParquetFile,
    mut properties: WriterPropertiesBuilder,
) -> WriterPropertiesBuilder {
    let groups = file.metadata().row_groups().iter().take(1);
    for column in groups.flat_map(|group| group.columns()) {
        let path = column.column_path();
        // By default the writer uses dictionaries. Here only a column that has a dictionary gets a
        // dictionary.
        properties = properties
            .set_column_compression(path.clone(), column.compression())
            .set_column_dictionary_enabled(path.clone(), false);
        for encoding in column.encodings() {
            properties = match encoding {
                Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY => {
                    properties.set_column_dictionary_enabled(path.clone(), true)
                }
                Encoding::DELTA_BINARY_PACKED
                | Encoding::DELTA_LENGTH_BYTE_ARRAY
                | Encoding::DELTA_BYTE_ARRAY
                | Encoding::BYTE_STREAM_SPLIT => {
                    properties.set_column_encoding(path.clone(), encoding)
                }
                _ => properties,
            };
        }
    }
    properties
}

/// The schema of a file with added columns.
fn with_added(file: &ParquetFile, added: &[AddedField<'_>]) -> Result<TypePtr> {
    check_added(file, added)?;
    let mut fields = file.schema().root_schema().get_fields().to_vec();
    for AddedField { name, kind, .. } in added {
        let (physical, converted) = match kind {
            AddedKind::Long => (Type::INT64, ConvertedType::NONE),
            AddedKind::Short => (Type::INT32, ConvertedType::NONE),
            AddedKind::Time => (Type::INT64, ConvertedType::TIMESTAMP_MILLIS),
        };
        let field = SchemaType::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_converted_type(converted)
            .build()?;
        fields.push(Arc::new(field));
    }
    let root =
        SchemaType::group_type_builder(file.schema().root_schema().name()).with_fields(fields);
    Ok(Arc::new(root.build()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;
    use parquet::basic::Compression;
    use parquet::data_type::{ByteArray, ByteArrayType, Int96, Int96Type};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::schema::parser::parse_message_type;
    use std::fs::File;
    use std::path::{Path, PathBuf};

    use crate::formats::input::Source;
    use crate::formats::parquet::write::{NewColumn, ParquetWriter};

    const FIXTURES: [&str; 3] = ["snappy", "zstd_v2", "gzip"];

    fn fixture(name: &str) -> PathBuf {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/parquet");
        folder.join(name).with_extension("parquet")
    }

    fn parquet(path: &Path) -> ParquetFile {
        ParquetFile::open(&Source::new(path).unwrap(), &Default::default()).unwrap()
    }

    fn open(bytes: Vec<u8>) -> SerializedFileReader<File> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        SerializedFileReader::new(file).unwrap()
    }

    fn rows(reader: &SerializedFileReader<File>) -> Vec<String> {
        let rows = reader.get_row_iter(None).unwrap();
        rows.map(|row| row.unwrap().to_string()).collect()
    }

    /// A copy of some files, one after the other.
    fn copy(
        paths: &[PathBuf],
        added: &[AddedField<'_>],
        decide: &mut dyn FnMut(u64) -> Result<CopyDecision>,
    ) -> Result<Vec<u8>> {
        let first = Arc::new(parquet(&paths[0]));
        let mut copier = ParquetCopy::new(&first, &first, added, Vec::new())?;
        for path in paths {
            let mut rows = 0..;
            copier.copy(&parquet(path), &mut || {
                let row = rows.next().unwrap();
                Ok(Some((row, decide(row)?)))
            })?;
        }
        copier.finish()
    }

    #[test]
    fn kept_rows_are_copied_unchanged() {
        for name in FIXTURES {
            let there = open(std::fs::read(fixture(name)).unwrap());
            let before = rows(&there);
            for (what, is_kept) in [
                ("all", &(|_| true) as &dyn Fn(u64) -> bool),
                ("odd", &|row| row % 2 == 1),
                ("last", &|row| row == 7),
                ("none", &|_| false),
            ] {
                let mut asked = Vec::new();
                let bytes = copy(&[fixture(name)], &[], &mut |row| {
                    asked.push(row);
                    Ok(if is_kept(row) {
                        CopyDecision::Keep(Vec::new())
                    } else {
                        CopyDecision::Drop
                    })
                });
                let kept = (0..).zip(&before).filter(|(row, _)| is_kept(*row));
                assert_eq!(asked, (0..8).collect::<Vec<_>>());
                let copy = open(bytes.unwrap());
                let expected: Vec<_> = kept.map(|(_, row)| row.clone()).collect();
                assert_eq!(rows(&copy), expected, "{name}, {what}");
                assert_like(&there, &copy);
            }
        }
    }

    #[test]
    fn rows_of_several_files_are_copied_in_order() {
        let files = ["gzip", "snappy", "zstd_v2"].map(fixture);
        let bytes = copy(&files, &[], &mut |row| {
            Ok(match row {
                0..6 => CopyDecision::Drop,
                _ => CopyDecision::Keep(Vec::new()),
            })
        });
        let there = open(std::fs::read(fixture("gzip")).unwrap());
        let copied = open(bytes.unwrap());
        assert_eq!(rows(&copied), [&rows(&there)[6..]; 3].concat());
        assert_like(&there, &copied);
    }

    fn assert_like(there: &SerializedFileReader<File>, copy: &SerializedFileReader<File>) {
        let [before, after] = [there, copy].map(|file| file.metadata().file_metadata());
        assert_eq!(before.schema(), after.schema());
        assert_eq!(before.key_value_metadata(), after.key_value_metadata());
        let packed = |group: &parquet::file::metadata::RowGroupMetaData| {
            let columns = group.columns().iter();
            columns
                .map(|column| std::mem::discriminant(&column.compression()))
                .collect::<Vec<_>>()
        };
        let expected = packed(there.metadata().row_group(0));
        for group in copy.metadata().row_groups() {
            assert_eq!(packed(group), expected);
        }
        assert_ne!(
            there.metadata().row_group(0).column(1).compression(),
            Compression::UNCOMPRESSED
        );
    }

    /// Types that Arrow, which is not used here, reads but cannot write.
    #[test]
    fn column_keeps_its_physical_type() {
        let schema = "message m { required int96 time; optional binary price (DECIMAL(5, 2)); }";
        let schema = parse_message_type(schema).unwrap();
        let mut bytes = Vec::new();
        let mut file =
            SerializedFileWriter::new(&mut bytes, schema.into(), Default::default()).unwrap();
        let mut group = file.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let times = [3, 1, 2].map(|day| Int96::from(vec![7, 8, 2_440_588 + day]));
        let writer = column.typed::<Int96Type>();
        writer.write_batch(&times, None, None).unwrap();
        column.close().unwrap();
        let price = ByteArray::from(vec![1, 2]);
        write_optional::<ByteArrayType, _>([None, Some(price), None].into_iter(), &mut group)
            .unwrap();
        group.close().unwrap();
        file.close().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        std::fs::write(&path, &bytes).unwrap();
        let copied = copy(&[path], &[], &mut |row| {
            Ok(match row {
                0 => CopyDecision::Drop,
                _ => CopyDecision::Keep(Vec::new()),
            })
        });
        let (before, after) = (open(bytes), open(copied.unwrap()));
        let [schema, copied] =
            [&before, &after].map(|file| file.metadata().file_metadata().schema());
        assert_eq!(schema, copied);
        assert_eq!(rows(&before)[1..], rows(&after));
    }

    const fn added(name: &str, kind: AddedKind) -> AddedField<'_> {
        let option = "--mark";
        AddedField { name, kind, option }
    }

    const ADDED: [AddedField<'_>; 3] = [
        added("keeper", AddedKind::Long),
        added("distance", AddedKind::Short),
        added("seen", AddedKind::Time),
    ];

    #[test]
    fn values_of_left_out_rows_are_left_out() {
        let bytes = copy(&[fixture("snappy")], &ADDED, &mut |row| {
            Ok(match row {
                0..3 => CopyDecision::Drop,
                _ => CopyDecision::Keep(Vec::new()),
            })
        });
        let before = rows(&open(std::fs::read(fixture("snappy")).unwrap()));
        let after = rows(&open(bytes.unwrap()));
        assert_eq!(after.len(), 5);
        for (before, after) in before[3..].iter().zip(after) {
            let before = before.strip_suffix('}').unwrap();
            let added = "keeper: null, distance: null, seen: null";
            assert_eq!(after, format!("{before}, {added}}}"));
        }
    }

    #[test]
    fn added_fields_are_more_columns() {
        let bytes = copy(&[fixture("snappy")], &ADDED, &mut |row| {
            Ok(CopyDecision::Keep(match row {
                1 => vec![Some(1), Some(2), Some(1_000)],
                7 => vec![Some(u64::MAX), None, None],
                _ => Vec::new(),
            }))
        });
        let bytes = bytes.unwrap();
        let before = rows(&open(std::fs::read(fixture("snappy")).unwrap()));
        let after = rows(&open(bytes.clone()));
        assert_eq!(after.len(), 8);
        for (row, (before, after)) in (0..).zip(before.iter().zip(after)) {
            let added = match row {
                1 => "keeper: 1, distance: 2, seen: 1970-01-01 00:00:01.000 +00:00",
                7 => "keeper: -1, distance: null, seen: null",
                _ => "keeper: null, distance: null, seen: null",
            };
            let before = before.strip_suffix('}').unwrap();
            assert_eq!(after, format!("{before}, {added}}}"));
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marked.parquet");
        std::fs::write(&path, bytes).unwrap();
        let again = copy(&[path], &ADDED, &mut |_| Ok(CopyDecision::Keep(Vec::new())));
        let error = again.unwrap_err().to_string();
        assert!(error.contains("\"keeper\" already"), "{error}");
        assert!(error.ends_with("--mark"), "{error}");
    }

    #[test]
    fn error_and_panic_of_decision_callback_pass_through() {
        let mut stop = |row| match row {
            3 => bail!("enough"),
            _ => Ok(CopyDecision::Keep(Vec::new())),
        };
        let stopped = copy(&[fixture("gzip")], &[], &mut stop);
        assert_eq!(stopped.unwrap_err().to_string(), "enough");
        let panicked = std::panic::catch_unwind(|| {
            copy(&[fixture("gzip")], &[], &mut |_| panic!("a bug of ours")).map(drop)
        });
        assert!(panicked.is_err());
    }

    #[test]
    fn documents_key_counts_copied_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        let keys = vec![pair(DOCUMENTS_KEY, "3")];
        let mut file = ParquetWriter::new(&[NewColumn::Ascending("doc_id")], keys).unwrap();
        let mut bytes = Vec::new();
        let mut sink = |more: &[u8]| {
            bytes.extend_from_slice(more);
            Ok(())
        };
        for id in [1, 2, 3] {
            file.push(&[id], &mut sink).unwrap();
        }
        file.finish(&mut sink).unwrap();
        std::fs::write(&path, bytes).unwrap();
        let copied = copy(&[path.clone(), path], &[], &mut |row| {
            Ok(match row {
                0 => CopyDecision::Drop,
                _ => CopyDecision::Keep(Vec::new()),
            })
        });
        let copied = open(copied.unwrap());
        let pairs = copied.metadata().file_metadata().key_value_metadata();
        let counts: Vec<_> = pairs.unwrap().iter().collect();
        assert_eq!(counts.len(), 1);
        assert_eq!(counts[0].value.as_deref(), Some("4"));
    }
}
