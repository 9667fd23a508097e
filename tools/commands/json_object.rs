//! Files of JSON objects whose fields depend on options.

use std::path::Path;

use anyhow::{anyhow, ensure};
use serde::de::{Deserializer, IgnoredAny};
use serde_json::{Map, Value};

use crate::formats::input::{LineReader, Source};
use crate::formats::json_reason::reason_of;
use crate::formats::jsonl::UniqueFields;
use crate::formats::{MAX_LINE_BYTES, utf8};

/// Calls `take` with the line number and the object of each line of JSON Lines; `-` is standard
/// input. A line that is no object, or that `take` refuses, is an error, and so is a file without
/// lines.
pub(super) fn for_each_object(
    path: &Path,
    mut take: impl FnMut(u64, Map<String, Value>) -> Result<(), String>,
) -> anyhow::Result<()> {
    let input = Source::new(path)?.open(&Default::default())?;
    let name = input.name.clone();
    let mut lines = LineReader::new(input, MAX_LINE_BYTES)?;
    let mut is_empty = true;
    while let Some((number, line)) = lines.next_not_blank()? {
        let taken = line
            .and_then(utf8)
            .and_then(object)
            .and_then(|fields| take(number, fields));
        taken.map_err(|reason| anyhow!("cannot read {name}:{number}: {reason}"))?;
        is_empty = false;
    }
    ensure!(!is_empty, "cannot read {name}: there is nothing in it");
    Ok(())
}

/// The object of a line, or the reason why the line has none.
pub(super) fn object(line: &str) -> Result<Map<String, Value>, String> {
    if !line.trim_start().starts_with('{') {
        let other = serde_json::from_str::<IgnoredAny>(line);
        return Err(match other {
            Ok(_) => "it is not a JSON object".to_owned(),
            Err(error) => reason_of(&error),
        });
    }
    let mut json = serde_json::Deserializer::from_str(line);
    let fields = json.deserialize_map(UniqueFields);
    let fields = fields.and_then(|fields| json.end().map(|()| fields));
    fields.map_err(|error| reason_of(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_or_repeated_field_is_refused() {
        let fields = object(r#" {"a":1,"b":[{"a":2}]} "#).unwrap();
        assert_eq!(fields["b"][0]["a"], 2);
        let nested = format!("{{\"a\":{}", "[".repeat(100_000));
        for (line, said) in [
            (r#"{"a":1,"a":1}"#, "field \"a\" is there twice"),
            ("[1]", "it is not a JSON object"),
            ("1e400", "it is not a JSON object"),
            ("{\"a\":1e400}", "malformed JSON at column 10"),
            ("{\"a\":1} x", "malformed JSON"),
            ("{\"a\":1", "malformed JSON"),
            ("{\"a\":\"\0\"}", "malformed JSON"),
            ("", "malformed JSON"),
            (&nested, "recursion limit"),
        ] {
            let reason = object(line).unwrap_err();
            assert!(reason.contains(said) && reason.len() < 200, "{reason}");
        }
    }
}
