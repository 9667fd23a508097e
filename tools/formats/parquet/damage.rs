//! Tests: damaged files, and files made to do harm, are errors or other rows, and nothing worse.

use std::path::Path;

use anyhow::Result;
use parquet::basic::{Compression, Repetition, Type};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type as SchemaType;

use super::copy::{Copying, Fate};
use super::{ParquetFile, ParquetRecords};
use crate::formats::{Fields, Item, MAX_TEXT_BYTES, Records};

/// Flips of a bit in each file.
const FLIPS: u64 = 300;

fn fields() -> Fields {
    Fields {
        id: "id".to_owned(),
        text: Some("text".to_owned()),
        fingerprint: None,
        time: Some("posted".to_owned()),
        score: None,
        are_counted: false,
        max_text_bytes: MAX_TEXT_BYTES,
    }
}

/// How many documents and rejects there are.
fn read(path: &Path, fields: &Fields) -> Result<[usize; 2]> {
    let mut records = ParquetRecords::new(ParquetFile::open(path, &Default::default())?, fields)?;
    let mut counts = [0; 2];
    while let Some(item) = records.next()? {
        counts[usize::from(matches!(item, Item::Reject(_)))] += 1;
    }
    Ok(counts)
}

fn copy(path: &Path) -> Result<u64> {
    let file = ParquetFile::open(path, &Default::default())?;
    let mut copying = Copying::start(&file, &file, None, std::io::sink())?;
    let mut kept = 0;
    copying.copy(&file, &mut |row| {
        kept += u64::from(row % 3 > 0);
        Ok(match row % 3 {
            0 => Fate::Drop,
            _ => Fate::Keep(None),
        })
    })?;
    copying.finish()?;
    Ok(kept)
}

/// Does something with each file and its bytes, and a path to write others to.
fn with_fixtures(work: impl Fn(&str, &[u8], &Path)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.parquet");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/parquet");
    for name in ["snappy", "zstd_v2", "gzip", "brotli", "lz4"] {
        let bytes = std::fs::read(fixtures.join(format!("{name}.parquet"))).unwrap();
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(read(&path, &fields()).unwrap(), [7, 1], "{name}");
        assert_eq!(copy(&path).unwrap(), 5, "{name}");
        work(name, &bytes, &path);
    }
}

#[test]
fn a_file_that_is_cut_is_an_error_wherever_it_is_cut() {
    with_fixtures(|name, bytes, path| {
        for len in (0..bytes.len()).step_by(7) {
            std::fs::write(path, &bytes[..len]).unwrap();
            let error = read(path, &fields()).unwrap_err();
            assert!(
                format!("{error:#}").contains("damaged.parquet"),
                "{name} {len}: {error:#}"
            );
            assert!(copy(path).is_err());
        }
    });
}

#[test]
fn a_flipped_bit_is_an_error_or_gives_other_rows() {
    with_fixtures(|name, bytes, path| {
        let mut state = 7_u64;
        let mut errors = 0;
        for _ in 0..FLIPS {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let bit = (state >> 33) as usize % (bytes.len() * 8);
            let mut damaged = bytes.to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(path, &damaged).unwrap();
            match read(path, &fields()) {
                Ok([documents, rejects]) => assert!(documents + rejects <= 8, "{name} {bit}"),
                Err(error) => {
                    let error = format!("{error:#}");
                    assert!(error.contains("damaged.parquet"), "{name} {bit}: {error}");
                    errors += 1;
                }
            }
            // It ends, whichever way.
            let _ = copy(path);
        }
        assert!(errors > 0, "{name}");
    });
}

/// A file of one row, whose text is long and repeats itself.
fn packed(compression: Compression) -> Vec<u8> {
    let field = SchemaType::primitive_type_builder("text", Type::BYTE_ARRAY)
        .with_repetition(Repetition::REQUIRED)
        .build();
    let schema = SchemaType::group_type_builder("test")
        .with_fields(vec![field.unwrap().into()])
        .build();
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(parquet::file::properties::EnabledStatistics::None)
        .build();
    let mut bytes = Vec::new();
    let mut file =
        SerializedFileWriter::new(&mut bytes, schema.unwrap().into(), properties.into()).unwrap();
    let mut group = file.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let text = ByteArray::from(vec![b'1'; 40 << 20]);
    let column_writer = column.typed::<ByteArrayType>();
    column_writer.write_batch(&[text], None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    file.close().unwrap();
    bytes
}

#[test]
fn a_page_that_unpacks_to_more_than_it_says_is_not_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bomb.parquet");
    let texts = Fields {
        id: "text".to_owned(),
        text: None,
        time: None,
        ..fields()
    };
    for compression in [
        Compression::GZIP(Default::default()),
        Compression::BROTLI(Default::default()),
    ] {
        let mut bytes = packed(compression);
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes.clone())).unwrap();
        let column = reader.metadata().row_group(0).column(0);
        let header = usize::try_from(column.data_page_offset()).unwrap();
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(read(&path, &texts).unwrap(), [0, 1]);

        // Two fields of small integers: the kind of page, and its length, in four bytes.
        assert_eq!([bytes[header], bytes[header + 2]], [0x15, 0x15]);
        bytes[header + 3..header + 7].copy_from_slice(&[0x80, 0x80, 0x80, 1]);
        std::fs::write(&path, &bytes).unwrap();
        let error = format!("{:#}", read(&path, &texts).unwrap_err());
        assert!(error.contains("unpacks to more"), "{error}");
    }
}

/// A file whose schema has columns that lie in one another, so many deep.
fn nested(depth: usize) -> Vec<u8> {
    // The version; a list of structs, whose length follows.
    let mut footer = vec![0x15, 2, 0x19, 0xfc];
    let mut len = depth;
    while len >= 0x80 {
        footer.push(len as u8 | 0x80);
        len >>= 7;
    }
    footer.push(len as u8);
    for level in 0..depth {
        // Required, named "a", with one column in it.
        let children = if level + 1 < depth { 2 } else { 0 };
        footer.extend([0x35, 0, 0x18, 1, b'a', 0x15, children, 0]);
    }
    footer.extend([0x16, 0, 0x19, 0x0c, 0]);
    let mut bytes = b"PAR1".to_vec();
    bytes.extend(&footer);
    bytes.extend((footer.len() as u32).to_le_bytes());
    bytes.extend(b"PAR1");
    bytes
}

#[test]
fn descriptions_that_go_deep_or_promise_much_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep.parquet");
    let refused = |bytes: Vec<u8>, said: &str| {
        std::fs::write(&path, bytes).unwrap();
        let error = format!("{:#}", read(&path, &fields()).unwrap_err());
        assert!(error.contains(said), "{error}");
    };
    refused(nested(3), "there is no column");
    refused(nested(1_000_000), "describes more");
    // A struct that says it is made of two billion others.
    let mut many = nested(2);
    let place = many
        .windows(2)
        .position(|bytes| bytes == [0x15, 2])
        .unwrap();
    let place = place
        + 2
        + many[place + 2..]
            .windows(2)
            .position(|b| b == [0x15, 2])
            .unwrap();
    many.splice(place + 1..place + 2, [0xfe, 0xff, 0xff, 0xff, 0xf]);
    let len = many.len() - 12;
    let tail = many.len() - 8;
    many[tail..tail + 4].copy_from_slice(&(len as u32).to_le_bytes());
    refused(many, "describes more");
    refused([b"PAR1", &[0xff; 4][..], b"PAR1"].concat(), "at most");
    refused(
        [b"PAR1", &[0xff, 0, 0, 0][..], b"PAR1"].concat(),
        "longer than the file",
    );
    refused(b"PAR1\0\0\0\0PARE".to_vec(), "encrypted");
    refused(b"{\"id\":1}\n".to_vec(), "does not end in PAR1");
}
