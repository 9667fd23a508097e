//! [`Npy`]: fingerprints in an array of NumPy. Their ids are in another array or counted.

use anyhow::{Context, Result, bail, ensure};
use simdb::{DocId, Fingerprint};

use super::id_sequence::IdSequence;
use super::input::InputStream;
use super::npy_header::NpyHeader;
use super::raw::fill;
use super::{DocumentContent, Item, Records, excerpt};

/// The bytes of a number.
const WORD_BYTES: usize = 8;

/// A reader of an array of fingerprints, whose rows are counted from 0.
pub struct Npy {
    fingerprints: NpyNumbers,
    ids: Option<NpyNumbers>,
    /// The next id, if there is no array of ids.
    counted: IdSequence,
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
        })
    }
}

impl Records for Npy {
    fn next(&mut self) -> Result<Option<Item>> {
        let number = self.fingerprints.read;
        let bits = self.fingerprints.next()?;
        let given = self.ids.as_mut().map(NpyNumbers::next).transpose()?;
        let Some(bits) = bits else {
            return Ok(None);
        };
        let id = match given.flatten() {
            Some(id) => Ok(DocId(id)),
            None => self.counted.take(),
        };
        let content = DocumentContent::of_fingerprint(Fingerprint::from_bits(bits));
        Ok(Some(Item::with_id(number, id, Ok(content))))
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
        let header =
            NpyHeader::read(&mut *input.reader).with_context(|| format!("cannot read {name}"))?;
        // Signed integers are accepted: all 64 bits are the fingerprint.
        ensure!(
            ["<u8", "<i8"].contains(&header.kind.as_str()),
            "cannot read {name}: its type is {}; 64-bit integers, little-endian, are expected: save \
             array.astype(\"<u8\")",
            excerpt(&header.kind)
        );
        let [len] = header.shape[..] else {
            bail!(
                "cannot read {name}: its shape is {}; one dimension is expected: save \
                 array.ravel()",
                excerpt(&format!("{:?}", header.shape))
            );
        };
        Ok(Self {
            input,
            len,
            read: 0,
        })
    }

    fn next(&mut self) -> Result<Option<u64>> {
        let Self { input, len, read } = self;
        let name = &input.name;
        let mut word = [0; WORD_BYTES];
        let bytes = fill(&mut *input.reader, &mut word)
            .with_context(|| format!("cannot read {name} beyond row {read}"))?;
        if read == len {
            ensure!(
                bytes == 0,
                "cannot read {name}: it holds more than the {len} numbers that its header names"
            );
            return Ok(None);
        }
        ensure!(
            bytes == WORD_BYTES,
            "cannot read {name} beyond row {read}: it is cut; its header names {len} numbers"
        );
        *read += 1;
        Ok(Some(u64::from_le_bytes(word)))
    }
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
    fn array_of_every_version_is_read_with_counted_or_given_ids() {
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
    fn file_that_is_not_an_array_of_64_bit_integers_is_an_error() {
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
            (array(1, &sound, &[1, 2, 3]), "more than the 2"),
            (array(2, &nested, &[]), "not the dictionary"),
            (array(1, "nonsense", &[]), "a.npy"),
            (array(9, &sound, &[1, 2]), "version 9"),
            (
                array(1, &header("<u8", "False", "(99999999999999999999,)"), &[]),
                "a.npy",
            ),
            (
                b"\x93NUMPY\x02\0\xff\xff\xff\xff".to_vec(),
                "4294967295 bytes",
            ),
            (b"PAR1PAR1PAR1".to_vec(), "not an array of NumPy"),
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
