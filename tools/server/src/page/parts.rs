//! The parts of several sections: a document, bits, missing words, a plot.

use maud::{Markup, html};
use serde_json::Value;
use simdb::containment::{Missing, Verdict};
use simdb::{DocId, DocRef, Document, Fingerprint, Timestamp};
use simdb_tools::console::grouped;

use super::marks::plain;
use super::words::Words;

/// The bits of a block, and the number of blocks.
const BLOCK_BITS: u32 = 16;
const BLOCKS: u32 = 4;

/// The numbers of equal blocks, from 1.
pub fn equal_blocks(a: Fingerprint, b: Fingerprint) -> Vec<u32> {
    let differing = a.bits() ^ b.bits();
    let is_equal = |block: &u32| differing >> ((BLOCKS - block) * BLOCK_BITS) & 0xffff == 0;
    (1..=BLOCKS).filter(is_equal).collect()
}

/// The 64 bits of a fingerprint in their four blocks. Bits that `other` does not have are marked.
pub fn bits(words: &Words, of: Fingerprint, other: Fingerprint) -> Markup {
    let differing = of.bits() ^ other.bits();
    let differ = counted(of.distance(other).into(), words.bits_differ);
    let label = format!("{}; {differ}", words.bits_label);
    html! {
        div.bits role="img" aria-label=(label) {
            @for block in (0..BLOCKS).rev() {
                @let of_block = differing >> (block * BLOCK_BITS) & 0xffff;
                code.block.equal[of_block == 0] {
                    @for bit in (0..BLOCK_BITS).rev().map(|bit| block * BLOCK_BITS + bit) {
                        @let digit = of.bits() >> bit & 1;
                        @if differing >> bit & 1 == 1 { mark { (digit) } } @else { (digit) }
                    }
                }
            }
        }
    }
}

/// The start of a link to the matches of a document, as it is written in HTML.
const LINK: &str = "<a href=\"/search?by=";

/// The key of a document, or the id of a document without a key, as a link to its matches.
pub fn link(document: &DocRef) -> Markup {
    match document {
        DocRef::Id(id) => html! { a href={ "/search?by=id&q=" (id) } { (id) } },
        DocRef::Key(key) => {
            let query = serde_urlencoded::to_string([("by", "key"), ("q", key)]);
            html! { a href={ "/search?" (query.unwrap_or_default()) } { bdi { (key) } } }
        }
    }
}

/// The id of a document, as a link to its matches.
pub fn id_link(id: DocId) -> Markup {
    link(&DocRef::Id(id))
}

/// A page with plain names in place of links. A text of a document has no `<`, since it is escaped.
pub fn without_links(html: &str) -> String {
    let mut parts = html.split(LINK);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let link = part.split_once("</a>").unwrap_or((part, ""));
        text += link.0.split_once('>').map_or("", |(_, name)| name);
        text += link.1;
    }
    text
}

/// A stored document with its text.
pub fn document(words: &Words, document: &Document) -> Markup {
    html! {
        article.document {
            (head(words, document))
            @match &document.text {
                Some(text) => p.text dir="auto" { (plain(words, text)) },
                None => p.note { (words.no_text) },
            }
            (fields(document))
        }
    }
}

/// The name of a document as a link, with fingerprint, scope, arrival and number of copies.
pub fn head(words: &Words, document: &Document) -> Markup {
    html! {
        p.head {
            (link(&document.doc_ref())) " "
            code { (document.fingerprint) }
            @if let Some(scope) = &document.scope { " " span.word { bdi { (scope) } } }
            @if let Some(arrival) = document.arrival { " " (time(arrival)) }
            @if let Some(copies) = &document.copies {
                " " span.badge { (counted(copies.count, words.copies_of_document)) }
            }
            @if !document.reliable { " " span.note { (words.unreliable) } }
        }
    }
}

/// A number with its noun, `one|many`.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{} {}", grouped(count), noun_of(count, noun))
}

/// The form of a noun, `one|many`, behind a number.
pub fn noun_of(count: u64, noun: &str) -> &str {
    let (one, many) = noun.split_once('|').unwrap_or((noun, noun));
    if count == 1 { one } else { many }
}

/// A time to the second.
pub fn time(time: Timestamp) -> Markup {
    let whole = time.to_string();
    let (date, clock) = whole.split_once('T').unwrap_or((&whole, ""));
    let clock = clock.split(['.', 'Z']).next().unwrap_or_default();
    html! { time datetime=(whole) { (date) " " (clock) " UTC" } }
}

/// The most fields of a document that are shown, and the most characters of a value.
const FIELDS_SHOWN: usize = 20;
const VALUE_CHARS: usize = 200;

/// The fields of a document.
pub fn fields(document: &Document) -> Markup {
    let fields = document.fields.as_deref();
    let fields = fields.and_then(|text| serde_json::from_str(text).ok());
    let Some(Value::Object(fields)) = fields else {
        return html! {};
    };
    html! {
        dl.fields {
            @for (name, value) in fields.iter().take(FIELDS_SHOWN) {
                div { dt { bdi { (name) } } dd dir="auto" { (short(value)) } }
            }
            @if fields.len() > FIELDS_SHOWN { div { "… " (fields.len()) } }
        }
    }
}

/// The start of a value.
fn short(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    match text.char_indices().nth(VALUE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The words that one side has alone, each with its weight.
pub fn missing(words: &Words, label: &str, missing: &[Missing]) -> Markup {
    html! {
        p.missing {
            (label) ": "
            @if missing.is_empty() { span.note { (words.nothing_lost) } }
            @for one in missing.iter().take(MISSING_SHOWN) {
                span.word { bdi { (one.word) } " " small { (format!("{:.1}", one.weight)) } } " "
            }
            @if missing.len() > MISSING_SHOWN { "… " (missing.len()) }
        }
    }
}

/// The most words that are listed of one side.
const MISSING_SHOWN: usize = 40;

pub fn verdict(words: &Words, verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Same => words.same,
        Verdict::SameBody => words.same_body,
        Verdict::AInB => words.a_in_b,
        Verdict::BInA => words.b_in_a,
        Verdict::Template => words.template,
        Verdict::Different => words.different,
    }
}

/// The size of a plot, in units of its view box.
const PLOT_WIDTH: f64 = 600.0;
const PLOT_HEIGHT: f64 = 120.0;

/// A plot of values as a line, from 0 to the largest. `None` has no point.
pub fn line_plot(label: &str, values: &[Option<f64>]) -> Markup {
    let most = values.iter().flatten().copied().fold(0.0, f64::max);
    let last = values.last().copied().flatten();
    let step = PLOT_WIDTH / values.len().saturating_sub(1).max(1) as f64;
    html! {
        figure {
            figcaption {
                (label) ": " (last.map_or("-".to_owned(), number)) span.note { " / " (number(most)) }
            }
            (scaled(label, most, &html! { polyline.line points=(points(values, most, 0.0, step)) {} }))
        }
    }
}

/// A plot beside the scale of its values: the largest, and 0.
fn scaled(label: &str, most: f64, content: &Markup) -> Markup {
    html! {
        div.plot {
            div.scale aria-hidden="true" { span { (number(most)) } span { "0" } }
            svg viewBox={ "0 0 " (PLOT_WIDTH) " " (PLOT_HEIGHT) } role="img" aria-label=(label) { (content) }
        }
    }
}

/// A plot of bars, and of a line of expected values if there are any. Each bar is `(label, value)`.
pub fn bar_plot(label: &str, bars: &[(String, f64)], expected: &[f64]) -> Markup {
    let most = bars
        .iter()
        .map(|(_, value)| *value)
        .chain(expected.iter().copied())
        .fold(0.0, f64::max);
    let width = PLOT_WIDTH / bars.len().max(1) as f64;
    let centres: Vec<_> = expected.iter().copied().map(Some).collect();
    let content = html! {
        @for (index, (name, value)) in bars.iter().enumerate() {
            @let height = height(*value, most);
            rect.bar x=(tenths(index as f64 * width + width * 0.1)) y=(tenths(PLOT_HEIGHT - height))
                width=(tenths(width * 0.8)) height=(tenths(height)) {
                title { (name) ": " (number(*value)) }
            }
        }
        @if !centres.is_empty() {
            polyline.line points=(points(&centres, most, width / 2.0, width)) {}
        }
    };
    html! { figure { figcaption { (label) } (scaled(label, most, &content)) } }
}

fn points(values: &[Option<f64>], most: f64, first: f64, step: f64) -> String {
    let point = |(index, value): (usize, &Option<f64>)| {
        let (x, y) = (
            first + index as f64 * step,
            PLOT_HEIGHT - height((*value)?, most),
        );
        Some(format!("{},{}", tenths(x), tenths(y)))
    };
    values
        .iter()
        .enumerate()
        .filter_map(point)
        .collect::<Vec<_>>()
        .join(" ")
}

/// The height of a value in a plot; the largest value leaves a margin for its line.
fn height(value: f64, most: f64) -> f64 {
    if most > 0.0 {
        value / most * (PLOT_HEIGHT - 4.0)
    } else {
        0.0
    }
}

fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// A number of a plot: whole if it is large.
fn number(value: f64) -> String {
    match value {
        value if value >= 100.0 || value.fract() == 0.0 => {
            simdb_tools::console::grouped(value.round() as u64)
        }
        value => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_blocks_are_counted_from_the_first() {
        let of =
            |a: u64, b: u64| equal_blocks(Fingerprint::from_bits(a), Fingerprint::from_bits(b));
        assert_eq!(of(0, 0), [1, 2, 3, 4]);
        assert_eq!(of(0, 1), [1, 2, 3]);
        assert_eq!(of(0, 1 << 63), [2, 3, 4]);
        assert_eq!(of(0, 1 << 47 | 1 << 16), [1, 4]);
    }

    #[test]
    fn ids_without_links_are_plain() {
        let page = html! { p { (id_link(DocId(7))) " and " (link(&"a&b=<c>".into())) } a href="/x" { "x" } };
        assert_eq!(
            without_links(&page.into_string()),
            "<p>7 and <bdi>a&amp;b=&lt;c&gt;</bdi></p><a href=\"/x\">x</a>"
        );
    }

    #[test]
    fn plot_has_a_scale_and_no_point_without_a_value() {
        let shown = line_plot("ms", &[Some(1.0), None, Some(4.0), None]).into_string();
        assert!(shown.contains("ms: -<span class=\"note\"> / 4<"), "{shown}");
        assert!(shown.contains("points=\"0,91 400,4\""), "{shown}");
        assert!(shown.contains("<span>4</span><span>0</span>"), "{shown}");
    }

    #[test]
    fn time_is_shown_to_the_second() {
        let shown = time(Timestamp(1_700_000_000_250)).into_string();
        assert_eq!(
            shown,
            "<time datetime=\"2023-11-14T22:13:20.250Z\">2023-11-14 22:13:20 UTC</time>"
        );
    }

    #[test]
    fn bits_that_differ_are_marked() {
        let words = Words::of(&Default::default());
        let shown = bits(words, Fingerprint::from_bits(1), Fingerprint::from_bits(0)).into_string();
        assert_eq!(shown.matches("<mark>").count(), 1);
        assert_eq!(shown.matches("block equal").count(), 3);
        assert!(shown.contains("1 bit differs"), "{shown}");
    }
}
