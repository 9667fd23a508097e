//! Whole JSON objects, for files whose fields are not known beforehand.

use std::fmt;

use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::formats::excerpt;
use crate::formats::jsonl::reason_of;

/// The object that a line holds, or what is wrong with the line. Readers of JSON disagree about which
/// of two fields with one name counts, so there must not be two.
pub(super) fn object(line: &str) -> Result<Map<String, Value>, String> {
    let mut json = serde_json::Deserializer::from_str(line);
    let fields = if line.trim_start().starts_with('{') {
        json.deserialize_map(AnyObject).map(Some)
    } else {
        serde_json::from_str::<IgnoredAny>(line).map(|_| None)
    };
    let fields = fields.and_then(|fields| match fields {
        None => Ok(None),
        fields => json.end().map(|()| fields),
    });
    match fields {
        Ok(Some(fields)) => Ok(fields),
        Ok(None) => Err("it is not a JSON object".to_owned()),
        Err(error) => Err(reason_of(&error)),
    }
}

struct AnyObject;

impl<'de> Visitor<'de> for AnyObject {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            if fields.contains_key(&name) {
                let name = excerpt(&name);
                return Err(A::Error::custom(format!("field {name:?} is there twice")));
            }
            fields.insert(name, map.next_value()?);
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_read_whole_or_refused() {
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
