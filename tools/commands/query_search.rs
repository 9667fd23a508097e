//! What lies near a fingerprint of one snapshot, and how it is printed.

use anyhow::Result;
use serde::Serialize;
use simdb::{Database, Fingerprint, Match, Snapshot};

use super::SAYS_TOO_LITTLE;
use crate::console::table::{Align, Table, columns, one_line};
use crate::console::{Answer, Output, note};

/// A query and what was found.
pub(super) struct Found {
    pub(super) fingerprint: Fingerprint,
    pub(super) reliable: bool,
    pub(super) matches: Vec<(Match, Option<String>)>,
}

#[derive(Serialize)]
struct FoundLine<'f> {
    query: u64,
    fingerprint: String,
    reliable: bool,
    matches: Vec<MatchLine<'f>>,
}

#[derive(Serialize)]
struct MatchLine<'f> {
    id: u64,
    fingerprint: String,
    distance: u32,
    text: Option<&'f str>,
}

/// Asks one snapshot.
pub(super) struct Searcher<'q> {
    pub(super) database: &'q Database,
    pub(super) snapshot: &'q Snapshot,
    /// None where the nearest are wanted, however far.
    pub(super) radius: Option<u32>,
    /// How many matches of a query are wanted.
    pub(super) most: usize,
    /// Whether answers are printed as JSON.
    pub(super) json: bool,
    /// Whether the number of its query stands before each match.
    pub(super) is_numbered: bool,
}

impl Searcher<'_> {
    /// Asks for one fingerprint and prints what lies near, without the document that is asked for
    /// itself.
    pub(super) fn ask_one(
        &self,
        fingerprint: Fingerprint,
        reliable: bool,
        itself: Option<u64>,
        output: &mut Output,
    ) -> Result<Answer> {
        if !reliable {
            note(format_args!("{SAYS_TOO_LITTLE}; it has no matches"));
        }
        let found = self.search(fingerprint, reliable, itself)?;
        for line in self.lines(0, &found)? {
            output.line(line)?;
        }
        Ok(if found.matches.is_empty() {
            Answer::No
        } else {
            Answer::Yes
        })
    }

    /// What lies near, without the document that is asked for itself.
    pub(super) fn search(
        &self,
        fingerprint: Fingerprint,
        reliable: bool,
        itself: Option<u64>,
    ) -> Result<Found> {
        // One more, because the document itself may be among them.
        let asked = self.most.saturating_add(usize::from(itself.is_some()));
        let mut matches = match (reliable, self.radius) {
            (false, _) => Vec::new(),
            (true, None) => self.snapshot.nearest(fingerprint, asked)?,
            (true, Some(radius)) => self.snapshot.within_limit(fingerprint, radius, asked)?,
        };
        matches.retain(|found| Some(found.id.0) != itself);
        matches.truncate(self.most);
        Ok(Found {
            fingerprint,
            reliable,
            matches: self.with_texts(matches)?,
        })
    }

    /// Each match with its text, if the database keeps texts.
    pub(super) fn with_texts(&self, matches: Vec<Match>) -> Result<Vec<(Match, Option<String>)>> {
        let keeps_texts = self.database.settings().keep_texts;
        let with_text = |found: Match| {
            let document = if keeps_texts {
                self.snapshot.get(found.id)?
            } else {
                None
            };
            Ok((found, document.and_then(|document| document.text)))
        };
        matches.into_iter().map(with_text).collect()
    }

    /// The lines that say what was found for the query with this number.
    pub(super) fn lines(&self, number: u64, found: &Found) -> Result<Vec<String>> {
        if self.json {
            let line = serde_json::to_string(&FoundLine {
                query: number,
                fingerprint: found.fingerprint.to_string(),
                reliable: found.reliable,
                matches: found.matches.iter().map(match_line).collect(),
            })?;
            return Ok(vec![line]);
        }
        let mut table = Table::new(&[
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Left,
            Align::Left,
        ]);
        let keeps_texts = self.database.settings().keep_texts;
        for (found, text) in &found.matches {
            let mut cells = vec![
                found.distance.to_string(),
                found.id.to_string(),
                found.fingerprint.to_string(),
            ];
            if keeps_texts {
                let text = text.as_deref().map(|text| one_line(text, text_columns()));
                cells.push(text.unwrap_or_else(|| "-".to_owned()));
            }
            if self.is_numbered {
                cells.insert(0, number.to_string());
            }
            table.row(cells);
        }
        Ok(table.lines().collect())
    }
}

fn match_line((found, text): &(Match, Option<String>)) -> MatchLine<'_> {
    MatchLine {
        id: found.id.0,
        fingerprint: found.fingerprint.to_string(),
        distance: found.distance,
        text: text.as_deref(),
    }
}

/// How wide a text may be beside the other columns.
fn text_columns() -> usize {
    const BESIDE: usize = 40;
    columns().saturating_sub(BESIDE).max(20)
}
