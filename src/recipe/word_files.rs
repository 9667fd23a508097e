//! [`WordFiles`]: a dictionary, idf values and stop words that are given to a recipe.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::feature::MOST_IDF;
use crate::text::DictionaryWord;

/// The most bytes of a file.
const MOST_BYTES: usize = 64 << 20;

/// The most bytes of a word to cut texts by. Each place of a text is compared with all words that
/// may start there, and with words that are the starts of one another that is as many as the longest
/// has letters.
const MOST_WORD_BYTES: usize = 1 << 10;

/// More fields than any line should have; the others are not looked at.
const MOST_FIELDS: usize = 4;

/// How many characters of what is wrong with a line are said.
const MOST_SAID: usize = 200;

/// The files given to a recipe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct WordFiles {
    dictionary: Option<Given<DictionaryWord>>,
    idf: Option<Given<(String, f64)>>,
    stop_words: Option<Given<String>>,
}

/// What a file holds. It is what its bytes are, by their hash, which the database stores.
struct Given<T> {
    hash: u64,
    entries: Arc<[T]>,
}

/// What stands between ASCII white space and ideographic spaces, whatever else Unicode may come to
/// call a space.
fn fields(line: &str) -> impl Iterator<Item = &str> {
    let is_space = |c: char| c.is_ascii_whitespace() || c == '\u{3000}';
    line.split(is_space).filter(|field| !field.is_empty())
}

impl WordFiles {
    pub(super) const NONE: Self = Self {
        dictionary: None,
        idf: None,
        stop_words: None,
    };

    /// Reads a dictionary: on each line a word, and perhaps how often it was seen, and a tag.
    pub(super) fn set_dictionary(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.dictionary = Some(Given::read(name, bytes, |line| {
            let fields: Vec<_> = fields(line).take(MOST_FIELDS).collect();
            let (word, count) = match fields[..] {
                [] => return Ok(None),
                [word] => (word, None),
                // Without a count, what follows a word is its tag.
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
        })?);
        Ok(())
    }

    /// Reads idf values: on each line a word and its value.
    pub(super) fn set_idf(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.idf = Some(Given::read(name, bytes, |line| {
            let fields: Vec<_> = fields(line).take(MOST_FIELDS).collect();
            let (word, value) = match fields[..] {
                [] => return Ok(None),
                [word, value] => (word, value),
                _ => return Err("a word and its idf are expected".to_owned()),
            };
            match value.parse::<f64>() {
                Ok(idf) if idf > 0.0 && idf <= MOST_IDF => Ok(Some((word.to_owned(), idf))),
                _ => Err(format!(
                    "{value:?} is not a number above 0, at most {MOST_IDF}"
                )),
            }
        })?);
        Ok(())
    }

    /// Reads stop words: each line is one.
    pub(super) fn set_stop_words(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.stop_words = Some(Given::read(name, bytes, |line| {
            Ok((!line.is_empty()).then(|| line.to_owned()))
        })?);
        Ok(())
    }

    pub(super) fn dictionary(&self) -> Option<&[DictionaryWord]> {
        self.dictionary.as_ref().map(|given| &given.entries[..])
    }

    pub(super) fn idf(&self) -> Option<&[(String, f64)]> {
        self.idf.as_ref().map(|given| &given.entries[..])
    }

    pub(super) fn stop_words(&self) -> Option<&[String]> {
        self.stop_words.as_ref().map(|given| &given.entries[..])
    }

    /// Which files there are and their hashes; nothing if there are none.
    pub(super) fn description(&self) -> Option<String> {
        let files = [
            (
                "dictionary",
                self.dictionary.as_ref().map(|given| given.hash),
            ),
            ("idf", self.idf.as_ref().map(|given| given.hash)),
            (
                "stop words",
                self.stop_words.as_ref().map(|given| given.hash),
            ),
        ];
        let files = files
            .into_iter()
            .filter_map(|(what, hash)| Some(format!("{what} {:016x}", hash?)));
        let files: Vec<_> = files.collect();
        (!files.is_empty()).then(|| files.join(", "))
    }
}

impl<T> Given<T> {
    /// Reads a file line by line. A line may give nothing, but all lines together must not.
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
            match entry(line) {
                Ok(Some(entry)) => entries.push(entry),
                Ok(None) => {}
                Err(what) => {
                    let said = what.chars().take(MOST_SAID).collect();
                    return Err(wrong(index + 1, said));
                }
            }
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

impl<T> Clone for Given<T> {
    fn clone(&self) -> Self {
        Self {
            hash: self.hash,
            entries: Arc::clone(&self.entries),
        }
    }
}

impl<T> PartialEq for Given<T> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

impl<T> Eq for Given<T> {}

impl<T> Hash for Given<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

impl<T> fmt::Debug for Given<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_as_jieba_reads_them() {
        let mut files = WordFiles::NONE;
        let dictionary = "\u{feff}云计算 5 n\n韩玉鉴赏\r\n\n蓝翔 nz\n区块链 10\n";
        files
            .set_dictionary("words", dictionary.as_bytes())
            .unwrap();
        let expected = [
            ("云计算", Some(5)),
            ("韩玉鉴赏", None),
            ("蓝翔", None),
            ("区块链", Some(10)),
        ];
        let expected = expected.map(|(word, count)| (word.to_owned(), count));
        assert_eq!(files.dictionary(), Some(&expected[..]));
        files.set_idf("idf", "云计算 2.5\n".as_bytes()).unwrap();
        assert_eq!(files.idf(), Some(&[("云计算".to_owned(), 2.5)][..]));
        files
            .set_stop_words("stop", "的\naccording to\n若果 ".as_bytes())
            .unwrap();
        let expected = ["的", "according to", "若果 "].map(str::to_owned);
        assert_eq!(files.stop_words(), Some(&expected[..]));
        let described = files.description().unwrap();
        assert!(described.starts_with("dictionary ") && described.contains(", stop words "));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let mut files = WordFiles::NONE;
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
            let error = files.set_dictionary("f", bytes).unwrap_err().to_string();
            assert!(error.contains(said) && error.len() < 400, "{error}");
        }
        for bytes in [&b"a"[..], b"a b", b"a 0", b"a 64", b"a nan", b"a 1 2"] {
            let error = files.set_idf("f", bytes).unwrap_err().to_string();
            assert!(error.contains("line 1: "), "{error}");
        }
        assert_eq!(files, WordFiles::NONE);
    }
}
