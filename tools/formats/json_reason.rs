//! [`reason_of`]: the reason against a JSON value, in plain words.

use super::excerpt;

/// The message of an error in one line, without "at line 1", which every such error has. A quoted
/// value, which may be the whole line, is shortened.
pub fn reason_of(error: &serde_json::Error) -> String {
    let position = format!(" at line {} column {}", error.line(), error.column());
    let message = error.to_string();
    let message = message.strip_suffix(&position).unwrap_or(&message);
    match error.classify() {
        serde_json::error::Category::Data => match message.rfind(", expected ") {
            Some(end) => {
                let (found, expected) = message.split_at(end);
                plain(&excerpt(found), &FOUND) + &plain(expected, &EXPECTED)
            }
            None => message.to_owned(),
        },
        _ => format!("malformed JSON at column {}: {message}", error.column()),
    }
}

/// Beginnings of messages of serde, and the words in their place.
const FOUND: [[&str; 2]; 3] = [
    ["invalid type: ", "it is "],
    ["invalid value: ", "it is "],
    ["unknown variant ", "unknown value "],
];

/// The ends of messages that name types of Rust, and the words in their place.
const EXPECTED: [[&str; 2]; 6] = [
    [", expected u32", ", expected an integer from 0 on"],
    [", expected u64", ", expected an integer from 0 on"],
    [", expected usize", ", expected an integer from 0 on"],
    [", expected f64", ", expected a number"],
    [", expected a sequence", ", expected an array"],
    [", expected a map", ", expected an object"],
];

fn plain(text: &str, words: &[[&str; 2]]) -> String {
    let found = words
        .iter()
        .find_map(|[own, plain]| Some((plain, text.strip_prefix(own)?)));
    found.map_or_else(|| text.to_owned(), |(plain, rest)| format!("{plain}{rest}"))
}
