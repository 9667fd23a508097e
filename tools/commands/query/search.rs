//! What lies near a fingerprint of one snapshot, and how it is printed.

use anyhow::Result;
use serde::Serialize;
use simdb::{Database, Fingerprint, Match, Snapshot};

use crate::commands::SAYS_TOO_LITTLE;
use crate::console::table::{Align, Table, columns, one_line};
use crate::console::{Answer, Output, note};

/// A query and what was found.
pub(super) struct Found {
    pub(super) fingerprint: Fingerprint,
    pub(super) reliable: bool,
    pub(super) matches: Vec<Match>,
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

/// Of an answer with more matches than this so many are given their texts and printed at a time: a
/// query may match every document there is, and their texts need not fit into memory.
const MATCHES_AT_ONCE: usize = 256;

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
        self.print(0, &found, output)?;
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
            matches,
        })
    }

    /// Prints what was found for the query with this number, a part at a time if that is much.
    pub(super) fn print(&self, number: u64, found: &Found, output: &mut Output) -> Result<()> {
        if let Some(lines) = self.lines(number, found)? {
            return lines.iter().try_for_each(|line| output.line(line));
        }
        let parts = found.matches.chunks(MATCHES_AT_ONCE);
        if !self.json {
            for part in parts {
                for line in self.table(number, part)? {
                    output.line(line)?;
                }
            }
            return Ok(());
        }
        let empty = self.json(number, found, &[])?;
        let (start, end) = empty.split_at(empty.len() - "]}".len());
        output.bytes(start.as_bytes())?;
        for (place, part) in parts.enumerate() {
            let texts = self.texts(part)?;
            let matches: Vec<_> = part.iter().zip(&texts).map(match_line).collect();
            let list = serde_json::to_string(&matches)?;
            let inner = list.trim_start_matches('[').trim_end_matches(']');
            if place > 0 {
                output.bytes(b",")?;
            }
            output.bytes(inner.as_bytes())?;
        }
        output.line(end)
    }

    /// The lines that say what was found for the query with this number; nothing if that is so much
    /// that it should be [printed](Self::print) a part at a time.
    pub(super) fn lines(&self, number: u64, found: &Found) -> Result<Option<Vec<String>>> {
        let matches = &found.matches;
        if matches.len() > MATCHES_AT_ONCE {
            return Ok(None);
        }
        Ok(Some(match self.json {
            true => vec![self.json(number, found, matches)?],
            false => self.table(number, matches)?,
        }))
    }

    /// A line of JSON about a query and these matches of it.
    fn json(&self, number: u64, found: &Found, matches: &[Match]) -> Result<String> {
        let texts = self.texts(matches)?;
        Ok(serde_json::to_string(&FoundLine {
            query: number,
            fingerprint: found.fingerprint.to_string(),
            reliable: found.reliable,
            matches: matches.iter().zip(&texts).map(match_line).collect(),
        })?)
    }

    /// The rows of a table about some matches of a query.
    fn table(&self, number: u64, matches: &[Match]) -> Result<Vec<String>> {
        let mut table = Table::new(&[
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Left,
            Align::Left,
        ]);
        for found in matches {
            let mut cells = vec![
                found.distance.to_string(),
                found.id.to_string(),
                found.fingerprint.to_string(),
            ];
            if self.keeps_texts() {
                let text = self.text(found)?;
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

    fn keeps_texts(&self) -> bool {
        self.database.settings().keep_texts
    }

    /// The text of each match.
    fn texts(&self, matches: &[Match]) -> Result<Vec<Option<String>>> {
        matches.iter().map(|found| self.text(found)).collect()
    }

    /// The text of a match, if the database keeps texts.
    fn text(&self, found: &Match) -> Result<Option<String>> {
        if !self.keeps_texts() {
            return Ok(None);
        }
        let document = self.snapshot.get(found.id)?;
        Ok(document.and_then(|document| document.text))
    }
}

fn match_line<'m>((found, text): (&Match, &'m Option<String>)) -> MatchLine<'m> {
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
