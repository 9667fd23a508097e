//! The documents near a text, a document or a fingerprint: by bits and by words, and why.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use simdb::containment::{Containment, Weights};
use simdb::similarity::{Likeness, Resemblance};
use simdb::{Decision, DocId, Document, Fingerprint, Match, Normaliser, Similar, Snapshot};
use simdb_tools::formats::id_of_digits;

use super::marks::{marked, plain};
use super::{Section, Words, page, parts};
use crate::api::query::{ResolvedQuery, SimilarOptions, Sought, similar_to};
use crate::body::WholeBody;
use crate::error::ApiError;
use crate::server::Server;

/// The most matches by bits and by words that are shown.
const SHOWN: usize = 50;

/// The radius before the slider is moved.
const RADIUS: u32 = 3;

#[derive(Clone, Default, Deserialize)]
pub struct SearchQuery {
    #[serde(default)]
    by: SearchBy,
    #[serde(default)]
    q: String,
    radius: Option<u32>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SearchBy {
    #[default]
    Text,
    Key,
    Id,
    Fingerprint,
}

/// A search by a link.
pub async fn search(
    State(server): State<Arc<Server>>,
    headers: HeaderMap,
    query: Result<Query<SearchQuery>, QueryRejection>,
) -> Response {
    // A mistyped address is an empty query.
    let query = query.map(|Query(query)| query).unwrap_or_default();
    answer(&server, &headers, query).await
}

/// A search by the form, whose text may be longer than an address.
pub async fn search_form(
    State(server): State<Arc<Server>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let body = WholeBody::read(body, server.limits.body_bytes, &server.bodies).await;
    match body.and_then(|body| body.form::<SearchQuery>()) {
        Ok(mut query) => {
            // A form sends a line feed of a key as two characters.
            if query.by == SearchBy::Key {
                query.q = query.q.replace("\r\n", "\n");
            }
            answer(&server, &headers, query).await
        }
        Err(error) => page(Words::of(&headers), Section::Search, Err(error)),
    }
}

async fn answer(server: &Arc<Server>, headers: &HeaderMap, query: SearchQuery) -> Response {
    let words = Words::of(headers);
    let form = form(words, &query, server.database.settings().keys);
    let shown = match query.q.is_empty() {
        true => Ok(html! {}),
        false => {
            let shared = Arc::clone(server);
            let found = server
                .queries
                .run(move || show(&shared, words, &query))
                .await;
            found.and_then(|found| found)
        }
    };
    // A bad query leaves the form for a better one.
    let shown = shown.or_else(|error| match error.status.is_client_error() {
        true => Ok(html! { p role="alert" { (error.message) } }),
        false => Err(error),
    });
    page(
        words,
        Section::Search,
        shown.map(|shown| html! { (form) (shown) }),
    )
}

fn form(words: &Words, query: &SearchQuery, has_keys: bool) -> Markup {
    let radius = query.radius.unwrap_or(RADIUS).min(Fingerprint::BITS);
    let choice = |by: SearchBy, value: &str, label: &str| {
        html! {
            label {
                input type="radio" name="by" value=(value) checked[query.by == by];
                " " (label)
            }
        }
    };
    html! {
        h1 { (words.search) }
        form action="/search" method="post" role="search" {
            textarea name="q" rows="3" required aria-label=(words.query) dir="auto" { (query.q) }
            fieldset {
                legend { (words.search_by) }
                (choice(SearchBy::Text, "text", words.text))
                @if has_keys { (choice(SearchBy::Key, "key", words.key_of_document)) }
                (choice(SearchBy::Id, "id", words.id))
                (choice(SearchBy::Fingerprint, "fingerprint", words.fingerprint))
            }
            label for="radius" { (words.radius) }
            input id="radius" name="radius" type="range" min="0" max="64" value=(radius);
            output for="radius" hidden { (radius) }
            button { (words.run_search) }
        }
    }
}

impl SearchQuery {
    fn sought(&self, words: &Words) -> Result<Sought, ApiError> {
        let q = self.q.trim();
        Ok(match self.by {
            SearchBy::Text => Sought::of_text(self.q.clone()),
            // A key may begin or end with a blank.
            SearchBy::Key => Sought::of_document(self.q.as_str().into()),
            SearchBy::Id => {
                let id = id_of_digits(q).map_err(|_| ApiError::bad_request(words.not_an_id))?;
                Sought::of_document(id.into())
            }
            SearchBy::Fingerprint => {
                let fingerprint = q.to_lowercase().parse();
                Sought::of_fingerprint(
                    fingerprint.map_err(|_| ApiError::bad_request(words.not_a_fingerprint))?,
                )
            }
        })
    }
}

/// A document near the query, and how it was found.
#[derive(Default)]
struct Near {
    by_bits: Option<Match>,
    by_words: Option<Similar>,
}

fn show(server: &Server, words: &Words, query: &SearchQuery) -> Result<Markup, ApiError> {
    let radius = query.radius.unwrap_or(RADIUS).min(Fingerprint::BITS);
    let snapshot = server.database.snapshot()?;
    let resolved =
        query
            .sought(words)?
            .resolve(server, &snapshot)
            .map_err(|error| match error.kind {
                "not_stored" if query.by == SearchBy::Key => {
                    ApiError::bad_request(words.no_such_key)
                }
                "not_stored" => ApiError::bad_request(words.not_stored),
                _ => error,
            })?;
    let near = all_near(server, &snapshot, &resolved, radius)?;
    let shown = Shown {
        words,
        query: &resolved,
        radius,
        keeps_texts: server.database.settings().keep_texts,
    };
    let (order, is_cut) = shown.order(&near);
    let counts = [
        (
            words.strict,
            near.values().filter(|near| near.by_bits.is_some()).count(),
        ),
        (
            words.similar,
            near.values().filter(|near| near.by_words.is_some()).count(),
        ),
    ];
    let mut cards = Vec::new();
    for id in order {
        if let (Some(near), Some(document)) = (near.get(&id), snapshot.get(id)?) {
            cards.push(shown.card(near, &document));
        }
    }
    Ok(html! {
        (shown.query())
        h2 { @for (index, (name, count)) in counts.iter().enumerate() { @if index > 0 { " · " } (name) " " (count) } }
        @if near.is_empty() { p { (words.no_matches) } }
        @for card in &cards { (card) }
        @if is_cut { p.note { (words.more_matches) } }
    })
}

/// All documents near the query, at most [`SHOWN`] and one more by bits, and those whose texts are
/// alike.
fn all_near(
    server: &Server,
    snapshot: &Snapshot,
    query: &ResolvedQuery,
    radius: u32,
) -> Result<BTreeMap<DocId, Near>, ApiError> {
    let mut near: BTreeMap<DocId, Near> = BTreeMap::new();
    if let Some(made) = query.made.filter(|made| made.reliable) {
        let found = snapshot.within_limit(made.fingerprint, radius, SHOWN + 2)?;
        for one in found.into_iter().filter(|one| Some(one.id) != query.id) {
            near.entry(one.id).or_default().by_bits = Some(one);
        }
    }
    if server.database.settings().keep_texts && query.text.is_some() {
        for one in similar_to(server, snapshot, query, &SimilarOptions::default())? {
            let id = one.id;
            near.entry(id).or_default().by_words = Some(one);
        }
        // Texts that are alike and have words of their own: they are shown with the reason.
        let alike = SimilarOptions {
            decision: Decision::Alike,
            ..SimilarOptions::default()
        };
        for one in similar_to(server, snapshot, query, &alike)?
            .into_iter()
            .take(SHOWN)
        {
            near.entry(one.id).or_default();
        }
    }
    Ok(near)
}

/// The matches of one query.
struct Shown<'a> {
    words: &'a Words,
    query: &'a ResolvedQuery,
    radius: u32,
    keeps_texts: bool,
}

impl Shown<'_> {
    /// The documents to show, those that both searches have found first, and `true` if some are
    /// left out.
    fn order(&self, near: &BTreeMap<DocId, Near>) -> (Vec<DocId>, bool) {
        let mut ids: Vec<_> = near.iter().collect();
        ids.sort_by(|(_, a), (_, b)| {
            let rank = |near: &Near| {
                let ways = u8::from(near.by_bits.is_some()) + u8::from(near.by_words.is_some());
                let distance = near.by_bits.map_or(u32::MAX, |found| found.distance);
                (2 - ways, near.by_words.is_none(), distance)
            };
            rank(a).cmp(&rank(b))
        });
        let is_cut = ids.len() > SHOWN;
        (
            ids.into_iter().take(SHOWN).map(|(id, _)| *id).collect(),
            is_cut,
        )
    }

    fn query(&self) -> Markup {
        let Self { words, query, .. } = self;
        html! {
            article.document {
                p.head {
                    (words.query) " "
                    @match (&query.key, query.id) {
                        (Some(key), _) => { bdi { (key) } " " },
                        (None, Some(id)) => { (id) " " },
                        (None, None) => {},
                    }
                    @if let Some(made) = query.made {
                        code { (made.fingerprint) }
                        @if !made.reliable { " " span.note { (words.unreliable) } }
                    }
                }
                @if let Some(text) = query.text.as_ref().filter(|_| query.id.is_some()) {
                    p.text dir="auto" { (plain(words, text)) }
                }
            }
        }
    }

    /// A document, its differences from the query, and why each search has found it or not.
    fn card(&self, near: &Near, document: &Document) -> Markup {
        let words = self.words;
        let texts = self.query.text.as_deref().zip(document.text.as_deref());
        let compared = texts.map(|(query, stored)| {
            Containment::with_resemblance(&Normaliser::new(), Weights::builtin(), query, stored)
        });
        html! {
            article.match {
                (parts::head(words, document))
                (parts::fields(document))
                (self.why_strict(near, document))
                (self.why_similar(near, compared.as_ref()))
                @if let Some((query, stored)) = texts {
                    @let [query, stored] = marked(words, query, stored);
                    div.sides {
                        div { h3 { (words.query) } p.text dir="auto" { (query) } }
                        div { h3 { (words.stored_text) } p.text dir="auto" { (stored) } }
                    }
                } @else if let Some(text) = &document.text {
                    p.text dir="auto" { (plain(words, text)) }
                } @else {
                    p.note { (words.no_text) }
                }
                @if let Some((found, _)) = &compared {
                    (parts::missing(words, words.loses_query, &found.missing_in_b))
                    (parts::missing(words, words.loses_stored, &found.missing_in_a))
                }
                @if let Some(made) = self.query.made {
                    (parts::bits(words, document.fingerprint, made.fingerprint))
                }
            }
        }
    }

    fn why_strict(&self, near: &Near, document: &Document) -> Markup {
        let words = self.words;
        let made = self.query.made;
        let is_reliable = made.is_some_and(|made| made.reliable);
        let distance = made.map(|made| made.fingerprint.distance(document.fingerprint));
        let blocks = made.map(|made| parts::equal_blocks(made.fingerprint, document.fingerprint));
        html! {
            p.why {
                (badge(words, words.strict, near.by_bits.is_some()))
                @if let Some(distance) = distance.filter(|_| is_reliable && document.reliable) {
                    @let relation = if distance <= self.radius { words.at_most } else { words.more_than };
                    (parts::counted(distance.into(), words.bits_differ)) ", " (relation) " " (self.radius)
                    @if let Some(blocks) = blocks.filter(|_| distance <= self.radius) {
                        "; "
                        @if blocks.is_empty() { (words.no_equal_block) } @else {
                            (words.equal_blocks) " "
                            @for block in blocks { (block) " " }
                        }
                    }
                } @else if is_reliable {
                    (words.document_unreliable)
                } @else {
                    (words.query_unreliable)
                }
            }
        }
    }

    fn why_similar(&self, near: &Near, compared: Option<&(Containment, Resemblance)>) -> Markup {
        let words = self.words;
        let reason = match (&near.by_words, compared) {
            (_, None) if !self.keeps_texts => words.no_texts,
            (_, None) => words.no_text_to_compare,
            (Some(found), _) => found
                .verdict()
                .map_or("", |verdict| parts::verdict(words, verdict)),
            (None, Some((_, resemblance))) if !resemblance.is_enough(&Likeness::default()) => {
                words.too_different
            }
            (None, Some((found, _))) if !found.verdict.is_removable() => words.not_covered,
            (None, Some(_)) => words.not_candidate,
        };
        html! {
            p.why {
                (badge(words, words.similar, near.by_words.is_some())) (reason)
                @if let Some((_, resemblance)) = compared {
                    "; "
                    @if let Some(share) = resemblance.edit_similarity {
                        (words.edit_similarity) " " (format!("{share:.2}")) ", "
                    }
                    (words.jaccard) " " (format!("{:.2}", resemblance.jaccard))
                }
            }
        }
    }
}

fn badge(words: &Words, name: &str, is_found: bool) -> Markup {
    html! {
        span.badge.yes[is_found] { (name) ": " (if is_found { words.found } else { words.not_found }) } " "
    }
}
