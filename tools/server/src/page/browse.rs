//! The documents, the largest id first.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use simdb_tools::formats::id_of_digits;

use super::{Section, Words, page, parts};
use crate::api::documents::{Order, page_of};
use crate::error::ApiError;
use crate::server::Server;

/// The documents of a page.
const SHOWN: usize = 50;

#[derive(Default, Deserialize)]
pub struct BrowseQuery {
    /// The largest id of the page.
    from: Option<String>,
}

pub async fn browse(
    State(server): State<Arc<Server>>,
    headers: HeaderMap,
    query: Result<Query<BrowseQuery>, QueryRejection>,
) -> Response {
    let words = Words::of(&headers);
    // A mistyped address is an empty query.
    let query = query.map(|Query(query)| query).unwrap_or_default();
    let shared = Arc::clone(&server);
    let shown = server
        .queries
        .run(move || show(&shared, words, &query))
        .await;
    page(words, Section::Browse, shown.and_then(|shown| shown))
}

fn show(server: &Server, words: &Words, query: &BrowseQuery) -> Result<Markup, ApiError> {
    let from = query.from.as_deref().filter(|from| !from.is_empty());
    let from = from
        .map(id_of_digits)
        .transpose()
        .map_err(|_| ApiError::bad_request(words.not_an_id))?;
    let snapshot = server.database.snapshot()?;
    let (documents, next) = page_of(&snapshot, from, Order::Descending, SHOWN)?;
    Ok(html! {
        h1 { (words.browse) }
        p.note { (parts::counted(snapshot.stored_len(), words.members)) ", " (words.by_id) }
        @if documents.is_empty() {
            p { (if from.is_some() { words.no_further_document } else { words.no_documents }) }
        }
        @for document in &documents {
            (parts::document(words, document))
        }
        nav.pages {
            @if from.is_some() { a href="/" { (words.newer) } }
            @if let Some(next) = next { a href={ "/?from=" (next) } rel="next" { (words.older) } }
        }
    })
}
