//! The nodes of an LSH forest, in which a join of another system meets texts, for `simdb-cli
//! compare`.

use std::borrow::Cow;
use std::path::Path;

use anyhow::{Result, anyhow};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use simdb::external::{NodeEntries, NodeText};

use crate::console::Output;
use crate::formats::MAX_LINE_BYTES;
use crate::formats::input::{LineReader, Source};
use crate::formats::json_reason::reason_of;

/// A line of the input: a text in a node, with columns of an export.
#[derive(Deserialize)]
struct NodeRow<'l> {
    node: i64,
    cell: i64,
    is_entry: bool,
    is_query: bool,
    is_long: bool,
    document: i64,
    class: u8,
    classes: u16,
    max_sketch_distance: u32,
    sketch_1: i64,
    sketch_2: i64,
    other_1: i64,
    other_2: i64,
    /// In Base64.
    #[serde(borrow)]
    wording: Cow<'l, str>,
}

/// A line of the output: a document that is a near-duplicate of a query.
#[derive(Serialize)]
struct NodeCandidate {
    query: i64,
    document: i64,
}

/// The texts of the cell that is read.
#[derive(Default)]
struct Cell {
    /// The node and the cell.
    key: (i64, i64),
    entries: NodeEntries,
    /// The entries in order, and if they are queries too.
    texts: Vec<(Text, bool)>,
    has_searched: bool,
}

/// A text without its wording.
struct Text {
    document: i64,
    is_long: bool,
    text: NodeText<'static>,
}

/// Writes the candidates that are near-duplicates, cell by cell.
pub(super) fn search_nodes(path: &Path, output: &mut Output) -> Result<()> {
    let input = Source::new(path)?.open(&Default::default())?;
    let name = input.name.clone();
    let mut lines = LineReader::new(input, MAX_LINE_BYTES)?;
    let (mut cell, mut wording) = (Cell::default(), Vec::new());
    while let Some((number, line)) = lines.next_not_blank()? {
        let cannot_read = |reason: String| anyhow!("cannot read {name}:{number}: {reason}");
        let line = line.map_err(cannot_read)?;
        let row = serde_json::from_slice::<NodeRow<'_>>(line);
        let row = row.map_err(|error| cannot_read(reason_of(&error)))?;
        let text = row.text(&mut wording).map_err(cannot_read)?;
        let key = (row.node, row.cell);
        if key != cell.key {
            cell.search_entries(output)?;
            cell.start(key);
        }
        if !row.is_entry {
            cell.search_entries(output)?;
            cell.search(&text, &wording, output)?;
        } else if cell.has_searched {
            let reason = "the entries of a cell must come before its other queries";
            return Err(cannot_read(reason.to_owned()));
        } else {
            cell.push(text, &wording, row.is_query);
        }
    }
    cell.search_entries(output)
}

impl NodeRow<'_> {
    /// The text. Its wording replaces the content of `wording`.
    fn text(&self, wording: &mut Vec<u8>) -> Result<Text, String> {
        wording.clear();
        let decoded = STANDARD.decode_vec(&*self.wording, wording);
        decoded.map_err(|error| format!("the wording is not Base64: {error}"))?;
        if self.class >= 16 {
            return Err(format!("the class {} is above 15", self.class));
        }
        let words = |one: i64, two: i64| [one as u64, two as u64];
        Ok(Text {
            document: self.document,
            is_long: self.is_long,
            text: NodeText {
                class: self.class,
                classes: self.classes,
                max_sketch_distance: self.max_sketch_distance,
                sketch: words(self.sketch_1, self.sketch_2),
                other_sketch: words(self.other_1, self.other_2),
                wording: &[],
            },
        })
    }
}

impl Cell {
    fn start(&mut self, key: (i64, i64)) {
        self.key = key;
        self.entries.clear();
        self.texts.clear();
        self.has_searched = false;
    }

    fn push(&mut self, entry: Text, wording: &[u8], is_query: bool) {
        self.entries.push(&NodeText {
            wording,
            ..entry.text
        });
        self.texts.push((entry, is_query));
    }

    /// Searches for the entries that are queries too, once.
    fn search_entries(&mut self, output: &mut Output) -> Result<()> {
        if std::mem::replace(&mut self.has_searched, true) {
            return Ok(());
        }
        for (at, (query, _)) in (0..)
            .zip(&self.texts)
            .filter(|(_, (_, is_query))| *is_query)
        {
            self.search(query, self.entries.wording(at), output)?;
        }
        Ok(())
    }

    /// A long and a short text are decided by the shingles of the query. Two other texts are
    /// decided alike by both searches, so the smaller id is their query.
    fn search(&self, query: &Text, wording: &[u8], output: &mut Output) -> Result<()> {
        let text = NodeText {
            wording,
            ..query.text
        };
        let entry = |at: u32| &self.texts[at as usize].0;
        let is_other = |at| entry(at).document != query.document;
        for entry in self.entries.search(&text, is_other).into_iter().map(entry) {
            let is_swapped = entry.is_long == query.is_long && entry.document < query.document;
            let [query, document] = match is_swapped {
                true => [entry.document, query.document],
                false => [query.document, entry.document],
            };
            output.json(&NodeCandidate { query, document })?;
        }
        Ok(())
    }
}
