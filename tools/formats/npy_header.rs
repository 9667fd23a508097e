//! The header of an array of NumPy: a Python dictionary of three entries.
//!
//! The format is described by NumPy, in `numpy.lib.format`. `numpy.save` always writes the entries
//! with these types; an array of records has a list instead of a type, and is not read.

use std::io::Read;

use anyhow::{Context, Result, bail, ensure};

const MAGIC: &[u8] = b"\x93NUMPY";

/// The longest header that is read, in bytes. The headers that simdb writes have 118 bytes.
const MOST_HEADER_BYTES: usize = 1 << 16;

/// The bytes of the header that simdb writes. NumPy aligns the numbers to 64 bytes.
const WRITTEN_BYTES: usize = 128;

/// The type and the shape of an array.
pub struct NpyHeader {
    /// The type as NumPy names it, `<u8`, or `records`.
    pub kind: String,
    pub shape: Vec<u64>,
}

impl NpyHeader {
    /// Reads a header up to the first number.
    pub fn read(reader: &mut dyn Read) -> Result<Self> {
        const CUT: &str = "its header is cut";
        let mut start = [0; MAGIC.len() + 2];
        reader
            .read_exact(&mut start)
            .context("it is not an array of NumPy: it is too short")?;
        ensure!(
            start.starts_with(MAGIC),
            "it is not an array of NumPy: it does not start with \\x93NUMPY"
        );
        let version = start[MAGIC.len()];
        // Version 1 has a length of two bytes, versions 2 and 3 of four.
        let len_bytes = match version {
            1 => 2,
            2 | 3 => 4,
            _ => bail!("its format has version {version}; versions 1 to 3 are read"),
        };
        let mut len = [0; 4];
        reader.read_exact(&mut len[..len_bytes]).context(CUT)?;
        let len = u32::from_le_bytes(len) as usize;
        ensure!(
            len <= MOST_HEADER_BYTES,
            "its header has {len} bytes; at most {MOST_HEADER_BYTES} are read"
        );
        let mut dictionary = vec![0; len];
        reader.read_exact(&mut dictionary).context(CUT)?;
        let parsed = std::str::from_utf8(&dictionary).ok().and_then(Self::parse);
        parsed.context("its header is not the dictionary that NumPy writes")
    }

    fn parse(dictionary: &str) -> Option<Self> {
        let mut literal = Literal(dictionary);
        let (mut kind, mut shape) = (None, None);
        literal.token('{')?;
        while literal.token('}').is_none() {
            let key = literal.string()?;
            literal.token(':')?;
            match key {
                // Records are refused by their type, so the rest does not matter.
                "descr" if literal.token('[').is_some() => {
                    return Some(Self {
                        kind: "records".to_owned(),
                        shape: Vec::new(),
                    });
                }
                "descr" => kind = Some(literal.string()?.to_owned()),
                // One dimension has the same order in C and in Fortran.
                "fortran_order" => drop(literal.word("True").or_else(|| literal.word("False"))?),
                "shape" => shape = Some(literal.tuple()?),
                _ => return None,
            }
            if literal.token(',').is_none() {
                literal.token('}')?;
                break;
            }
        }
        literal.0.trim().is_empty().then_some(())?;
        Some(Self {
            kind: kind?,
            shape: shape?,
        })
    }
}

/// The rest of a Python literal.
struct Literal<'a>(&'a str);

impl<'a> Literal<'a> {
    fn word(&mut self, word: &str) -> Option<()> {
        self.0 = self.0.trim_start().strip_prefix(word)?;
        Some(())
    }

    fn token(&mut self, token: char) -> Option<()> {
        self.word(token.encode_utf8(&mut [0; 4]))
    }

    /// A string without escapes.
    fn string(&mut self) -> Option<&'a str> {
        let text = self.0.trim_start();
        let quote = text.chars().next().filter(|quote| "'\"".contains(*quote))?;
        let (string, rest) = text[1..].split_once(quote)?;
        self.0 = rest;
        (!string.contains('\\')).then_some(string)
    }

    /// A tuple of numbers: `()`, `(3,)` or `(3, 4)`.
    fn tuple(&mut self) -> Option<Vec<u64>> {
        self.token('(')?;
        let (numbers, rest) = self.0.split_once(')')?;
        self.0 = rest;
        let numbers = numbers.trim();
        if numbers.is_empty() {
            return Some(Vec::new());
        }
        let numbers = numbers.strip_suffix(',').unwrap_or(numbers).split(',');
        numbers.map(|number| number.trim().parse().ok()).collect()
    }
}

/// The header of an array of this many unsigned 64-bit integers, little-endian. All headers have
/// the same length, so the header can be replaced when the number is known.
pub fn header_of_u64(len: u64) -> [u8; WRITTEN_BYTES] {
    let dictionary = format!("{{'descr': '<u8', 'fortran_order': False, 'shape': ({len},), }}");
    let mut header = [b' '; WRITTEN_BYTES];
    let start = [MAGIC, &[1, 0]].concat();
    let len_at = start.len();
    let dictionary_at = len_at + 2;
    header[..len_at].copy_from_slice(&start);
    let dictionary_bytes = (WRITTEN_BYTES - dictionary_at) as u16;
    header[len_at..dictionary_at].copy_from_slice(&dictionary_bytes.to_le_bytes());
    header[dictionary_at..][..dictionary.len()].copy_from_slice(dictionary.as_bytes());
    header[WRITTEN_BYTES - 1] = b'\n';
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_header_equals_bytes_of_numpy() {
        let numpy =
            b"\x93NUMPY\x01\x00v\x00{'descr': '<u8', 'fortran_order': False, 'shape': (2,), }";
        let header = header_of_u64(2);
        assert!(header.starts_with(numpy));
        assert!(header[numpy.len()..127].iter().all(|byte| *byte == b' '));
        assert_eq!(header[127], b'\n');
        for len in [0, 1, u64::MAX] {
            let read = NpyHeader::read(&mut &header_of_u64(len)[..]).unwrap();
            assert_eq!((read.kind.as_str(), &read.shape[..]), ("<u8", &[len][..]));
        }
    }

    #[test]
    fn dictionary_is_parsed_in_every_form_of_numpy() {
        let parse = |text| NpyHeader::parse(text).map(|header| (header.kind, header.shape));
        let kind = || "<f4".to_owned();
        for (text, shape) in [
            (
                "{'descr': '<f4', 'fortran_order': True, 'shape': (), }  \n",
                vec![],
            ),
            (
                "{'shape': (3, 4), 'descr': \"<f4\", 'fortran_order': False}",
                vec![3, 4],
            ),
            (
                " { 'descr' : '<f4' ,'fortran_order':False,'shape':( 7 , )}",
                vec![7],
            ),
        ] {
            assert_eq!(parse(text), Some((kind(), shape)), "{text}");
        }
        let records = "{'descr': [('a', '<u8')], 'fortran_order': False, 'shape': (2,), }";
        assert_eq!(parse(records), Some(("records".to_owned(), vec![])));
        for refused in [
            "",
            "{}",
            "{'descr': '<f4', 'shape': (1,)} 1",
            "{'descr': '<f4', 'shape': (1,)",
            "{'descr': '<f4', 'shape': (1;2)}",
            "{'descr': '<f4', 'shape': (,)}",
            "{'descr': '<f4', 'shape': (-1,)}",
            "{'descr': '<\\x66', 'shape': (1,)}",
            "{'descr': <f4, 'shape': (1,)}",
            "{'descr': '<f4', 'fortran_order': None, 'shape': (1,)}",
            "{'descr': '<f4', 'other': 1, 'shape': (1,)}",
            "{'é",
        ] {
            assert_eq!(parse(refused), None, "{refused}");
        }
    }
}
