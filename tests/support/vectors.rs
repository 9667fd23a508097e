//! Test vectors from other software, in `tests/data/vectors`.

use std::path::Path;

use serde_json::Value;

/// All cases of a file.
pub fn cases(name: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/vectors");
    let text = std::fs::read_to_string(folder.join(name)).expect("a file of cases");
    let cases = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a case"));
    cases.collect()
}

/// A number of up to 128 bits, stored as a string.
pub fn bits(value: &Value) -> u128 {
    value.as_str().expect("digits").parse().expect("a number")
}

/// Tokens with weights. A token without a weight has weight 1.
pub fn weights(list: &Value) -> Vec<(String, f64)> {
    let weight = |item: &Value| match item.as_str() {
        Some(token) => (token.to_owned(), 1.0),
        None => (
            item[0].as_str().expect("a token").to_owned(),
            item[1].as_f64().expect("a weight"),
        ),
    };
    list.as_array()
        .expect("a list")
        .iter()
        .map(weight)
        .collect()
}

/// Tokens with hashes, from a list or an object.
pub fn pairs(value: &Value) -> Vec<(String, u128)> {
    match value {
        Value::Object(object) => object
            .iter()
            .map(|(token, hash)| (token.clone(), bits(hash)))
            .collect(),
        list => list
            .as_array()
            .expect("a list")
            .iter()
            .map(|pair| {
                (
                    pair[0].as_str().expect("a token").to_owned(),
                    bits(&pair[1]),
                )
            })
            .collect(),
    }
}
