//! [`WordFiles`]: the dictionary, idf values and stop words of a caller, for a recipe.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::feature::MAX_IDF;
use crate::text::DictionaryWord;

/// At most 64 MiB per file: all entries are kept in memory.
const MAX_FILE_BYTES: usize = 64 << 20;

/// At most 1 KiB per word of a dictionary. The segmenter tries all words at each position of a
/// text. If the words are prefixes of each other, their number is the number of letters of the
/// longest word, so long words would make segmentation slow.
const MAX_WORD_BYTES: usize = 1 << 10;

/// At most 4 fields of a line are read, one more than any line should have.
const MAX_FIELDS: usize = 4;

/// At most 200 characters of an error text: it may quote a field of up to 64 MiB.
const MAX_REASON_CHARS: usize = 200;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct WordFiles {
    pub(super) dictionary: Option<WordFile<DictionaryWord>>,
    pub(super) idf: Option<WordFile<(String, f64)>>,
    pub(super) stop_words: Option<WordFile<String>>,
}

impl WordFiles {
    pub(super) const NONE: Self = Self {
        dictionary: None,
        idf: None,
        stop_words: None,
    };

    /// The part of a description about the files, their kinds and hashes; `None` without files.
    pub(super) fn description(&self) -> Option<String> {
        let hashes = [
            self.dictionary
                .as_ref()
                .map(|file| ("dictionary", file.hash)),
            self.idf.as_ref().map(|file| ("idf", file.hash)),
            self.stop_words
                .as_ref()
                .map(|file| ("stop words", file.hash)),
        ];
        let given: Vec<_> = hashes
            .into_iter()
            .flatten()
            .map(|(kind, hash)| format!("{kind} {hash:016x}"))
            .collect();
        (!given.is_empty()).then(|| given.join(", "))
    }
}

/// The entries of a file. Two files are equal if their hashes are equal: the hash is all that a
/// database stores.
#[derive(Clone)]
pub(super) struct WordFile<T> {
    hash: u64,
    entries: Arc<[T]>,
}

impl WordFile<DictionaryWord> {
    /// Reads a dictionary: each line is a word, an optional count and an optional tag.
    pub(super) fn read_dictionary(name: &str, bytes: &[u8]) -> Result<Self> {
        Self::read(name, bytes, |line| {
            let (word, count) = match fields(line)[..] {
                [] => return Ok(None),
                [word] => (word, None),
                // A second field that does not look like a number is a tag. A negative number is a
                // wrong count, not a tag.
                [word, tag] if !tag.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
                    (word, None)
                }
                [word, count] | [word, count, _] => (word, Some(count)),
                _ => return Err("a word, a count and a tag are expected, not more".to_owned()),
            };
            if word.len() > MAX_WORD_BYTES {
                return Err(format!("the word has more than {MAX_WORD_BYTES} bytes"));
            }
            let count = count.map(|count| match count.parse() {
                Ok(count) if count > 0 => Ok(count),
                _ => Err(format!("{count:?} is not a count from 1 to {}", u32::MAX)),
            });
            Ok(Some((word.to_owned(), count.transpose()?)))
        })
    }
}

impl WordFile<(String, f64)> {
    /// Reads idf values: each line is a word and its value.
    pub(super) fn read_idf(name: &str, bytes: &[u8]) -> Result<Self> {
        Self::read(name, bytes, |line| {
            let (word, value) = match fields(line)[..] {
                [] => return Ok(None),
                [word, value] => (word, value),
                _ => return Err("a word and its idf are expected".to_owned()),
            };
            match value.parse() {
                Ok(idf) if idf > 0.0 && idf <= MAX_IDF => Ok(Some((word.to_owned(), idf))),
                _ => Err(format!(
                    "{value:?} is not a number above 0, at most {MAX_IDF}"
                )),
            }
        })
    }
}

impl WordFile<String> {
    /// Reads stop words: each line is one word.
    pub(super) fn read_stop_words(name: &str, bytes: &[u8]) -> Result<Self> {
        // White space is part of the word, as in jieba.
        Self::read(name, bytes, |line| {
            Ok((!line.is_empty()).then(|| line.to_owned()))
        })
    }
}

impl<T> WordFile<T> {
    /// Reads a file line by line. A line may have no entry, but the file must have at least one.
    fn read(
        name: &str,
        bytes: &[u8],
        entry: impl Fn(&str) -> Result<Option<T>, String>,
    ) -> Result<Self> {
        let error_at = |line: usize, what: String| Error::WordFile {
            name: name.to_owned(),
            line: line as u64,
            what,
        };
        if bytes.len() > MAX_FILE_BYTES {
            return Err(error_at(
                1,
                format!("the file has more than {MAX_FILE_BYTES} bytes"),
            ));
        }
        let text = str::from_utf8(bytes).map_err(|error| {
            let before = &bytes[..error.valid_up_to()];
            let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
            error_at(line, "the line is not UTF-8".to_owned())
        })?;
        // Editors on Windows write a byte order mark, which would become part of the first word.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut entries = Vec::new();
        for (index, line) in text.lines().enumerate() {
            entries.extend(entry(line).map_err(|what| {
                let what = what.chars().take(MAX_REASON_CHARS).collect();
                error_at(index + 1, what)
            })?);
        }
        if entries.is_empty() {
            return Err(error_at(1, "the file has no word".to_owned()));
        }
        Ok(Self {
            // A hash of the bytes of the file, so that the user can compute it with a tool.
            hash: xxh3_64(bytes),
            entries: entries.into(),
        })
    }
}

/// The fields of a line between ASCII white space and ideographic spaces. Not
/// `char::is_whitespace`: a later Unicode version could add a space, and so change the words of a
/// file.
fn fields(line: &str) -> Vec<&str> {
    line.split(|c: char| c.is_ascii_whitespace() || c == '\u{3000}')
        .filter(|field| !field.is_empty())
        .take(MAX_FIELDS)
        .collect()
}

impl<T> Deref for WordFile<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.entries
    }
}

impl<T> PartialEq for WordFile<T> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

impl<T> Eq for WordFile<T> {}

impl<T> Hash for WordFile<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

impl<T> fmt::Debug for WordFile<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_as_by_jieba() {
        let dictionary = "\u{feff}云计算 5 n\n韩玉鉴赏\r\n\n蓝翔 nz\n区块链 10\n";
        let dictionary = WordFile::read_dictionary("words", dictionary.as_bytes()).unwrap();
        let expected = [
            ("云计算", Some(5)),
            ("韩玉鉴赏", None),
            ("蓝翔", None),
            ("区块链", Some(10)),
        ];
        let expected = expected.map(|(word, count)| (word.to_owned(), count));
        assert_eq!(dictionary[..], expected);
        let idf = WordFile::read_idf("idf", "云计算 2.5\n".as_bytes()).unwrap();
        assert_eq!(idf[..], [("云计算".to_owned(), 2.5)]);
        let stop_words = "的\naccording to\n若果 ".as_bytes();
        let stop_words = WordFile::read_stop_words("stop", stop_words).unwrap();
        let expected = ["的", "according to", "若果 "].map(str::to_owned);
        assert_eq!(stop_words[..], expected);
        let files = WordFiles {
            dictionary: Some(dictionary),
            idf: None,
            stop_words: Some(stop_words),
        };
        let described = files.description().unwrap();
        assert_eq!(WordFiles::NONE.description(), None);
        assert!(described.starts_with("dictionary ") && described.contains(", stop words "));
    }

    #[test]
    fn error_of_malformed_file_names_line_and_cause() {
        for (bytes, expected) in [
            (
                &b"a 1 n\nb 1 n x"[..],
                "cannot use f: line 2: a word, a count",
            ),
            (b"a 0", "line 1: \"0\" is not a count"),
            (b"a 99999999999", "is not a count from 1 to 4294967295"),
            (b"a x n", "\"x\" is not a count"),
            (b"a\nb\n\xff", "line 3: the line is not UTF-8"),
            (b"\n \n", "the file has no word"),
            (
                &b"a".repeat(1025),
                "line 1: the word has more than 1024 bytes",
            ),
            (&b"a ".repeat(1_000_000), "line 1: a word, a count"),
        ] {
            let error = WordFile::read_dictionary("f", bytes)
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected) && error.len() < 400, "{error}");
        }
        for bytes in [&b"a"[..], b"a b", b"a 0", b"a 64", b"a nan", b"a 1 2"] {
            let error = WordFile::read_idf("f", bytes).unwrap_err().to_string();
            assert!(error.contains("line 1: "), "{error}");
        }
    }
}
