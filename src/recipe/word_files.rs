//! [`WordFiles`]: a dictionary, idf values and stop words that are given to a recipe.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::feature::MOST_IDF;
use crate::text::DictionaryWord;

/// At most 64 MiB for a file.
const MOST_BYTES: usize = 64 << 20;

/// At most 1 KiB for a word of a dictionary. Each position of a text is compared with all words that
/// may start there; if the words are prefixes of one another, these are as many as the longest has
/// letters.
const MOST_WORD_BYTES: usize = 1 << 10;

/// More fields than any line should have; further fields are not looked at.
const MOST_FIELDS: usize = 4;

/// The number of characters to which an error about a line is cut.
const MOST_SAID: usize = 200;

/// The files given to a recipe.
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

    /// The kinds of the files and their hashes; `None` without files.
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

/// The entries of a file. Files with the same hash, which the database stores, are equal.
#[derive(Clone)]
pub(super) struct WordFile<T> {
    hash: u64,
    entries: Arc<[T]>,
}

impl WordFile<DictionaryWord> {
    /// Reads a dictionary: on each line a word, and perhaps how often it was seen, and a tag.
    pub(super) fn read_dictionary(name: &str, bytes: &[u8]) -> Result<Self> {
        Self::read(name, bytes, |line| {
            let (word, count) = match fields(line)[..] {
                [] => return Ok(None),
                [word] => (word, None),
                // Without a count, the field after a word is its tag.
                [word, tag] if !tag.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
                    (word, None)
                }
                [word, count] | [word, count, _] => (word, Some(count)),
                _ => return Err("a word, a count and a tag are expected, not more".to_owned()),
            };
            if word.len() > MOST_WORD_BYTES {
                return Err(format!("the word has more than {MOST_WORD_BYTES} bytes"));
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
    /// Reads idf values: on each line a word and its value.
    pub(super) fn read_idf(name: &str, bytes: &[u8]) -> Result<Self> {
        Self::read(name, bytes, |line| {
            let (word, value) = match fields(line)[..] {
                [] => return Ok(None),
                [word, value] => (word, value),
                _ => return Err("a word and its idf are expected".to_owned()),
            };
            match value.parse() {
                Ok(idf) if idf > 0.0 && idf <= MOST_IDF => Ok(Some((word.to_owned(), idf))),
                _ => Err(format!(
                    "{value:?} is not a number above 0, at most {MOST_IDF}"
                )),
            }
        })
    }
}

impl WordFile<String> {
    /// Reads stop words: each line is one.
    pub(super) fn read_stop_words(name: &str, bytes: &[u8]) -> Result<Self> {
        Self::read(name, bytes, |line| {
            Ok((!line.is_empty()).then(|| line.to_owned()))
        })
    }
}

impl<T> WordFile<T> {
    /// Reads a file line by line. A line may have no entry, but the file must have one.
    fn read(
        name: &str,
        bytes: &[u8],
        entry: impl Fn(&str) -> Result<Option<T>, String>,
    ) -> Result<Self> {
        let wrong = |line: usize, what: String| Error::WordFile {
            name: name.to_owned(),
            line: line as u64,
            what,
        };
        if bytes.len() > MOST_BYTES {
            return Err(wrong(1, format!("it has more than {MOST_BYTES} bytes")));
        }
        let text = str::from_utf8(bytes).map_err(|error| {
            let before = &bytes[..error.valid_up_to()];
            let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
            wrong(line, "it is not UTF-8".to_owned())
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut entries = Vec::new();
        for (index, line) in text.lines().enumerate() {
            entries.extend(entry(line).map_err(|what| {
                let what = what.chars().take(MOST_SAID).collect();
                wrong(index + 1, what)
            })?);
        }
        if entries.is_empty() {
            return Err(wrong(1, "there is no word in it".to_owned()));
        }
        Ok(Self {
            hash: xxh3_64(bytes),
            entries: entries.into(),
        })
    }
}

/// The fields of a line between ASCII white space and ideographic spaces, whatever other characters
/// Unicode may come to call a space.
fn fields(line: &str) -> Vec<&str> {
    line.split(|c: char| c.is_ascii_whitespace() || c == '\u{3000}')
        .filter(|field| !field.is_empty())
        .take(MOST_FIELDS)
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
    fn files_are_read_as_jieba_reads_them() {
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
    fn what_is_wrong_is_said_with_its_line() {
        for (bytes, said) in [
            (
                &b"a 1 n\nb 1 n x"[..],
                "cannot use f: line 2: a word, a count",
            ),
            (b"a 0", "line 1: \"0\" is not a count"),
            (b"a 99999999999", "is not a count from 1 to 4294967295"),
            (b"a x n", "\"x\" is not a count"),
            (b"a\nb\n\xff", "line 3: it is not UTF-8"),
            (b"\n \n", "there is no word in it"),
            (
                &b"a".repeat(1025),
                "line 1: the word has more than 1024 bytes",
            ),
            (&b"a ".repeat(1_000_000), "line 1: a word, a count"),
        ] {
            let error = WordFile::read_dictionary("f", bytes)
                .unwrap_err()
                .to_string();
            assert!(error.contains(said) && error.len() < 400, "{error}");
        }
        for bytes in [&b"a"[..], b"a b", b"a 0", b"a 64", b"a nan", b"a 1 2"] {
            let error = WordFile::read_idf("f", bytes).unwrap_err().to_string();
            assert!(error.contains("line 1: "), "{error}");
        }
    }
}
