//! The page, for people: server-rendered HTML, one style sheet, and a script without which
//! everything works.
//!
//! - `browse`, `search`, `groups`, `copies`, `review`, `health`: the sections
//! - `words`: the texts in English and in Chinese
//! - `marks`: two texts with their differences
//! - `parts`: what several sections show
//!
//! Templates escape by construction. Attributes `style` and handlers in HTML are forbidden by the
//! `Content-Security-Policy`, so plots are SVG with attributes.

pub mod browse;
pub mod copies;
pub mod groups;
pub mod health;
pub mod marks;
pub mod parts;
pub mod review;
pub mod search;
mod words;

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{ACCEPT, CACHE_CONTROL, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use tokio::sync::mpsc;

use crate::body::StreamedBody;
use crate::error::{ApiError, response_of};
use crate::server::Server;
pub use words::Words;

/// A section of the page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Section {
    Browse,
    Search,
    Groups,
    Copies,
    Review,
    Health,
}

type NameOf = fn(&Words) -> &'static str;

impl Section {
    /// Each with its path and its name, in the order of the variants.
    const ALL: [(Self, &'static str, NameOf); 6] = [
        (Self::Browse, "/", |words| words.browse),
        (Self::Search, "/search", |words| words.search),
        (Self::Groups, "/groups", |words| words.groups),
        (Self::Copies, "/copies", |words| words.copies),
        (Self::Review, "/review", |words| words.review),
        (Self::Health, "/health", |words| words.health),
    ];

    fn name(self, words: &Words) -> &'static str {
        (Self::ALL[self as usize].2)(words)
    }
}

/// A whole page of a section.
fn layout(words: &Words, section: Section, body: &Markup) -> Markup {
    framed(words, Some(section), section.name(words), body)
}

fn framed(words: &Words, section: Option<Section>, title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang=(words.language) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · simdb" }
                link rel="stylesheet" href="/style.css";
                // An icon of its own, since a browser asks for /favicon.ico otherwise.
                link rel="icon" href="/icon.svg" type="image/svg+xml";
                script src="/page.js" defer {}
            }
            body {
                a.skip href="#content" { (words.skip) }
                header {
                    strong { "simdb" }
                    nav {
                        @for (one, path, name) in Section::ALL {
                            a href=(path) aria-current=[(section == Some(one)).then_some("page")] {
                                (name(words))
                            }
                        }
                    }
                }
                main id="content" { (body) }
            }
        }
    }
}

fn html_response(markup: Markup) -> Response {
    html_body(markup.into_string())
}

fn html_body(body: impl Into<Body>) -> Response {
    response_of(body, "text/html; charset=utf-8")
}

/// A page of a section, or the page of its refusal.
fn page(words: &Words, section: Section, body: Result<Markup, ApiError>) -> Response {
    match body {
        Ok(body) => html_response(layout(words, section, &body)),
        Err(error) => {
            let status = error.status;
            let mut response = html_response(layout(words, section, &refusal(words, &error)));
            *response.status_mut() = status;
            response
        }
    }
}

/// A refusal, in place of a result.
fn refusal(words: &Words, error: &ApiError) -> Markup {
    html! {
        h1 { (words.failed) }
        p role="alert" { (error.message) }
    }
}

/// The writer of a page that is sent while it is made.
struct StreamedPage {
    parts: mpsc::Sender<Vec<u8>>,
    rest: String,
}

impl StreamedPage {
    /// Sends the start of a page, up to the end of `body`. Returns the writer of the rest.
    fn start(words: &Words, section: Section, body: Markup) -> (Self, Response) {
        // Nothing else of the page has this character.
        const PLACE: &str = "\u{fdd0}";
        let whole = layout(words, section, &html! { (body) (PreEscaped(PLACE)) }).into_string();
        let (start, rest) = whole.split_once(PLACE).unwrap_or((&whole, ""));
        let (parts, received) = mpsc::channel(16);
        let (start, rest) = (start.as_bytes().to_vec(), rest.to_owned());
        // The channel is empty, so it has room.
        let _ = parts.try_send(start);
        (
            Self { parts, rest },
            html_body(Body::new(StreamedBody(received))),
        )
    }

    /// Sends a part, on a thread that may block. Returns `false` if the page was left.
    fn send(&self, part: &Markup) -> bool {
        self.parts
            .blocking_send(part.0.clone().into_bytes())
            .is_ok()
    }

    /// Sends the end of the page.
    fn finish(self, body: &Markup) {
        if self.send(body) {
            // Fails if the page was left.
            let _ = self.parts.blocking_send(self.rest.into_bytes());
        }
    }
}

/// Sends the start of a page, and then what `make` returns: a result, or its refusal, also by a
/// server that is busy.
fn streamed_page(
    server: Arc<Server>,
    words: &'static Words,
    section: Section,
    start: Markup,
    make: impl FnOnce(&Server, &Arc<StreamedPage>) -> Result<Markup, ApiError> + Send + 'static,
) -> Response {
    let (page, response) = StreamedPage::start(words, section, start);
    tokio::spawn(async move {
        let page = Arc::new(page);
        let (shared, streamed) = (Arc::clone(&server), Arc::clone(&page));
        let made = server.reports.run(move || make(&shared, &streamed)).await;
        let shown = made.and_then(|made| made);
        let shown = shown.unwrap_or_else(|error| refusal(words, &error));
        // Sending may block.
        drop(tokio::task::spawn_blocking(move || {
            if let Ok(page) = Arc::try_unwrap(page) {
                page.finish(&shown);
            }
        }));
    });
    response
}

pub async fn style() -> Response {
    response_of(include_str!("style.css"), "text/css; charset=utf-8")
}

pub async fn script() -> Response {
    response_of(include_str!("page.js"), "text/javascript; charset=utf-8")
}

pub async fn icon() -> Response {
    response_of(include_str!("icon.svg"), "image/svg+xml")
}

/// A whole page in one file, without links into a server.
pub fn standalone(words: &Words, title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang=(words.language) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { (title) " · simdb" }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body { main { (body) } }
        }
    };
    parts::without_links(&page.into_string())
}

/// Returns `true` for a request of a browser for a page.
pub fn is_asked(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/html"))
}

/// The page of a refused request.
pub fn refuse(headers: &HeaderMap, error: &ApiError) -> Response {
    let words = Words::of(headers);
    let page = framed(words, None, words.failed, &refusal(words, error));
    (error.status, html_response(page)).into_response()
}

/// The page of a browser without a token.
pub fn ask_for_token(headers: &HeaderMap) -> Response {
    let words = Words::of(headers);
    let body = html! {
        h1 { (words.token_needed) }
        p { (words.token_text) }
        form action="/" method="get" {
            label for="token" { (words.token) }
            input id="token" name="token" type="password" autocomplete="off" required;
            button { (words.open) }
        }
    };
    let page = framed(words, None, words.token_needed, &body);
    (StatusCode::UNAUTHORIZED, html_response(page)).into_response()
}

/// The answer to the link with a token: keeps the token in a cookie, and opens the page without it.
///
/// The page opens itself. A redirect would belong to the site on which the link was followed, and
/// a browser sends no cookie of the kind `Strict` with it.
pub fn keep_token(headers: &HeaderMap, cookie: &str, token: &str, path: &str) -> Response {
    let words = Words::of(headers);
    let page = html! {
        (DOCTYPE)
        html lang=(words.language) {
            head {
                meta charset="utf-8";
                title { "simdb" }
                link rel="icon" href="/icon.svg" type="image/svg+xml";
                meta http-equiv="refresh" content={ "0; url=" (path) };
            }
            body { a href=(path) { (words.open) } }
        }
    };
    let mut response = html_response(page);
    let cookie = format!("{cookie}={token}; HttpOnly; SameSite=Strict; Path=/");
    // A token has plain characters only, as it is one of the server.
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
