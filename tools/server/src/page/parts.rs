//! The parts of several sections: a document, bits, missing words, a plot.

use maud::{Markup, html};
use simdb::containment::{Missing, Verdict};
use simdb::{Document, Fingerprint};

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
    let label = format!(
        "{}; {} {}",
        words.bits_label,
        of.distance(other),
        words.bits_differ
    );
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
const LINK: &str = "<a href=\"/search?by=id&amp;q=";

/// The id of a document, as a link to its matches.
pub fn id_link(id: impl std::fmt::Display) -> Markup {
    html! { a href={ "/search?by=id&q=" (id) } { (id) } }
}

/// A page with plain ids in place of links. A text of a document has no `<`, since it is escaped.
pub fn without_links(html: &str) -> String {
    let mut parts = html.split(LINK);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let link = part.split_once("</a>").unwrap_or((part, ""));
        text += link.0.split_once('>').map_or("", |(_, id)| id);
        text += link.1;
    }
    text
}

/// A stored document with its text.
pub fn document(words: &Words, document: &Document) -> Markup {
    html! {
        article.document {
            p.head {
                (id_link(document.id)) " "
                code { (document.fingerprint) }
                @if let Some(arrival) = document.arrival { " " time { (arrival) } }
                @if !document.reliable { " " span.note { (words.unreliable) } }
            }
            @match &document.text {
                Some(text) => p.text dir="auto" { (plain(words, text)) },
                None => p.note { (words.no_text) },
            }
        }
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

/// A plot of values as a line, from 0 to the largest.
pub fn line_plot(label: &str, values: &[f64]) -> Markup {
    let most = values.iter().copied().fold(0.0, f64::max);
    html! {
        figure {
            figcaption { (label) ": " (number(values.last().copied().unwrap_or(0.0))) span.note { " / " (number(most)) } }
            svg viewBox={ "0 0 " (PLOT_WIDTH) " " (PLOT_HEIGHT) } role="img" aria-label=(label) {
                polyline.line points=(points(values, most)) {}
            }
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
    let centres: Vec<f64> = expected.to_vec();
    html! {
        figure {
            figcaption { (label) }
            svg viewBox={ "0 0 " (PLOT_WIDTH) " " (PLOT_HEIGHT) } role="img" aria-label=(label) {
                @for (index, (name, value)) in bars.iter().enumerate() {
                    @let height = height(*value, most);
                    rect.bar x=(tenths(index as f64 * width + width * 0.1)) y=(tenths(PLOT_HEIGHT - height))
                        width=(tenths(width * 0.8)) height=(tenths(height)) {
                        title { (name) ": " (number(*value)) }
                    }
                }
                @if !centres.is_empty() {
                    polyline.line points=(points_at(&centres, most, width / 2.0, width)) {}
                }
            }
        }
    }
}

fn points(values: &[f64], most: f64) -> String {
    let step = PLOT_WIDTH / values.len().saturating_sub(1).max(1) as f64;
    points_at(values, most, 0.0, step)
}

fn points_at(values: &[f64], most: f64, first: f64, step: f64) -> String {
    let point = |(index, value): (usize, &f64)| {
        let (x, y) = (
            first + index as f64 * step,
            PLOT_HEIGHT - height(*value, most),
        );
        format!("{},{}", tenths(x), tenths(y))
    };
    values
        .iter()
        .enumerate()
        .map(point)
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
        let page =
            html! { p { (id_link(7)) " and " (id_link(8)) } a href="/x" { "x" } }.into_string();
        assert_eq!(without_links(&page), "<p>7 and 8</p><a href=\"/x\">x</a>");
    }

    #[test]
    fn bits_that_differ_are_marked() {
        let words = Words::of(&Default::default());
        let shown = bits(words, Fingerprint::from_bits(1), Fingerprint::from_bits(0)).into_string();
        assert_eq!(shown.matches("<mark>").count(), 1);
        assert_eq!(shown.matches("block equal").count(), 3);
        assert!(shown.contains("1 bits differ"), "{shown}");
    }
}
