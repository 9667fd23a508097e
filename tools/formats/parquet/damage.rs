//! Tests: a damaged file gives an error or other rows, never a panic.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;

use super::copy::ParquetCopy;
use super::{ParquetFile, ParquetRecords};
use crate::formats::copy::CopyDecision;
use crate::formats::id_sequence::IdSequence;
use crate::formats::input::Source;
use crate::formats::{DocumentFields, Item, Records};

/// The number of bits flipped in each file, one at a time.
const FLIPS: u64 = 300;

fn open(path: &Path) -> Result<ParquetFile> {
    ParquetFile::open(&Source::new(path)?, &Default::default())
}

/// The numbers of documents and of rejects.
fn read(path: &Path) -> Result<[usize; 2]> {
    let fields = DocumentFields {
        text: Some("text".to_owned()),
        time: Some("posted".to_owned()),
        ..DocumentFields::default()
    };
    let mut records = ParquetRecords::new(open(path)?, &fields, IdSequence::new(1))?;
    let mut counts = [0; 2];
    while let Some(item) = records.next()? {
        counts[usize::from(matches!(item, Item::Reject(_)))] += 1;
    }
    Ok(counts)
}

/// The number of rows that are copied: two of three.
fn copy(path: &Path) -> Result<u64> {
    let file = Arc::new(open(path)?);
    let mut copy = ParquetCopy::new(&file, &file, &[], std::io::sink())?;
    let (mut rows, mut kept) = (0.., 0);
    copy.copy(&file, &mut || {
        Ok(rows.next().map(|row| match row % 3 {
            0 => (row, CopyDecision::Drop),
            _ => {
                kept += 1;
                (row, CopyDecision::Keep(Vec::new()))
            }
        }))
    })?;
    copy.finish()?;
    Ok(kept)
}

/// Calls `work` with the name and the bytes of each file of the test data, and a path.
fn with_fixtures(work: impl Fn(&str, &[u8], &Path)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.parquet");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/parquet");
    for name in ["snappy", "zstd_v2", "gzip"] {
        let bytes = std::fs::read(fixtures.join(format!("{name}.parquet"))).unwrap();
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(read(&path).unwrap(), [7, 1], "{name}");
        assert_eq!(copy(&path).unwrap(), 5, "{name}");
        work(name, &bytes, &path);
    }
}

#[test]
fn cut_file_is_an_error_at_every_length() {
    with_fixtures(|name, bytes, path| {
        for len in (0..bytes.len()).step_by(7) {
            std::fs::write(path, &bytes[..len]).unwrap();
            let error = read(path).unwrap_err();
            assert!(
                format!("{error:#}").contains("damaged.parquet"),
                "{name} {len}: {error:#}"
            );
            assert!(copy(path).is_err());
        }
    });
}

#[test]
fn flipped_bit_is_an_error_or_gives_other_rows() {
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
            match read(path) {
                Ok([documents, rejects]) => assert!(documents + rejects <= 8, "{name} {bit}"),
                Err(error) => {
                    let error = format!("{error:#}");
                    assert!(error.contains("damaged.parquet"), "{name} {bit}: {error}");
                    errors += 1;
                }
            }
            // Either outcome will do, but no panic.
            let _ = copy(path);
        }
        assert!(errors > 0, "{name}");
    });
}

#[test]
fn file_that_is_not_parquet_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.parquet");
    for bytes in [
        &b"{\"id\":1}\n"[..],
        b"",
        b"PAR1",
        b"PAR1\0\0\0\0PARE",
        b"PAR1\xff\0\0\0PAR1",
        b"PAR1\xff\xff\xff\xffPAR1",
        b"PAR1\0\0\0\0PAR1",
    ] {
        std::fs::write(&path, bytes).unwrap();
        let error = format!("{:#}", read(&path).unwrap_err());
        assert!(
            error.contains("damaged.parquet: it is no Parquet"),
            "{error}"
        );
    }
}
