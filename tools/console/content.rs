//! [`Content`]: what the files that tools write hold, and how an earlier one is known.

use self::Piece::{Number, String, Text};

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A line of JSON for each bad record.
    Rejects,
    /// A line of JSON for each document that `dedup` has left out or marked.
    Removed,
    /// A line of JSON for each document that a load has dropped.
    Duplicates,
    /// A picture.
    Svg,
}

/// The most bytes at the start of a file that are looked at: the name of any file fits, escaped.
pub const START_BYTES: usize = 1 << 15;

/// What the start of a file is made of.
#[derive(Clone, Copy, Debug)]
enum Piece {
    /// These bytes.
    Text(&'static str),
    /// A string of JSON.
    String,
    /// Digits, or `null`.
    Number,
}

impl Content {
    /// Whether a file that starts with these bytes holds this. One brace is not enough: whoever
    /// mistypes a name most likely names a corpus, and most of these are lines of JSON.
    pub fn is_start(self, bytes: &[u8]) -> bool {
        let mut rest = Some(bytes);
        for piece in self.start() {
            rest = rest.and_then(|rest| piece.skip(rest));
        }
        rest.is_some()
    }

    /// What a file of this content starts with.
    fn start(self) -> &'static [Piece] {
        match self {
            Self::Rejects => &[
                Text("{\"file\":"),
                String,
                Text(",\"line\":"),
                Number,
                Text(",\"byte\":"),
            ],
            Self::Removed => &[
                Text("{\"id\":"),
                Number,
                Text(",\"keeper\":"),
                Number,
                Text(",\"distance\":"),
                Number,
                Text(",\"cluster\":"),
            ],
            Self::Duplicates => &[
                Text("{\"id\":"),
                Number,
                Text(",\"fingerprint\":"),
                String,
                Text(",\"duplicate_of\":"),
            ],
            Self::Svg => &[Text("<svg")],
        }
    }

    /// What it is called in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rejects => "bad records as --rejects lists them",
            Self::Removed => "what dedup has left out, as --report lists it",
            Self::Duplicates => "what a load has dropped, as --duplicates lists it",
            Self::Svg => "a picture (SVG)",
        }
    }
}

impl Piece {
    /// What follows it, if the bytes start with it.
    fn skip(self, bytes: &[u8]) -> Option<&[u8]> {
        match self {
            Text(text) => bytes.strip_prefix(text.as_bytes()),
            String => {
                let mut rest = bytes.strip_prefix(b"\"")?;
                loop {
                    rest = match rest {
                        [b'"', rest @ ..] => return Some(rest),
                        [b'\\', _, rest @ ..] | [_, rest @ ..] => rest,
                        [] => return None,
                    };
                }
            }
            Number => {
                let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit());
                match digits.count() {
                    0 => bytes.strip_prefix(b"null"),
                    digits => bytes.get(digits..),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_known_and_corpora_are_not() {
        let all = [
            Content::Rejects,
            Content::Removed,
            Content::Duplicates,
            Content::Svg,
        ];
        for (start, known) in [
            (
                r#"{"file":"a \"b\\.jsonl","line":1,"byte":null,"row":null,"id":7"#,
                Some(Content::Rejects),
            ),
            (
                r#"{"id":2,"keeper":1,"distance":null,"cluster":1,"against":false"#,
                Some(Content::Removed),
            ),
            (
                r#"{"id":18446744073709551615,"fingerprint":"0000","duplicate_of":1"#,
                Some(Content::Duplicates),
            ),
            ("<svg width=\"1\"/>", Some(Content::Svg)),
            (r#"{"id":1,"text":"a"}"#, None),
            (r#"{"id":1,"fingerprint":"0000","reliable":true}"#, None),
            (r#"{"id":1,"keeper":null,"distance":null,"text":"a"}"#, None),
            (r#"{"file":"a.c","line":3,"text":"a"}"#, None),
            (r#"{"file":"a.c\","#, None),
            ("{}", None),
            ("<html>", None),
            ("", None),
        ] {
            let known_as = all.into_iter().filter(|one| one.is_start(start.as_bytes()));
            assert_eq!(
                known_as.collect::<Vec<_>>(),
                Vec::from_iter(known),
                "{start}"
            );
        }
    }
}
