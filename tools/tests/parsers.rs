//! Arbitrary bytes as a corpus, in every format.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use simdb::{Fingerprinter, Recipe};
use simdb_tools::formats::input::Source;
use simdb_tools::formats::{DocumentFields, Format, Item, Wanted, reader};

/// The first byte selects the format and the requested fields, the second one compression and the
/// file name.
pub fn run(input: &[u8]) {
    let Some((&[mode, packing], bytes)) = input.split_first_chunk() else {
        return;
    };
    let formats = [
        Format::Jsonl,
        Format::Csv,
        Format::Tsv,
        Format::Lines,
        Format::Raw,
        Format::Npy,
        Format::Parquet,
    ];
    let format = formats[usize::from(mode & 7) % formats.len()];
    let asked = |bit: u8, name: &str| (mode >> bit & 1 == 0).then(|| name.to_owned());
    let fingerprint = asked(4, "fingerprint");
    let fields = DocumentFields {
        copies: Some("copies".to_owned()),
        // The text or the fingerprint is always requested.
        text: asked(3, "text").or_else(|| fingerprint.is_none().then(|| "text".to_owned())),
        fingerprint,
        time: asked(5, "time"),
        are_counted: packing & 0x40 != 0,
        max_text_bytes: if packing & 0x80 == 0 { 1 << 20 } else { 20 },
        strips_html: packing & 0x20 != 0,
        ..DocumentFields::default()
    };
    let wanted = Wanted {
        fields,
        counted: None,
        ids: None,
    };
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder.path().join("input.jsonl"), packing % 8, bytes);
    let source = Source::new(&path).unwrap();
    // The size of decompressed input is not bounded by the number of bytes.
    let most = match (packing % 8, format) {
        (1..=4, _) => 1 << 16,
        (_, Format::Parquet) => 1 << 16,
        _ => bytes.len() + 1,
    };
    let Ok(mut records) = reader(format, &source, &wanted, &Arc::default()) else {
        return;
    };
    // Making a fingerprinter takes longer than everything else.
    static FINGERPRINTER: OnceLock<Fingerprinter> = OnceLock::new();
    let fingerprinter = FINGERPRINTER.get_or_init(|| Fingerprinter::new(Recipe::ngram()));
    let mut last = 0;
    for count in 0.. {
        if count > 1 << 16 {
            break;
        }
        assert!(count <= most, "more records than bytes");
        let number = match records.next() {
            Ok(Some(Item::Record(record))) => {
                let number = record.number;
                assert!(record.content.text.is_some() || record.content.fingerprint.is_some());
                record
                    .content
                    .into_document(record.id, fingerprinter)
                    .unwrap();
                number
            }
            Ok(Some(Item::Reject(reject))) => {
                assert!(!reject.reason.is_empty());
                reject.number
            }
            Ok(None) => {
                assert!(records.next().is_ok_and(|more| more.is_none()));
                break;
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                break;
            }
        };
        assert!(
            number >= last && (count == 0 || number > last),
            "line {number} after line {last}"
        );
        last = number;
    }
}

/// Writes the bytes to a file: plain, compressed, or plain under the name of a compressed file.
fn write(path: &Path, kind: u8, bytes: &[u8]) -> PathBuf {
    let (extension, content) = match kind {
        1 => ("gz", bytes.to_vec()),
        2 => ("zst", bytes.to_vec()),
        3 => {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            std::io::Write::write_all(&mut packed, bytes).unwrap();
            ("gz", packed.finish().unwrap())
        }
        4 => ("zst", zstd::encode_all(bytes, 1).unwrap()),
        _ => ("jsonl", bytes.to_vec()),
    };
    let path = path.with_extension(extension);
    fs::write(&path, content).unwrap();
    path
}
