//! `simdb-serve removals`: the page of `simdb-cli dedup --report-html`, from a sample of removals
//! on standard input.

use std::io::{Read, stdin};

use anyhow::{Context, Result};
use maud::{Markup, html};
use serde::Deserialize;
use simdb::containment::Verdict;
use simdb_tools::console::{Output, grouped};

use crate::page::{Words, marks, parts, standalone};

/// The removals of a run, of which each stratum shows some.
#[derive(Deserialize)]
struct Sample {
    removed: u64,
    /// The removals without a text, or whose keeper has none.
    unknown: u64,
    strata: Vec<SampledStratum>,
}

/// Removals with a loss of one size.
#[derive(Deserialize)]
struct SampledStratum {
    label: String,
    count: u64,
    removals: Vec<SampledRemoval>,
}

#[derive(Deserialize)]
struct SampledRemoval {
    id: u64,
    keeper: u64,
    verdict: Verdict,
    /// The words of the removed text that the keeper lacks, and their weights in nats.
    missing: Vec<(String, f64)>,
    /// The token of the removed text, the token of the keeper, and the class that makes them equal.
    forgiven: Vec<(String, String, String)>,
    text: String,
    keeper_text: String,
}

/// Reads a sample, and writes its page to standard output.
pub fn run(output: &mut Output) -> Result<()> {
    let mut sample = String::new();
    stdin().read_to_string(&mut sample)?;
    let sample: Sample = serde_json::from_str(&sample)
        .context("standard input is not a sample of `simdb-cli dedup`")?;
    let words = Words::in_chinese(false);
    let page = standalone(words, "Removed documents", &show(words, &sample));
    output.line(format_args!("{page}"))?;
    output.flush()
}

fn show(words: &Words, sample: &Sample) -> Markup {
    html! {
        h1 { "Removed documents" }
        p {
            (grouped(sample.removed)) " documents were removed. Each is shown beside the document that was kept: "
            "what the kept document lacks, and what it has in its place."
        }
        @if sample.unknown > 0 {
            p.note { (grouped(sample.unknown)) " of them cannot be shown: a text is not stored." }
        }
        @for stratum in &sample.strata {
            h2 { (stratum.label) }
            p.note { (grouped(stratum.count)) " removed, " (stratum.removals.len()) " shown" }
            @for removal in &stratum.removals { (show_removal(words, removal)) }
        }
    }
}

fn show_removal(words: &Words, removal: &SampledRemoval) -> Markup {
    let [removed, kept] = marks::marked(words, &removal.text, &removal.keeper_text);
    html! {
        article.pair {
            div.sides {
                div { h3 { "removed " (removal.id) } p.text dir="auto" { (removed) } }
                div { h3 { "kept " (removal.keeper) } p.text dir="auto" { (kept) } }
            }
            p { (parts::verdict(words, removal.verdict)) }
            @if !removal.missing.is_empty() {
                p.missing {
                    (words.loses_left) ": "
                    @for (word, weight) in &removal.missing {
                        span.word { bdi { (word) } " " small { (format!("{weight:.1}")) } } " "
                    }
                }
            }
            @if !removal.forgiven.is_empty() {
                p.missing {
                    "forgiven: "
                    @for (own, other, class) in &removal.forgiven {
                        span.word { bdi { (own) } " / " bdi { (other) } " " small { (class) } } " "
                    }
                }
            }
        }
    }
}
