//! Pairs of texts that a person judges, the most doubtful first. Answers are appended to a file of
//! JSON Lines, which `simdb-cli compare --pairs` and the bench of judged pairs read.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde::Deserialize;

use super::marks::marked;
use super::{Section, Words, page, parts};
use crate::access::Right;
use crate::body::WholeBody;
use crate::error::ApiError;
use crate::review::{Answer, Counts, DoubtfulPair, Reviews};
use crate::server::Server;

pub async fn review(State(server): State<Arc<Server>>, headers: HeaderMap) -> Response {
    let words = Words::of(&headers);
    let Some(reviews) = server.reviews.clone() else {
        let off =
            html! { h1 { (words.review) } p { (words.review_intro) } p { (words.review_off) } };
        return page(words, Section::Review, Ok(off));
    };
    let may_answer = server
        .access
        .check(&Method::GET, &headers, Right::Write)
        .is_ok();
    let shared = Arc::clone(&server);
    let shown = server
        .reports
        .run(move || show(&shared, words, &reviews, may_answer))
        .await;
    page(words, Section::Review, shown.and_then(|shown| shown))
}

fn show(
    server: &Server,
    words: &Words,
    reviews: &Reviews,
    may_answer: bool,
) -> Result<Markup, ApiError> {
    let pair = reviews.next_pair(&server.database)?;
    Ok(html! {
        h1 { (words.review) }
        p { (words.review_intro) }
        @match &pair {
            Some(pair) => (show_pair(words, pair)),
            None => p { (words.review_none) },
        }
        form.answers action="/review" method="post" {
            @if let Some(pair) = &pair {
                input type="hidden" name="a" value=(pair.a.name());
                input type="hidden" name="b" value=(pair.b.name());
                @for (answer, key, name) in [("yes", "y", words.yes), ("no", "n", words.no), ("unsure", "u", words.unsure)] {
                    button name="answer" value=(answer) data-key=(key) disabled[!may_answer] { (name) " " kbd { (key) } }
                }
            }
            button name="answer" value="undo" data-key="z" disabled[!may_answer || reviews.counts().answers() == 0] {
                (words.undo) " " kbd { "z" }
            }
        }
        p.note { (if may_answer { words.keys } else { words.may_not_answer }) }
        (show_counts(words, &reviews.counts()))
    })
}

fn show_pair(words: &Words, pair: &DoubtfulPair) -> Markup {
    let [left, right] = marked(words, &pair.a.text, &pair.b.text);
    let says = if pair.found.verdict.is_removable() {
        words.removable
    } else {
        words.not_removable
    };
    html! {
        article.pair {
            div.sides {
                div { h3 { (parts::link(&pair.a.name)) } p.text dir="auto" { (left) } }
                div { h3 { (parts::link(&pair.b.name)) } p.text dir="auto" { (right) } }
            }
            details {
                summary { (words.simdb_says) }
                p { (says) " (" (pair.found.verdict.name()) ")" }
                (parts::missing(words, words.loses_left, &pair.found.missing_in_b))
                (parts::missing(words, words.loses_right, &pair.found.missing_in_a))
            }
        }
    }
}

fn show_counts(words: &Words, counts: &Counts) -> Markup {
    let share = |name: &str, (right, all): (u64, u64)| {
        html! {
            p {
                (name) ": "
                @if all == 0 { "-" } @else {
                    @let [low, high] = interval(right, all);
                    strong { (format!("{:.2}", right as f64 / all as f64)) }
                    " (" (right) "/" (all) "; " (words.interval) " " (format!("{low:.2} – {high:.2}")) ")"
                }
            }
        }
    };
    html! {
        section aria-label=(words.review) {
            p { strong { (counts.answers()) } " " (parts::noun_of(counts.answers(), words.answers)) " " span.note { (words.of_shown) } }
            (share(words.precision, counts.precision()))
            (share(words.recall, counts.recall()))
        }
    }
}

/// The Wilson score interval of a share, at 95 %.
fn interval(right: u64, all: u64) -> [f64; 2] {
    const Z: f64 = 1.96;
    let (n, share) = (all as f64, right as f64 / all as f64);
    let centre = share + Z * Z / (2.0 * n);
    let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    [-1.0, 1.0].map(|sign| ((centre + sign * half) / (1.0 + Z * Z / n)).clamp(0.0, 1.0))
}

#[derive(Deserialize)]
struct AnswerForm {
    answer: Choice,
    a: Option<String>,
    b: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Choice {
    Yes,
    No,
    Unsure,
    Undo,
}

pub async fn answer(State(server): State<Arc<Server>>, headers: HeaderMap, body: Body) -> Response {
    let words = Words::of(&headers);
    match save(&server, words, body).await {
        Ok(()) => {
            let to_next = HeaderValue::from_static("/review");
            (StatusCode::SEE_OTHER, [(LOCATION, to_next)]).into_response()
        }
        Err(error) => page(words, Section::Review, Err(error)),
    }
}

/// The longest form of an answer, with two keys of 1,024 bytes.
const FORM_BYTES: usize = 8 << 10;

async fn save(server: &Arc<Server>, words: &'static Words, body: Body) -> Result<(), ApiError> {
    let form: AnswerForm = WholeBody::read(body, FORM_BYTES, &server.bodies)
        .await?
        .form()?;
    let reviews = server.reviews.clone();
    let reviews = reviews.ok_or_else(|| {
        ApiError::forbidden("no_review", "the server was started without --review")
    })?;
    let answer = match form.answer {
        Choice::Yes => Some(Answer::Removable),
        Choice::No => Some(Answer::Different),
        Choice::Unsure => Some(Answer::Unsure),
        Choice::Undo => None,
    };
    let work = move || match answer {
        Some(answer) => {
            // A form sends a line feed of a key as two characters.
            let name = |name: Option<String>| name.unwrap_or_default().replace("\r\n", "\n");
            let names = (name(form.a), name(form.b));
            match reviews.answer(names, answer)? {
                true => Ok(()),
                false => Err(ApiError::new(
                    StatusCode::CONFLICT,
                    "answered",
                    words.answered_elsewhere,
                )),
            }
        }
        None => reviews.undo(),
    };
    server.reports.run(work).await?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_is_wide_for_few_answers_and_within_0_and_1() {
        let [low, high] = interval(1, 1);
        assert!((0.20..0.21).contains(&low) && high == 1.0, "{low} {high}");
        let [low, high] = interval(90, 100);
        assert!(
            (0.825..0.826).contains(&low) && (0.944..0.945).contains(&high),
            "{low} {high}"
        );
        let [low, high] = interval(0, 7);
        assert!(low == 0.0 && high < 0.36, "{low} {high}");
    }
}
