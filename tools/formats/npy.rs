//! [`Npy`]: fingerprints in an array of NumPy. Their ids are in another array or counted.

use std::io::Read;

use anyhow::{Context, Result, bail, ensure};
use npyz::{DType, NpyHeader};
use simdb::{DocId, Fingerprint};

use super::catch_panics::catch_panics;
use super::id_sequence::IdSequence;
use super::input::InputStream;
use super::raw::fill;
use super::{DocumentContent, InputRecord, Item, Records, excerpt};

/// The bytes of a number.
const WORD_BYTES: usize = 8;

/// The most bytes that the header of an array may have; those that simdb writes have 118.
const MOST_HEADER_BYTES: usize = 1 << 16;

/// The most brackets in a header: the crate reads nested ones recursively.
const MOST_BRACKETS: usize = 64;

/// Reads an array of fingerprints, whose rows are counted from 0.
pub struct Npy {
    fingerprints: NpyNumbers,
    ids: Option<NpyNumbers>,
    /// The next id, if there is no array of ids.
    counted: IdSequence,
    /// The number of rows that were read.
    read: u64,
}

impl Npy {
    /// Reads fingerprints. Their ids are in another array of the same length, or `counted`.
    pub fn new(input: InputStream, ids: Option<InputStream>, counted: IdSequence) -> Result<Self> {
        let fingerprints = NpyNumbers::new(input)?;
        let ids = ids.map(NpyNumbers::new).transpose()?;
        if let Some(ids) = &ids {
            ensure!(
                ids.len == fingerprints.len,
                "{} has {} ids, and {} has {} fingerprints; they must be equally many",
                ids.input.name,
                ids.len,
                fingerprints.input.name,
                fingerprints.len
            );
        }
        Ok(Self {
            fingerprints,
            ids,
            counted,
            read: 0,
        })
    }
}

impl Records for Npy {
    fn next(&mut self) -> Result<Option<Item>> {
        let number = self.read;
        let bits = self.fingerprints.next()?;
        let given = self.ids.as_mut().map(NpyNumbers::next).transpose()?;
        let Some(bits) = bits else {
            return Ok(None);
        };
        self.read += 1;
        let id = match given {
            Some(id) => DocId(id.unwrap_or_default()),
            None => match self.counted.take() {
                Ok(id) => id,
                Err(reason) => return Ok(Some(Item::reject(number, None, reason))),
            },
        };
        Ok(Some(Item::Record(InputRecord {
            number,
            id,
            content: DocumentContent {
                score: None,
                text: None,
                fingerprint: Some((Fingerprint::from_bits(bits), true)),
                arrival: None,
            },
        })))
    }

    fn next_ids(&self) -> Option<IdSequence> {
        self.ids.is_none().then_some(self.counted)
    }
}

/// The numbers of an array.
struct NpyNumbers {
    input: InputStream,
    len: u64,
    read: u64,
}

impl NpyNumbers {
    fn new(mut input: InputStream) -> Result<Self> {
        let name = input.name.clone();
        let cannot = || format!("cannot read {name}");
        let header = catch_panics(|| read_header(&mut *input.reader)).with_context(cannot)?;
        let what = match header.dtype() {
            DType::Plain(kind) => kind.to_string(),
            DType::Array(..) | DType::Record(_) => "records".to_owned(),
        };
        // A fingerprint has 64 bits, whether or not one of them is taken for a sign.
        ensure!(
            ["<u8", "<i8"].contains(&what.as_str()),
            "cannot read {name}: it holds {}; 64-bit integers, little-endian, are expected: save \
             array.astype(\"<u8\")",
            excerpt(&what)
        );
        match header.shape() {
            [len] => Ok(Self {
                input,
                len: *len,
                read: 0,
            }),
            shape => bail!(
                "cannot read {name}: its shape is {}; one dimension is expected: save \
                 array.ravel()",
                excerpt(&format!("{shape:?}"))
            ),
        }
    }

    fn next(&mut self) -> Result<Option<u64>> {
        let name = &self.input.name;
        let mut word = [0; WORD_BYTES];
        let bytes = fill(&mut *self.input.reader, &mut word)
            .with_context(|| format!("cannot read {name} beyond row {}", self.read))?;
        if self.read == self.len {
            ensure!(
                bytes == 0,
                "cannot read {name}: there is more behind the {} numbers that its header says",
                self.len
            );
            return Ok(None);
        }
        ensure!(
            bytes == WORD_BYTES,
            "cannot read {name} beyond row {}: it is cut, its header says {} numbers",
            self.read,
            self.len
        );
        self.read += 1;
        Ok(Some(u64::from_le_bytes(word)))
    }
}

/// Reads a header, which is a line of Python, unless it is too long or too deep.
fn read_header(reader: &mut dyn Read) -> Result<NpyHeader> {
    const MAGIC: &[u8] = b"\x93NUMPY";
    let mut bytes = vec![0; 8];
    reader
        .read_exact(&mut bytes)
        .context("it is no array of NumPy: it is too short for one")?;
    ensure!(
        bytes.starts_with(MAGIC),
        "it is no array of NumPy: it does not start like one"
    );
    let mut len = [0; 4];
    let len_bytes = if bytes[6] == 1 { 2 } else { 4 };
    reader
        .read_exact(&mut len[..len_bytes])
        .context("its header is cut")?;
    bytes.extend(&len[..len_bytes]);
    let len = u32::from_le_bytes(len) as usize;
    ensure!(
        len <= MOST_HEADER_BYTES,
        "its header has {len} bytes; at most {MOST_HEADER_BYTES} are read"
    );
    let start = bytes.len();
    bytes.resize(start + len, 0);
    reader
        .read_exact(&mut bytes[start..])
        .context("its header is cut")?;
    let brackets = bytes[start..]
        .iter()
        .filter(|byte| matches!(byte, b'(' | b'[' | b'{'));
    ensure!(
        brackets.count() <= MOST_BRACKETS,
        "its header has more than {MOST_BRACKETS} brackets"
    );
    Ok(NpyHeader::from_reader(&bytes[..])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(version: u8, header: &str, words: &[u64]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY".to_vec();
        bytes.extend([version, 0]);
        match version {
            1 => bytes.extend((header.len() as u16).to_le_bytes()),
            _ => bytes.extend((header.len() as u32).to_le_bytes()),
        }
        bytes.extend(header.as_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes
    }

    fn header(kind: &str, order: &str, shape: &str) -> String {
        format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}\n")
    }

    fn read(bytes: &[u8], ids: Option<&[u8]>, first_id: u64) -> Result<Vec<(u64, u64, u64)>> {
        let open = |name, bytes| InputStream::of_bytes(name, bytes);
        let ids = ids.map(|ids| open("ids.npy", ids));
        let mut npy = Npy::new(open("a.npy", bytes), ids, IdSequence::new(first_id))?;
        let mut read = Vec::new();
        while let Some(item) = npy.next()? {
            let Item::Record(record) = item else {
                bail!("{item:?}");
            };
            let (fingerprint, _) = record.content.fingerprint.unwrap();
            read.push((record.number, record.id.0, fingerprint.bits()));
        }
        Ok(read)
    }

    #[test]
    fn arrays_of_every_version_are_read_with_ids_that_count_up_or_are_given() {
        for version in [1, 2, 3] {
            for (kind, order) in [("<u8", "False"), ("<i8", "True")] {
                let bytes = array(version, &header(kind, order, "(2,)"), &[7, u64::MAX]);
                assert_eq!(
                    read(&bytes, None, 5).unwrap(),
                    [(0, 5, 7), (1, 6, u64::MAX)]
                );
                let ids = array(1, &header("<u8", "False", "(2,)"), &[9, 1 << 63]);
                assert_eq!(
                    read(&bytes, Some(&ids), 5).unwrap(),
                    [(0, 9, 7), (1, 1 << 63, u64::MAX)]
                );
            }
        }
    }

    #[test]
    fn what_is_no_array_of_words_is_refused_by_its_name() {
        let sound = header("<u8", "False", "(2,)");
        let nested = format!("{}1{}", "(".repeat(30_000), ")".repeat(30_000));
        for (bytes, said) in [
            (array(1, &header("<f4", "False", "(2,)"), &[1]), "<f4"),
            (array(1, &header(">u8", "False", "(2,)"), &[1, 2]), ">u8"),
            (
                array(1, &header("<u8", "False", "(2, 1)"), &[1, 2]),
                "[2, 1]",
            ),
            (array(1, &header("<u8", "False", "()"), &[1]), "[]"),
            (array(1, &sound, &[1]), "beyond row 1: it is cut"),
            (array(1, &sound, &[1, 2, 3]), "more behind the 2"),
            (array(2, &nested, &[]), "brackets"),
            (array(1, "nonsense", &[]), "a.npy"),
            (array(9, &sound, &[1, 2]), "a.npy"),
            (
                array(1, &header("<u8", "False", "(99999999999999999999,)"), &[]),
                "a.npy",
            ),
            (
                b"\x93NUMPY\x02\0\xff\xff\xff\xff".to_vec(),
                "4294967295 bytes",
            ),
            (b"PAR1PAR1PAR1".to_vec(), "no array of NumPy"),
            (Vec::new(), "too short"),
        ] {
            let error = format!("{:#}", read(&bytes, None, 0).unwrap_err());
            assert!(error.contains(said), "{said}: {error}");
        }
        let ids = array(1, &header("<u8", "False", "(1,)"), &[1]);
        let error = read(&array(1, &sound, &[1, 2]), Some(&ids), 0).unwrap_err();
        assert!(error.to_string().contains("has 1 ids"), "{error}");
        assert!(read(&array(1, &sound, &[1, 2]), None, u64::MAX).is_err());
    }
}
