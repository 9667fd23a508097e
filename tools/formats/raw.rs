//! Raw pairs: document id and fingerprint, little-endian, 16 bytes each.

use std::io::{self, BufRead};

use anyhow::{Context, Result};
use simdb::{DocId, Fingerprint};

use super::input::InputStream;
use super::{DocumentContent, InputRecord, Item, Records};

/// The bytes of a pair.
pub const PAIR_BYTES: usize = 16;

/// A reader of raw pairs.
pub struct RawPairs {
    input: InputStream,
    offset_bytes: u64,
}

impl RawPairs {
    /// Reads pairs until the input ends.
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
            PAIR_BYTES => Some(Item::Record(record(number, &pair))),
            _ => Some(Item::reject(
                number,
                None,
                format!("the last record is cut: {bytes} of its {PAIR_BYTES} bytes are there"),
            )),
        })
    }
}

fn record(number: u64, pair: &[u8; PAIR_BYTES]) -> InputRecord {
    let [id, fingerprint] = [0, 8].map(|start| {
        let mut word = [0; 8];
        word.copy_from_slice(&pair[start..start + 8]);
        u64::from_le_bytes(word)
    });
    InputRecord {
        number,
        id: DocId(id),
        content: DocumentContent {
            fingerprint: Some((Fingerprint::from_bits(fingerprint), true)),
            ..DocumentContent::default()
        },
    }
}

/// Reads until the buffer is full or the input ends. Returns the number of bytes read.
pub fn fill(reader: &mut (dyn BufRead + Send), buffer: &mut [u8]) -> io::Result<usize> {
    let ready = reader.fill_buf()?;
    if let Some(ready) = ready.get(..buffer.len()) {
        buffer.copy_from_slice(ready);
        reader.consume(buffer.len());
        return Ok(buffer.len());
    }
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_little_endian_and_a_cut_one_is_named_by_its_offset() {
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
