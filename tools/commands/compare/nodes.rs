//! The nodes of an LSH forest, in which a join of another system meets texts, for `simdb-cli compare`.

use std::path::Path;

use anyhow::{Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use simdb::{NodeEntries, NodeText};

use crate::console::Output;
use crate::formats::MAX_LINE_BYTES;
use crate::formats::input::{LineReader, Source};
use crate::formats::jsonl::reason_of;

/// A line of the input: a text in a node, with columns of an export.
#[derive(Deserialize)]
struct Row<'l> {
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
    wording: &'l str,
}

/// A line of the output: a document that is alike a query.
#[derive(Serialize)]
struct Candidate {
    query: i64,
    document: i64,
}

/// The entries of the node that is read.
#[derive(Default)]
struct Node {
    /// The node and its cell.
    key: (i64, i64),
    entries: NodeEntries,
    /// The document of each entry, and if its text is long.
    documents: Vec<(i64, bool)>,
    /// The entries that are queries too, until all entries are read.
    queries: Vec<Query>,
    has_searched: bool,
}

/// A query with a wording of its own.
struct Query {
    document: i64,
    is_long: bool,
    text: NodeText<'static>,
    wording: Vec<u8>,
}

/// Writes the candidates that are alike queries, node by node.
pub(super) fn search_nodes(path: &Path, output: &mut Output) -> Result<()> {
    let input = Source::new(path)?.open(&Default::default())?;
    let name = input.name.clone();
    let mut lines = LineReader::new(input, MAX_LINE_BYTES)?;
    let mut node = Node::default();
    while let Some((number, line)) = lines.next_not_blank()? {
        let query = line.and_then(|line| {
            let row: Row<'_> = serde_json::from_slice(line).map_err(|error| reason_of(&error))?;
            Ok((
                row.query()?,
                row.is_entry,
                row.is_query,
                (row.node, row.cell),
            ))
        });
        let (query, is_entry, is_query, key) = match query {
            Ok(query) => query,
            Err(reason) => bail!("cannot read {name}:{number}: {reason}"),
        };
        if key != node.key {
            node.search_entries(output)?;
            node.start(key);
        }
        if !is_entry {
            node.search_entries(output)?;
            node.search(&query, output)?;
        } else if node.has_searched {
            bail!(
                "cannot read {name}:{number}: the entries of a node must come before its other queries"
            );
        } else {
            node.push(query, is_query);
        }
    }
    node.search_entries(output)
}

impl Row<'_> {
    fn query(&self) -> Result<Query, String> {
        let wording = STANDARD.decode(self.wording);
        let wording = wording.map_err(|error| format!("the wording is not Base64: {error}"))?;
        let words = |one: i64, two: i64| [one as u64, two as u64];
        Ok(Query {
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
            wording,
        })
    }
}

impl Query {
    fn text(&self) -> NodeText<'_> {
        let wording = &self.wording;
        NodeText {
            wording,
            ..self.text
        }
    }
}

impl Node {
    fn start(&mut self, key: (i64, i64)) {
        self.key = key;
        self.entries.clear();
        self.documents.clear();
        self.has_searched = false;
    }

    fn push(&mut self, entry: Query, is_query: bool) {
        self.entries.push(&entry.text());
        self.documents.push((entry.document, entry.is_long));
        if is_query {
            self.queries.push(entry);
        }
    }

    /// Searches for the entries that are queries too.
    fn search_entries(&mut self, output: &mut Output) -> Result<()> {
        for query in std::mem::take(&mut self.queries) {
            self.search(&query, output)?;
        }
        self.has_searched = true;
        Ok(())
    }

    /// A long and a short text are decided by the shingles of the query. Two other texts are decided alike by both
    /// searches, so the smaller id is their query.
    fn search(&self, query: &Query, output: &mut Output) -> Result<()> {
        let is_other = |at: usize| self.documents[at].0 != query.document;
        for at in self.entries.search(&query.text(), is_other) {
            let (document, is_long) = self.documents[at as usize];
            let [query, document] = match is_long == query.is_long && document < query.document {
                true => [document, query.document],
                false => [query.document, document],
            };
            output.json(&Candidate { query, document })?;
        }
        Ok(())
    }
}
