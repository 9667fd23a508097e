//! Raw pairs: document id and fingerprint, little-endian, 16 bytes each.

use std::io::{self, BufRead};

use anyhow::{Context, Result};
use simdb::{DocId, Fingerprint};

use super::input::InputStream;
use super::{DocumentContent, Item, Records};

/// The bytes of a pair.
pub const PAIR_BYTES: usize = 16;

/// A reader of raw pairs.
pub struct RawPairs {
    input: InputStream,
    offset_bytes: u64,
}

impl RawPairs {
    pub fn new(input: InputStream) -> Self {
        Self {
            input,
            offset_bytes: 0,
        }
    }
}

impl Records for RawPairs {
    fn next(&mut self) -> Result<Option<Item>> {
        let number = self.offset_bytes;
        let mut pair = [0; PAIR_BYTES];
        let bytes = fill(&mut *self.input.reader, &mut pair)
            .with_context(|| format!("cannot read {} beyond byte {number}", self.input.name))?;
        self.offset_bytes += bytes as u64;
        Ok(match bytes {
            0 => None,
            PAIR_BYTES => {
                let (words, _) = pair.as_chunks();
                let fingerprint = Fingerprint::from_bits(u64::from_le_bytes(words[1]));
                let content = DocumentContent::of_fingerprint(fingerprint);
                Some(Item::new(
                    number,
                    DocId(u64::from_le_bytes(words[0])),
                    Ok(content),
                ))
            }
            _ => Some(Item::reject(
                number,
                None,
                format!("the last record is cut: {bytes} of its {PAIR_BYTES} bytes are there"),
            )),
        })
    }
}

/// Reads until the buffer is full or the input ends. Returns the number of bytes read.
pub fn fill(reader: &mut (dyn BufRead + Send), buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        let ready = reader.fill_buf()?;
        let bytes = ready.len().min(buffer.len() - filled);
        if bytes == 0 {
            break;
        }
        buffer[filled..filled + bytes].copy_from_slice(&ready[..bytes]);
        reader.consume(bytes);
        filled += bytes;
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_little_endian_and_cut_pair_is_rejected_by_offset() {
        let mut bytes = Vec::new();
        for word in [1, 0xff, u64::MAX, 1 << 63] {
            bytes.extend(u64::to_le_bytes(word));
        }
        bytes.extend([1, 2, 3]);
        let mut raw = RawPairs::new(InputStream::of_bytes("test", &bytes));
        let mut pairs = Vec::new();
        let reject = loop {
            match raw.next().unwrap() {
                Some(Item::Record(record)) => {
                    let (fingerprint, _) = record.content.fingerprint.unwrap();
                    pairs.push((record.number, record.id.0, fingerprint.bits()));
                }
                Some(Item::Reject(reject)) => break reject,
                None => panic!("the cut record went unnoticed"),
            }
        };
        assert_eq!(pairs, [(0, 1, 0xff), (16, u64::MAX, 1 << 63)]);
        assert_eq!(reject.number, 32);
        assert!(
            reject.reason.contains("3 of its 16 bytes"),
            "{}",
            reject.reason
        );
        assert_eq!(raw.next().unwrap(), None);
    }
}
