//! The cases of `simdb-cli recipe test`: lines of JSON, parsed field by field.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use anyhow::{Result, anyhow};
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _};
use serde_json::{Map, Value};

use crate::commands::json_object::for_each_object;
use crate::options::OnError;

/// A text or features, and the fingerprints that other software made of them.
pub(super) struct Case {
    pub line: u64,
    fields: Map<String, Value>,
}

/// Reads the cases of a file; .gz and .zst are read through, `-` is standard input.
pub(super) fn cases(path: &Path) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for_each_object(path, OnError::Abort, |line, fields| {
        cases.push(Case { line, fields });
        Ok(())
    })?;
    Ok(cases)
}

/// A number of up to 128 bits, usually in a string.
struct Bits(u128);

impl<'de> Deserialize<'de> for Bits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bits = match Value::deserialize(deserializer)? {
            Value::String(digits) => digits.parse().ok(),
            number => number.as_u64().map(u128::from),
        };
        bits.map(Self)
            .ok_or_else(|| D::Error::custom("a whole number is expected"))
    }
}

#[derive(serde::Deserialize)]
#[serde(untagged, expecting = "tokens and hashes are expected")]
enum Hashes {
    Object(BTreeMap<String, Bits>),
    List(Vec<(String, Bits)>),
}

#[derive(serde::Deserialize)]
#[serde(untagged, expecting = "a list of [token, weight] is expected")]
enum Weighted {
    Pair(String, f64),
    Token(String),
}

impl Case {
    pub fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    /// The field names that start with `start`, without `start`.
    pub fn ends_of_names<'c>(&'c self, start: &'c str) -> impl Iterator<Item = &'c str> {
        let names = self.fields.keys();
        names.filter_map(move |name| name.strip_prefix(start))
    }

    pub fn text(&self, name: &str) -> Result<&str> {
        let text = self.value(name)?.as_str();
        text.ok_or_else(|| self.wrong(name, "a string is expected"))
    }

    pub fn texts(&self, name: &str) -> Result<Vec<String>> {
        self.get(name)
    }

    pub fn bits(&self, name: &str) -> Result<u128> {
        self.get(name).map(|Bits(bits)| bits)
    }

    /// Tokens with their hashes: a list of pairs, or an object. None if the field is missing.
    pub fn hashes(&self, name: &str) -> Result<Vec<(String, u128)>> {
        if !self.has(name) {
            return Ok(Vec::new());
        }
        let hashes: Vec<_> = match self.get(name)? {
            Hashes::Object(object) => object.into_iter().collect(),
            Hashes::List(list) => list,
        };
        let hashes = hashes.into_iter().map(|(token, Bits(hash))| (token, hash));
        Ok(hashes.collect())
    }

    /// Tokens with their weights. A token without a weight has the weight of the token before it,
    /// or 1, as in the Python package.
    pub fn weights(&self, name: &str) -> Result<Vec<(String, f64)>> {
        let mut last = 1.0;
        let weights = self
            .get::<Vec<Weighted>>(name)?
            .into_iter()
            .map(|item| match item {
                Weighted::Pair(token, weight) => {
                    last = weight;
                    (token, weight)
                }
                Weighted::Token(token) => (token, last),
            });
        Ok(weights.collect())
    }

    fn get<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        T::deserialize(self.value(name)?).map_err(|error| self.wrong(name, error))
    }

    fn value(&self, name: &str) -> Result<&Value> {
        let value = self.fields.get(name);
        value.ok_or_else(|| anyhow!("line {}: there is no field {name:?}", self.line))
    }

    fn wrong(&self, name: &str, reason: impl Display) -> anyhow::Error {
        anyhow!("line {}: field {name:?}: {reason}", self.line)
    }
}
