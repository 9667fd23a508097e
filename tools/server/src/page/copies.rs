//! The documents with the most copies of the last hours.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use simdb::copies::{Copies, Sighting, SightingKind};
use simdb::{DocRef, Document};
use simdb_tools::console::grouped;

use super::marks::plain;
use super::{Section, Words, page, parts};
use crate::api::top::most_copied;
use crate::server::Server;

/// The documents that are shown.
const SHOWN: usize = 30;

/// The hours before others are chosen, and at most a year.
const HOURS: u64 = 24;
const MAX_HOURS: u64 = 24 * 366;

#[derive(Clone, Default, Deserialize)]
pub struct CopiesQuery {
    hours: Option<u64>,
}

pub async fn copies(
    State(server): State<Arc<Server>>,
    headers: HeaderMap,
    query: Result<Query<CopiesQuery>, QueryRejection>,
) -> Response {
    let words = Words::of(&headers);
    // A mistyped address is an empty query.
    let query = query.map(|Query(query)| query).unwrap_or_default();
    let hours = query.hours.unwrap_or(HOURS).clamp(1, MAX_HOURS);
    let shown = match server.database.settings().copies {
        None => Ok(html! { h1 { (words.copies) } p { (words.copies_off) } }),
        Some(_) => {
            let shared = Arc::clone(&server);
            let most = move || {
                most_copied(
                    &shared.database.snapshot()?,
                    SHOWN,
                    Some((hours * 60 * 60) as f64),
                )
            };
            let most = server.queries.run(most).await;
            let most = most.and_then(|most| most);
            most.map(|documents| show(words, hours, &documents))
        }
    };
    page(words, Section::Copies, shown)
}

fn show(words: &Words, hours: u64, documents: &[Document]) -> Markup {
    html! {
        h1 { (words.copies) }
        p { (words.copies_intro) }
        form action="/copies" method="get" {
            label for="hours" { (words.hours) }
            input id="hours" name="hours" type="number" min="1" max=(MAX_HOURS) value=(hours);
            button { (words.show) }
        }
        div.results {
            @if documents.is_empty() { p { (words.no_copies) } }
            @for document in documents {
                @if let Some(copies) = &document.copies { (story(words, document, copies)) }
            }
        }
    }
}

fn story(words: &Words, document: &Document, copies: &Copies) -> Markup {
    html! {
        article.group {
            h2 { (parts::counted(copies.count, words.copies_of_document)) }
            p.head {
                (parts::link(&document.doc_ref()))
                @if let Some(scope) = &document.scope { " " span.word { bdi { (scope) } } }
                " " span.note {
                    (words.first_seen) " " (parts::time(copies.first_seen)) ", "
                    (words.last_seen) " " (parts::time(copies.last_seen))
                }
            }
            @if let Some(text) = &document.text { p.text dir="auto" { (plain(words, text)) } }
            (parts::fields(document))
            (show_sources(words, copies))
            (parts::bar_plot(words.copies_plot, &over_time(copies), &[]))
            @if let Some(first) = copies.newest.iter().map(|sighting| sighting.seen).min() {
                p.axis { (parts::time(first)) (parts::time(copies.last_seen)) }
            }
            details {
                summary { (words.newest_copies) }
                ul { @for sighting in copies.newest.iter().take(SIGHTINGS_SHOWN) { (show_sighting(words, sighting)) } }
            }
        }
    }
}

/// The most newest copies and sources of a document that are shown.
const SIGHTINGS_SHOWN: usize = 20;
const SOURCES_SHOWN: usize = 8;

fn show_sighting(words: &Words, sighting: &Sighting) -> Markup {
    html! {
        li {
            (parts::time(sighting.seen)) " "
            @match &sighting.document {
                DocRef::Id(id) => { (id) },
                DocRef::Key(key) => bdi { (key) },
            }
            " " span.note {
                @match sighting.kind {
                    SightingKind::Duplicate { distance } => { (parts::counted(distance.into(), words.bits_differ)) },
                    SightingKind::Same => { (words.same) },
                    SightingKind::AInB => { (words.a_in_b) },
                    SightingKind::SameBody => { (words.same_body) },
                    SightingKind::Alike => { (words.alike) },
                }
            }
        }
    }
}

/// The hosts of the stored copies whose keys are addresses, those with the most copies first.
fn show_sources(words: &Words, copies: &Copies) -> Markup {
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for sighting in &copies.newest {
        if let DocRef::Key(key) = &sighting.document
            && let Some(host) = host(key)
        {
            *counts.entry(host).or_default() += 1;
        }
    }
    let mut sources: Vec<_> = counts.into_iter().collect();
    sources.sort_unstable_by_key(|(host, count)| (Reverse(*count), *host));
    html! {
        @if !sources.is_empty() {
            p.missing {
                (words.sources) ": "
                @for (host, count) in sources.iter().take(SOURCES_SHOWN) {
                    span.word { bdi { (host) } " " small { (grouped(*count)) } } " "
                }
                @if sources.len() > SOURCES_SHOWN {
                    span.note { (parts::counted((sources.len() - SOURCES_SHOWN) as u64, words.other_sources)) }
                }
            }
        }
    }
}

/// The host of a key that is an address, such as `https://example.org/a`.
fn host(key: &str) -> Option<&str> {
    let (_, rest) = key.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    (!host.is_empty()).then_some(host)
}

/// The parts of the time from the first to the last stored copy that have a bar.
const BARS: u64 = 24;

/// The stored copies by time, each bar with the time at its start.
fn over_time(copies: &Copies) -> Vec<(String, f64)> {
    let times = || copies.newest.iter().map(|sighting| sighting.seen.0);
    let (Some(first), Some(last)) = (times().min(), times().max()) else {
        return Vec::new();
    };
    let width = (last - first) / BARS + 1;
    let mut counts = [0; BARS as usize];
    for time in times() {
        counts[((time - first) / width) as usize] += 1;
    }
    let bar = |(index, count): (u64, &i32)| {
        let start = simdb::Timestamp(first.saturating_add(index * width));
        (start.to_string(), f64::from(*count))
    };
    (0..).zip(&counts).map(bar).collect()
}

#[cfg(test)]
mod tests {
    use simdb::Timestamp;

    use super::*;

    #[test]
    fn host_is_read_of_addresses_only() {
        for (key, expected) in [
            ("https://example.org/a?b", Some("example.org")),
            ("http://user@a.example:80", Some("a.example:80")),
            ("gopher://新闻.example#x", Some("新闻.example")),
            ("https:///a", None),
            ("17", None),
            ("", None),
        ] {
            assert_eq!(host(key), expected, "{key}");
        }
    }

    fn copies_at(times: &[u64]) -> Copies {
        let sighting = |time: &u64| Sighting {
            document: (*time).into(),
            seen: Timestamp(*time),
            kind: SightingKind::Same,
        };
        Copies {
            count: times.len() as u64,
            first_seen: Timestamp(*times.iter().min().unwrap()),
            last_seen: Timestamp(*times.iter().max().unwrap()),
            newest: times.iter().map(sighting).collect(),
        }
    }

    #[test]
    fn each_stored_copy_is_in_one_bar() {
        for times in [
            &[5][..],
            &[9, 5, 5],
            &[1_000_000, 40, 41],
            &[u64::MAX, 0, 7],
        ] {
            let bars = over_time(&copies_at(times));
            assert_eq!(bars.len() as u64, BARS);
            let sum: f64 = bars.iter().map(|(_, count)| count).sum();
            assert_eq!(sum, times.len() as f64, "{times:?}");
            assert!(bars[0].1 >= 1.0, "{times:?}");
        }
    }
}
