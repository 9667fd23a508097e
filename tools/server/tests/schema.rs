//! Answers compared with `openapi.json`.

use std::sync::LazyLock;

use serde_json::Value;

use crate::common::Answered;

static OPENAPI: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../src/api/openapi.json")).expect("openapi.json")
});

/// Checks that the answer to a request is described.
#[track_caller]
pub fn check_answer(method: &str, path: &str, answered: &Answered) {
    let path = path.split('?').next().unwrap_or_default();
    let found = OPENAPI["paths"].as_object().expect("paths").iter();
    let found = found.filter(|(described, _)| is_path(described, path));
    // A path without parameters is meant rather than a path with one.
    let Some((_, operations)) = found.min_by_key(|(described, _)| described.contains('{')) else {
        return;
    };
    let Some(operation) = operations.get(method.to_lowercase()) else {
        return;
    };
    let responses = &operation["responses"];
    let response = responses
        .get(answered.status.to_string())
        .unwrap_or(&responses["default"]);
    let media_type = answered
        .head
        .lines()
        .find_map(|line| line.strip_prefix("content-type: "));
    let media_type = media_type
        .and_then(|value| value.split(';').next())
        .unwrap_or_default();
    let schema = &response["content"][media_type]["schema"];
    assert!(
        schema.is_object(),
        "{method} {path} has undescribed {media_type}: {answered:?}"
    );
    match media_type {
        "application/json" => check(schema, &answered.json(), path),
        "application/x-ndjson" => {
            for line in answered.body.lines() {
                check(schema, &serde_json::from_str(line).expect("JSON"), path);
            }
        }
        _ => {}
    }
}

fn is_path(described: &str, path: &str) -> bool {
    let (described, path): (Vec<_>, Vec<_>) =
        (described.split('/').collect(), path.split('/').collect());
    let is_part =
        |(described, part): (&&str, &&str)| described.starts_with('{') || described == part;
    described.len() == path.len() && described.iter().zip(&path).all(is_part)
}

#[track_caller]
fn check(schema: &Value, value: &Value, place: &str) {
    let reason = mismatch(schema, value, place);
    assert!(reason.is_none(), "{}: {value}", reason.unwrap_or_default());
}

/// The first difference between a value and its schema.
fn mismatch(schema: &Value, value: &Value, place: &str) -> Option<String> {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let schema = OPENAPI
            .pointer(name.trim_start_matches('#'))
            .expect("a schema");
        return mismatch(
            schema,
            value,
            &format!("{place}/{}", name.rsplit('/').next().unwrap_or_default()),
        );
    }
    if let Some(any) = schema.get("anyOf").and_then(Value::as_array) {
        let reasons: Vec<_> = any
            .iter()
            .map(|schema| mismatch(schema, value, place))
            .collect();
        let all = reasons
            .iter()
            .flatten()
            .cloned()
            .collect::<Vec<_>>()
            .join(" | ");
        return reasons.iter().all(Option::is_some).then_some(all);
    }
    let is_type = |name: &Value| match name.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("number") => value.is_number(),
        Some("null") => value.is_null(),
        _ => false,
    };
    let is_any = match &schema["type"] {
        Value::Array(names) => names.iter().any(is_type),
        name => is_type(name),
    };
    if !is_any {
        return Some(format!("{place} is no {}", schema["type"]));
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array)
        && !values.contains(value)
    {
        return Some(format!("{place} has no value {value}"));
    }
    match value {
        Value::Array(items) => items
            .iter()
            .find_map(|item| mismatch(&schema["items"], item, place)),
        Value::Object(fields) => {
            let properties = schema.get("properties").and_then(Value::as_object)?;
            let required = schema["required"].as_array().into_iter().flatten();
            let mut missing = required
                .filter_map(Value::as_str)
                .filter(|name| !fields.contains_key(*name));
            if let Some(name) = missing.next() {
                return Some(format!("{place} lacks {name}"));
            }
            fields
                .iter()
                .find_map(|(name, field)| match properties.get(name) {
                    Some(schema) => mismatch(schema, field, &format!("{place}/{name}")),
                    None => Some(format!("{place} has an undescribed {name}")),
                })
        }
        _ => None,
    }
}
