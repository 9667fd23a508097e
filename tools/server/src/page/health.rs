//! The findings of `simdb-cli doctor` as pictures, and the last hour of the server.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use serde_json::Value;
use simdb::DocId;
use simdb_tools::console::{grouped, size};

use super::parts::{bar_plot, counted, line_plot};
use super::{Section, Words, streamed_page};
use crate::api::operations::examine;
use crate::error::ApiError;
use crate::history::Moment;
use crate::server::Server;

pub async fn health(State(server): State<Arc<Server>>, headers: HeaderMap) -> Response {
    let words = Words::of(&headers);
    let start = html! { h1 { (words.health) } (last_hour(words, &server.history.moments())) };
    streamed_page(
        server,
        words,
        Section::Health,
        start,
        move |server, page| {
            page.send(&html! { p.progress role="status" { (words.examining) "…" } });
            examined(server, words)
        },
    )
}

fn last_hour(words: &Words, moments: &[Moment]) -> Markup {
    let plot = |name: &str, value: fn(&Moment) -> Option<f64>| {
        line_plot(
            &format!("{name}, {}", words.now_and_most),
            &moments.iter().map(value).collect::<Vec<_>>(),
        )
    };
    html! {
        section.plots aria-label=(words.last_hour) {
            @if moments.len() < 2 { p.note { (words.no_history) } } @else {
                (plot(words.growth, |moment| Some(moment.documents as f64)))
                (plot(words.unmerged, |moment| Some(moment.unmerged as f64)))
                (plot(words.latency, |moment| moment.commit_ms))
            }
        }
    }
}

fn examined(server: &Server, words: &Words) -> Result<Markup, ApiError> {
    let examination = examine(server)?;
    let bytes = std::fs::metadata(server.database.path()).map_or(0, |metadata| metadata.len());
    Ok(html! {
        div.results { (diagnosis(words, &examination.json(), bytes)) }
    })
}

/// The diagnosis of a database, as
/// [`Examination::json`](simdb_tools::reports::Examination::json) gives it.
pub fn diagnosis(words: &Words, report: &Value, file_bytes: u64) -> Markup {
    let unmerged = report["unmerged_changes"].as_u64().unwrap_or(0);
    let findings = report["findings"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    html! {
        h2 { (words.findings) }
        p {
            (counted(report["documents"].as_u64().unwrap_or(0), words.examined)) " "
            (size(file_bytes))
        }
        @if unmerged > 0 { p.note { (counted(unmerged, words.not_merged_note)) } }
        @if findings.is_empty() {
            p { (if unmerged > 0 { words.sound_so_far } else { words.sound }) }
        }
        @for finding in findings {
            article {
                p { strong { (text(&finding["finding"])) } ": " (text(&finding["says"])) }
                p.note { (text(&finding["advice"])) }
            }
        }
        h2 { (words.key_load) }
        p.note { (words.key_load_text) }
        div.plots {
            @for (index, block) in report["blocks"].as_array().into_iter().flatten().enumerate() {
                (key_load(&format!("{} {}", words.block, index + 1), &block["histogram"]))
            }
        }
        h2 { (words.ones) }
        p.note { (words.ones_text) }
        (ones(words, &report["ones"]))
        h2 { (words.hot_keys) }
        (hot_keys(words, &report["blocks"]))
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn key_load(name: &str, histogram: &Value) -> Markup {
    let bins = histogram.as_array().map(Vec::as_slice).unwrap_or_default();
    let label = |bin: &Value| match (bin["from"].as_u64(), bin["to"].as_u64()) {
        (Some(from), Some(to)) if from == to => from.to_string(),
        (Some(from), Some(to)) => format!("{from}-{to}"),
        (from, _) => format!("{}+", from.unwrap_or(0)),
    };
    let value = |bin: &Value, name: &str| bin[name].as_f64().unwrap_or(0.0);
    let bars: Vec<_> = bins
        .iter()
        .map(|bin| (label(bin), value(bin, "keys")))
        .collect();
    let expected: Vec<_> = bins
        .iter()
        .map(|bin| value(bin, "keys_if_random"))
        .collect();
    bar_plot(name, &bars, &expected)
}

fn ones(words: &Words, shares: &Value) -> Markup {
    let shares = shares.as_array().map(Vec::as_slice).unwrap_or_default();
    // The most significant bit first, as in a fingerprint.
    let bars = shares.iter().enumerate().rev();
    let bars: Vec<_> = bars
        .map(|(bit, share)| (bit.to_string(), share.as_f64().unwrap_or(0.0)))
        .collect();
    let half = vec![0.5; bars.len()];
    bar_plot(words.ones, &bars, &half)
}

fn hot_keys(words: &Words, blocks: &Value) -> Markup {
    let sample = |key: &Value| {
        let samples = key["samples"].as_array().into_iter().flatten();
        samples
            .map(|one| (one["id"].as_u64(), text(&one["text"]).to_owned()))
            .next()
    };
    html! {
        div.table { table {
            thead { tr { th { (words.block) } th { (words.key) } th { (words.fingerprints) } th { (words.documents) } th { (words.samples) } } }
            tbody {
                @for (index, block) in blocks.as_array().into_iter().flatten().enumerate() {
                    @for key in block["hottest"].as_array().into_iter().flatten().take(3) {
                        tr {
                            td { (index + 1) } td { code { (text(&key["key"])) } }
                            td { (grouped(key["distinct_fingerprints"].as_u64().unwrap_or(0))) }
                            td { (grouped(key["documents"].as_u64().unwrap_or(0))) }
                            td {
                                @if let Some((Some(id), text)) = sample(key) {
                                    (super::parts::id_link(DocId(id))) " " bdi { (text) }
                                }
                            }
                        }
                    }
                }
            }
        } }
    }
}
