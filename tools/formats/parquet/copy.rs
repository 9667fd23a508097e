//! [`Copying`]: some of the rows of files into another, as they are or with two more columns.
//!
//! What is copied is levels and values, column by column, so nested columns come along as they are,
//! as do names, types, annotations, what is said beside the schema, and how each column is packed.
//! Pages and dictionaries are made anew; bloom filters and checksums are not.

mod alike;
mod columns;

use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use parquet::basic::{Encoding, Repetition, Type};
use parquet::data_type::{Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type as SchemaType, TypePtr};

use self::columns::{copy_columns, write_optional};
use super::file::ParquetFile;
use super::metadata::DOCUMENTS_KEY;
use crate::formats::edge::at_edge;

/// The most rows of a row group: what becomes of each is held.
const MOST_GROUP_ROWS: u64 = 1 << 27;

/// The most row groups of a file: they are counted in 16 bits with a sign.
pub const MOST_GROUPS: usize = i16::MAX as usize;

/// Where Arrow, Spark and Avro keep their own forms of the schema, which would not have the new
/// columns: they read only those that it names.
const OTHER_SCHEMA_KEYS: [&str; 4] = [
    "ARROW:schema",
    "org.apache.spark.sql.parquet.row.metadata",
    "parquet.avro.schema",
    "avro.schema",
];

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

/// A file in the making, of rows of others that all have the same columns.
pub struct Copying<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    /// The first of the others, and its columns.
    like: (String, TypePtr),
    is_marked: bool,
    /// Whether it says beside its schema how many rows it has.
    is_counted: bool,
    rows: u64,
}

impl<W: Write + Send> Copying<W> {
    /// Starts a file with the columns of `first` and what that says beside them, packed as the first
    /// row group of `packed`, which may be the same file.
    ///
    /// With `marks`, each row has its mark in two more columns of these names: the document that is
    /// kept in its place, INT64 with the bits of an id, and the distance, INT32; null where it has
    /// none, or that is not known. An error if there are columns of these names. The forms of the schema
    /// that Arrow, Spark and Avro keep for themselves are left out then.
    pub fn start(
        first: &ParquetFile,
        packed: &ParquetFile,
        marks: Option<[&str; 2]>,
        output: W,
    ) -> Result<Self> {
        let about = first.metadata().file_metadata();
        let columns = about.schema_descr().root_schema_ptr();
        let schema = match marks {
            Some(names) => with_marks(first, names)?,
            None => Arc::clone(&columns),
        };
        let is_copied = |pair: &&KeyValue| match pair.key.as_str() {
            // It is another number now.
            DOCUMENTS_KEY => false,
            key => marks.is_none() || !OTHER_SCHEMA_KEYS.contains(&key),
        };
        let pairs = about.key_value_metadata();
        let pairs = pairs.map(|pairs| pairs.iter().filter(is_copied).cloned().collect());
        let properties = WriterProperties::builder()
            .set_created_by(concat!("simdb version ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(pairs);
        let properties = Arc::new(packed_like(packed, properties).build());
        let writer = at_edge(|| Ok(SerializedFileWriter::new(output, schema, properties)?))
            .with_context(|| format!("cannot copy {}", first.name()))?;
        Ok(Self {
            writer,
            like: (first.name().to_owned(), columns),
            is_marked: marks.is_some(),
            is_counted: first.value(DOCUMENTS_KEY).is_some(),
            rows: 0,
        })
    }

    /// Writes the rows of a file that are to be kept, which are counted from 0 and asked for in
    /// order. Row groups of which nothing is kept are left out.
    ///
    /// Memory: a byte for each row of a row group, with marks 24 more, two pages, and the pages of a
    /// column on their way.
    pub fn copy(
        &mut self,
        file: &ParquetFile,
        fate: &mut dyn FnMut(u64) -> Result<Fate>,
    ) -> Result<()> {
        let (name, columns) = &self.like;
        alike::check(
            (name.as_str(), columns.as_ref()),
            (file.name(), columns_of(file)),
        )?;
        let mut start = 0;
        for group in 0..file.metadata().num_row_groups() {
            let end = start + rows_of(file, group)?;
            let (mut kept, mut marks) = (Vec::new(), Vec::new());
            let mut count = 0;
            for row in start..end {
                let fate = fate(row)?;
                kept.push(fate != Fate::Drop);
                if let Fate::Keep(mark) = fate {
                    count += 1;
                    marks.extend(self.is_marked.then_some(mark));
                }
            }
            if count > 0 {
                at_edge(|| self.copy_group((file, group), &kept, &marks))
                    .with_context(|| format!("cannot copy {} beyond row {start}", file.name()))?;
            }
            self.rows += count;
            start = end;
        }
        Ok(())
    }

    fn copy_group(
        &mut self,
        (file, group): (&ParquetFile, usize),
        kept: &[bool],
        marks: &[Option<Mark>],
    ) -> Result<()> {
        let mut output = self.writer.next_row_group()?;
        copy_columns(file, group, kept, &mut output)?;
        if self.is_marked {
            let marks = || marks.iter().map(Option::as_ref);
            let keepers = marks().map(|mark| Some(mark?.keeper as i64));
            write_optional::<Int64Type, _>(keepers, &mut output)?;
            let distances = marks().map(|mark| Some(mark?.distance? as i32));
            write_optional::<Int32Type, _>(distances, &mut output)?;
        }
        output.close()?;
        Ok(())
    }

    /// Writes the end of the file, and hands back what it was written to.
    pub fn finish(mut self) -> Result<W> {
        if self.is_counted {
            let rows = KeyValue::new(DOCUMENTS_KEY.to_owned(), self.rows.to_string());
            self.writer.append_key_value_metadata(rows);
        }
        let finished = at_edge(|| Ok(self.writer.into_inner()?));
        finished.with_context(|| format!("cannot finish the copy of {}", self.like.0))
    }
}

/// Refuses files whose columns are not the same: names, types, and what is said of them.
pub fn check_alike(first: &ParquetFile, other: &ParquetFile) -> Result<()> {
    let [first, other] = [first, other].map(|file| (file.name(), columns_of(file)));
    alike::check(first, other)
}

/// Refuses a file that has columns of these names, which marks could not get.
pub fn check_marks(file: &ParquetFile, names: [&str; 2]) -> Result<()> {
    for name in names {
        ensure!(
            columns_of(file)
                .get_fields()
                .iter()
                .all(|field| field.name() != name),
            "cannot mark the rows of {}: it has a column {name:?} already; choose other names with \
             --keeper-field and --distance-field",
            file.name()
        );
    }
    Ok(())
}

fn columns_of(file: &ParquetFile) -> &SchemaType {
    file.metadata().file_metadata().schema_descr().root_schema()
}

fn rows_of(file: &ParquetFile, group: usize) -> Result<u64> {
    let rows = u64::try_from(file.metadata().row_group(group).num_rows());
    let rows = rows.ok().filter(|rows| *rows <= MOST_GROUP_ROWS);
    rows.with_context(|| {
        format!(
            "cannot copy {}: a row group has more than {MOST_GROUP_ROWS} rows; write it with \
             smaller ones",
            file.name()
        )
    })
}

/// Has columns packed as those of a file are.
fn packed_like(
    file: &ParquetFile,
    mut properties: WriterPropertiesBuilder,
) -> WriterPropertiesBuilder {
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
    properties
}

/// The schema of a file with the columns for marks.
fn with_marks(file: &ParquetFile, names: [&str; 2]) -> Result<TypePtr> {
    check_marks(file, names)?;
    let root = columns_of(file);
    let mut fields = root.get_fields().to_vec();
    for (name, kind) in names.into_iter().zip([Type::INT64, Type::INT32]) {
        let field = SchemaType::primitive_type_builder(name, kind)
            .with_repetition(Repetition::OPTIONAL)
            .build()?;
        fields.push(Arc::new(field));
    }
    let root = SchemaType::group_type_builder(root.name()).with_fields(fields);
    Ok(Arc::new(root.build()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;
    use parquet::basic::Compression;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use std::path::{Path, PathBuf};

    use crate::formats::parquet::write::{NewColumn, ParquetWriter, Values};

    const FIXTURES: [&str; 5] = ["snappy", "zstd_v2", "gzip", "brotli", "lz4"];

    fn fixture(name: &str) -> PathBuf {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/parquet");
        folder.join(name).with_extension("parquet")
    }

    fn parquet(path: &Path) -> ParquetFile {
        ParquetFile::open(path, &Default::default()).unwrap()
    }

    fn open(bytes: Vec<u8>) -> SerializedFileReader<bytes::Bytes> {
        SerializedFileReader::new(bytes.into()).unwrap()
    }

    fn rows(reader: &SerializedFileReader<bytes::Bytes>) -> Vec<String> {
        let rows = reader.get_row_iter(None).unwrap();
        rows.map(|row| row.unwrap().to_string()).collect()
    }

    /// A copy of some files, one after the other.
    fn copy(
        paths: &[PathBuf],
        marks: Option<[&str; 2]>,
        fate: &mut dyn FnMut(u64) -> Result<Fate>,
    ) -> Result<Vec<u8>> {
        let first = parquet(&paths[0]);
        let mut copying = Copying::start(&first, &first, marks, Vec::new())?;
        for path in paths {
            copying.copy(&parquet(path), fate)?;
        }
        copying.finish()
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
                let mut asked = Vec::new();
                let bytes = copy(&[fixture(name)], None, &mut |row| {
                    asked.push(row);
                    Ok(match is_kept(row) {
                        true => Fate::Keep(None),
                        false => Fate::Drop,
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
    fn rows_of_several_files_follow_one_another_packed_as_the_first() {
        let files = ["gzip", "snappy", "zstd_v2"].map(fixture);
        let bytes = copy(&files, None, &mut |row| {
            Ok(match row {
                0..6 => Fate::Drop,
                _ => Fate::Keep(None),
            })
        });
        let there = open(std::fs::read(fixture("gzip")).unwrap());
        let copied = open(bytes.unwrap());
        assert_eq!(rows(&copied), [&rows(&there)[6..]; 3].concat());
        assert_like(&there, &copied);
    }

    fn assert_like(
        there: &SerializedFileReader<bytes::Bytes>,
        copy: &SerializedFileReader<bytes::Bytes>,
    ) {
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

    const NAMES: [&str; 2] = ["keeper", "distance"];

    #[test]
    fn marks_stand_in_two_more_columns_without_what_is_left_out() {
        let bytes = copy(&[fixture("snappy")], Some(NAMES), &mut |row| {
            Ok(match row {
                0..3 => Fate::Drop,
                _ => Fate::Keep(None),
            })
        });
        let before = rows(&open(std::fs::read(fixture("snappy")).unwrap()));
        let after = rows(&open(bytes.unwrap()));
        assert_eq!(after.len(), 5);
        for (before, after) in before[3..].iter().zip(after) {
            let before = before.strip_suffix('}').unwrap();
            assert_eq!(after, format!("{before}, keeper: null, distance: null}}"));
        }
    }

    #[test]
    fn marks_stand_in_two_more_columns() {
        let marked = |row| match row {
            1 => Some((1, Some(2))),
            7 => Some((u64::MAX, None)),
            _ => None,
        };
        let bytes = copy(&[fixture("snappy")], Some(NAMES), &mut |row| {
            let mark = marked(row).map(|(keeper, distance)| Mark { keeper, distance });
            Ok(Fate::Keep(mark))
        });
        let bytes = bytes.unwrap();
        let before = rows(&open(std::fs::read(fixture("snappy")).unwrap()));
        let after = rows(&open(bytes.clone()));
        assert_eq!(after.len(), 8);
        for (row, (before, after)) in (0..).zip(before.iter().zip(after)) {
            let marks = match marked(row) {
                Some((keeper, Some(distance))) => {
                    format!("keeper: {}, distance: {distance}", keeper as i64)
                }
                Some((keeper, None)) => format!("keeper: {}, distance: null", keeper as i64),
                None => "keeper: null, distance: null".to_owned(),
            };
            let before = before.strip_suffix('}').unwrap();
            assert_eq!(after, format!("{before}, {marks}}}"));
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marked.parquet");
        std::fs::write(&path, bytes).unwrap();
        let again = copy(&[path], Some(NAMES), &mut |_| Ok(Fate::Keep(None)));
        let error = again.unwrap_err();
        assert!(error.to_string().contains("\"keeper\" already"), "{error}");
    }

    #[test]
    fn who_is_asked_can_stop_it_and_its_own_panic_is_no_damage_of_the_file() {
        let mut stop = |row| match row {
            3 => bail!("enough"),
            _ => Ok(Fate::Keep(None)),
        };
        let stopped = copy(&[fixture("gzip")], None, &mut stop);
        assert_eq!(stopped.unwrap_err().to_string(), "enough");
        let panicked = std::panic::catch_unwind(|| {
            copy(&[fixture("gzip")], None, &mut |_| panic!("a bug of ours")).map(drop)
        });
        assert!(panicked.is_err());
    }

    #[test]
    fn a_file_that_says_how_many_rows_it_has_says_so_of_those_that_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        let columns = [NewColumn::ascending("doc_id")];
        let mut file = ParquetWriter::new(&columns, Vec::new()).unwrap();
        file.note(DOCUMENTS_KEY, "3".to_owned());
        let mut bytes = file.group(&[Values::Int64(&[1, 2, 3])]).unwrap();
        bytes.extend(file.finish().unwrap());
        std::fs::write(&path, bytes).unwrap();
        let copied = copy(&[path.clone(), path], None, &mut |row| {
            Ok(match row {
                0 => Fate::Drop,
                _ => Fate::Keep(None),
            })
        });
        let copied = open(copied.unwrap());
        let pairs = copied.metadata().file_metadata().key_value_metadata();
        let counts: Vec<_> = pairs.unwrap().iter().collect();
        assert_eq!(counts.len(), 1);
        assert_eq!(counts[0].value.as_deref(), Some("4"));
    }
}
