//! Cases of `simdb-cli recipe test`: a line of JSON each, read field by field.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use serde_json::{Map, Value};

use crate::commands::json_object::object;
use crate::formats::input::{LineReader, Source};
use crate::formats::{MAX_LINE_BYTES, utf8};

/// A case: a text or features, and what other software made of it.
pub(super) struct Case {
    /// Its line in the file, counted from 1.
    pub line: u64,
    fields: Map<String, Value>,
}

/// All cases of a file, at least one; .gz and .zst are read through, `-` is standard input.
pub(super) fn cases(path: &Path) -> Result<Vec<Case>> {
    let input = Source::new(path)?.open(&Default::default())?;
    let name = input.name.clone();
    let mut lines = LineReader::new(input, MAX_LINE_BYTES)?;
    let mut cases = Vec::new();
    while let Some((line, bytes)) = lines.next_not_blank()? {
        match bytes.and_then(utf8).and_then(object) {
            Ok(fields) => cases.push(Case { line, fields }),
            Err(reason) => bail!("cannot read {name}:{line}: {reason}"),
        }
    }
    if cases.is_empty() {
        bail!("cannot read {name}: there is no case in it");
    }
    Ok(cases)
}

impl Case {
    /// Whether it has this field.
    pub fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    /// The names of its fields that start so, without that start.
    pub fn ends_of_names<'c>(&'c self, start: &'c str) -> impl Iterator<Item = &'c str> {
        self.fields
            .keys()
            .filter_map(move |name| name.strip_prefix(start))
    }

    pub fn text(&self, name: &str) -> Result<&str> {
        self.value(name)?
            .as_str()
            .ok_or_else(|| self.wrong(name, "a string"))
    }

    /// A number of up to 128 bits, in a string as a rule.
    pub fn bits(&self, name: &str) -> Result<u128> {
        bits(self.value(name)?).ok_or_else(|| self.wrong(name, "a whole number"))
    }

    pub fn texts(&self, name: &str) -> Result<Vec<&str>> {
        let texts = self
            .list(name)?
            .iter()
            .map(Value::as_str)
            .collect::<Option<_>>();
        texts.ok_or_else(|| self.wrong(name, "a list of strings"))
    }

    /// Tokens with their hashes: a list of pairs, or an object.
    pub fn hashes(&self, name: &str) -> Result<Vec<(&str, u128)>> {
        let hashes: Option<Vec<_>> = match self.value(name)? {
            Value::Object(object) => {
                let pairs = object
                    .iter()
                    .map(|(token, hash)| Some((token.as_str(), bits(hash)?)));
                pairs.collect()
            }
            Value::Array(pairs) => pairs
                .iter()
                .map(|pair| {
                    let (token, hash) = two(pair)?;
                    Some((token.as_str()?, bits(hash)?))
                })
                .collect(),
            _ => None,
        };
        hashes.ok_or_else(|| self.wrong(name, "tokens and hashes"))
    }

    /// Tokens with their weights. One that stands alone has the weight of the one before it, or 1:
    /// so reads the Python package.
    pub fn weights(&self, name: &str) -> Result<Vec<(&str, f64)>> {
        let mut last = 1.0;
        let weights = self.list(name)?.iter().map(|item| {
            if let Some((_, weight)) = two(item) {
                last = weight.as_f64()?;
            }
            let token = two(item).map_or(item, |(token, _)| token);
            Some((token.as_str()?, last))
        });
        let weights = weights.collect::<Option<_>>();
        weights.ok_or_else(|| self.wrong(name, "a list of [token, weight]"))
    }

    fn list(&self, name: &str) -> Result<&Vec<Value>> {
        self.value(name)?
            .as_array()
            .ok_or_else(|| self.wrong(name, "a list"))
    }

    fn value(&self, name: &str) -> Result<&Value> {
        let value = self.fields.get(name);
        value.ok_or_else(|| anyhow!("line {}: there is no field {name:?}", self.line))
    }

    fn wrong(&self, name: &str, expected: &str) -> anyhow::Error {
        anyhow!("line {}: field {name:?}: {expected} is expected", self.line)
    }
}

fn bits(value: &Value) -> Option<u128> {
    match value {
        Value::String(digits) => digits.parse().ok(),
        number => number.as_u64().map(u128::from),
    }
}

fn two(value: &Value) -> Option<(&Value, &Value)> {
    match value.as_array()?.as_slice() {
        [one, two] => Some((one, two)),
        _ => None,
    }
}
