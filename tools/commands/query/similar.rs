//! Which documents have texts like that of a query, and how they are printed.

use std::collections::VecDeque;
use std::iter::once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Result, bail};
use rayon::prelude::*;
use serde::Serialize;
use simdb::{Database, DocId, Similar, Snapshot, TextFingerprint, TextQuery};

use super::file::{Asked, Queries};
use crate::commands::{SAYS_TOO_LITTLE, not_stored};
use crate::console::duplicate::{Alike, share};
use crate::console::table::{Align, Table, columns, one_line};
use crate::console::{Answer, Output, note};
use crate::options::{LikenessOptions, note_without_bands};

/// Queries that are read before they are answered, on all cores.
const AT_ONCE: usize = 1024;

/// How long they are gathered: where they come slowly, answers do not wait for many of them.
const READING_MS: u64 = 200;

/// No more queries are answered on all cores before what was found for others is printed, where that
/// has so many bytes.
const WAITING_BYTES: usize = 64 << 20;

/// An answer with more bytes is put into words while it is printed, a text at a time: a query may
/// have thousands of matches, whose texts need not fit into memory.
const ANSWER_BYTES: usize = 1 << 20;

/// What a match takes until it is printed; the help says so.
const _: () = assert!(size_of::<Similar>() <= 64);

/// Where documents that may be like a text are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Candidates {
    /// Among those that share a band or whose fingerprints are near, by default within the radius
    /// that suits the database.
    Similar { radius: Option<u32> },
    /// Among those whose fingerprints lie within this radius.
    Within { radius: u32 },
}

/// Asks one snapshot for texts.
pub(super) struct TextSearcher<'q> {
    pub(super) database: &'q Database,
    pub(super) snapshot: &'q Snapshot,
    pub(super) candidates: Candidates,
    pub(super) likeness: &'q LikenessOptions,
    /// How many matches of a query are wanted.
    pub(super) most: usize,
    /// Whether answers are printed as JSON.
    pub(super) json: bool,
    /// Whether the number of its query stands before each match.
    pub(super) is_numbered: bool,
}

/// A query and what was found.
struct Found {
    /// Nothing if the recipe makes no fingerprints of texts.
    made: Option<TextFingerprint>,
    matches: Vec<Similar>,
}

/// What was found for a query of a file.
struct Answered {
    cannot_match: bool,
    found: Found,
    /// The lines that say it; nothing if they are long.
    lines: Option<Vec<String>>,
}

impl Answered {
    /// What it takes until it is printed.
    fn bytes(&self) -> usize {
        let lines = self.lines.iter().flatten();
        let lines: usize = lines.map(|line| line.len() + size_of::<String>()).sum();
        lines + size_of_val(&self.found.matches[..])
    }
}

#[derive(Serialize)]
struct FoundLine<'f> {
    query: u64,
    fingerprint: Option<String>,
    reliable: Option<bool>,
    matches: &'f [MatchLine<'f>],
}

#[derive(Serialize)]
struct MatchLine<'f> {
    id: u64,
    fingerprint: String,
    distance: Option<u32>,
    #[serde(flatten)]
    alike: Alike,
    same_wording: bool,
    text: Option<&'f str>,
}

impl TextSearcher<'_> {
    /// Refuses a database without texts, and says what one without bands does not find.
    pub(super) fn check(&self) -> Result<()> {
        let settings = self.database.settings();
        let path = self.database.path();
        let is_similar = matches!(self.candidates, Candidates::Similar { .. });
        if !settings.keep_texts {
            let (option, made_with) = match is_similar {
                true => ("--similar", "--similar"),
                false => ("--verify", "--keep-texts"),
            };
            bail!(
                "{option} compares texts, and {} keeps none, which cannot be changed; load into a \
                 new database with {made_with}",
                path.display()
            );
        }
        if is_similar && !settings.similar {
            note_without_bands(path);
        }
        Ok(())
    }

    /// Asks for one text.
    pub(super) fn ask_text(&self, text: &str, output: &mut Output) -> Result<Answer> {
        self.ask_one(self.query(text)?, None, output)
    }

    /// Asks for what is like a document, which is not among its own matches.
    pub(super) fn ask_document(&self, id: DocId, output: &mut Output) -> Result<Answer> {
        let Some(stored) = self.snapshot.get(id)? else {
            return Ok(not_stored(id.0));
        };
        let Some(text) = stored.text else {
            bail!("document {id} has no text, so nothing can be said to be like it");
        };
        // Its fingerprint need not be the one that its text would have.
        let made = TextFingerprint {
            fingerprint: stored.fingerprint,
            reliable: stored.reliable,
        };
        let query = self.database.text_query(&text)?.with_fingerprint(made);
        self.ask_one(self.limited(query), Some(id), output)
    }

    fn ask_one(
        &self,
        query: TextQuery,
        itself: Option<DocId>,
        output: &mut Output,
    ) -> Result<Answer> {
        if self.cannot_match(&query) {
            note(format_args!("{SAYS_TOO_LITTLE}; it has no matches"));
        }
        let found = self.search(&query, itself)?;
        self.print(0, &found, output)?;
        Ok(answer(!found.matches.is_empty()))
    }

    /// Asks for each text of a file and prints the answers in order.
    pub(super) fn ask_all(&self, mut queries: Queries, output: &mut Output) -> Result<Answer> {
        let mut asked = VecDeque::new();
        let (mut printed, mut unmatched, mut has_found) = (0, 0_u64, false);
        loop {
            if asked.is_empty() {
                let until = Instant::now() + std::time::Duration::from_millis(READING_MS);
                asked = (printed..).zip(queries.read(AT_ONCE, until)?).collect();
            }
            if asked.is_empty() {
                break;
            }
            for (number, answered) in self.answer_some(&mut asked) {
                let answered = answered?;
                match &answered.lines {
                    Some(lines) => lines.iter().try_for_each(|line| output.line(line))?,
                    None => self.print(number, &answered.found, output)?,
                }
                printed += 1;
                unmatched += u64::from(answered.cannot_match);
                has_found |= !answered.found.matches.is_empty();
            }
        }
        if unmatched > 0 {
            note(format_args!(
                "{unmatched} of {printed} texts say too little: too short, or one phrase over and \
                 over; they have no matches"
            ));
        }
        Ok(answer(has_found))
    }

    /// Answers the first of these queries on all cores, as many as memory can bear the answers of.
    fn answer_some(&self, asked: &mut VecDeque<(u64, Asked)>) -> Vec<(u64, Result<Answered>)> {
        let waiting_bytes = AtomicUsize::new(0);
        let next = std::iter::from_fn(|| {
            let is_little = waiting_bytes.load(Ordering::Relaxed) < WAITING_BYTES;
            is_little.then(|| asked.pop_front()).flatten()
        });
        let answers = next.par_bridge().map(|(number, asked)| {
            let answered = self.answer(number, asked);
            if let Ok(answered) = &answered {
                waiting_bytes.fetch_add(answered.bytes(), Ordering::Relaxed);
            }
            (number, answered)
        });
        let mut answers: Vec<_> = answers.collect();
        answers.sort_unstable_by_key(|(number, _)| *number);
        answers
    }

    fn answer(&self, number: u64, asked: Asked) -> Result<Answered> {
        let Asked::Text(text) = asked else {
            bail!("a query is no text");
        };
        let query = self.query(&text)?;
        let found = self.search(&query, None)?;
        Ok(Answered {
            cannot_match: self.cannot_match(&query),
            lines: self.lines(number, &found)?,
            found,
        })
    }

    fn query(&self, text: &str) -> Result<TextQuery> {
        let query = self.limited(self.database.text_query(text)?);
        if self.by_fingerprint_only() && query.fingerprint().is_none() {
            // Says why there is none.
            self.database.fingerprint(text)?;
        }
        Ok(query)
    }

    fn limited(&self, query: TextQuery) -> TextQuery {
        let query = query.likeness(self.likeness.likeness());
        match self.candidates {
            Candidates::Similar { radius: None } => query,
            Candidates::Similar {
                radius: Some(radius),
            } => query.radius(radius),
            Candidates::Within { radius } => query.without_bands().radius(radius),
        }
    }

    fn by_fingerprint_only(&self) -> bool {
        !self.database.settings().similar || matches!(self.candidates, Candidates::Within { .. })
    }

    /// Whether a text says too little to be found in this way.
    fn cannot_match(&self, query: &TextQuery) -> bool {
        self.by_fingerprint_only() && query.fingerprint().is_none_or(|made| !made.reliable)
    }

    fn search(&self, query: &TextQuery, itself: Option<DocId>) -> Result<Found> {
        let mut matches = self.snapshot.similar(query)?;
        matches.retain(|found| Some(found.id) != itself);
        matches.truncate(self.most);
        Ok(Found {
            made: query.fingerprint(),
            matches,
        })
    }

    /// Prints what was found for the query with this number.
    fn print(&self, number: u64, found: &Found, output: &mut Output) -> Result<()> {
        if !self.json {
            let lines = self.table(number, found)?;
            return lines.iter().try_for_each(|line| output.line(line));
        }
        for part in self.json_parts(number, found)? {
            output.bytes(part?.as_bytes())?;
        }
        output.line("")
    }

    /// The lines that say what was found for the query with this number; nothing if they are so long
    /// that it should be [printed](Self::print) a text at a time.
    fn lines(&self, number: u64, found: &Found) -> Result<Option<Vec<String>>> {
        if !self.json {
            return Ok(Some(self.table(number, found)?));
        }
        let mut line = String::new();
        for part in self.json_parts(number, found)? {
            line.push_str(&part?);
            if line.len() > ANSWER_BYTES {
                return Ok(None);
            }
        }
        Ok(Some(vec![line]))
    }

    /// A line of JSON in parts, of which none has more than one text.
    fn json_parts<'f>(
        &'f self,
        number: u64,
        found: &'f Found,
    ) -> Result<impl Iterator<Item = Result<String>> + 'f> {
        let mut start = serde_json::to_string(&FoundLine {
            query: number,
            fingerprint: found.made.map(|made| made.fingerprint.to_string()),
            reliable: found.made.map(|made| made.reliable),
            matches: &[],
        })?;
        let end = start.split_off(start.len() - "]}".len());
        let matches = found.matches.iter().enumerate().map(|(place, found)| {
            let text = self.text(found)?;
            let line = serde_json::to_string(&match_line(found, text.as_deref()))?;
            let comma = if place > 0 { "," } else { "" };
            Ok(format!("{comma}{line}"))
        });
        Ok(once(Ok(start)).chain(matches).chain(once(Ok(end))))
    }

    /// The rows of a table of all matches of a query. Of a text no more is held than is shown.
    fn table(&self, number: u64, found: &Found) -> Result<Vec<String>> {
        let mut columns = vec![Align::Right; 5];
        columns.push(Align::Left);
        if self.is_numbered {
            columns.insert(0, Align::Right);
        }
        let mut table = Table::new(&columns);
        let known = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        for found in &found.matches {
            let text = self.text(found)?;
            let resemblance = &found.resemblance;
            let mut cells = vec![
                known(found.distance.map(|distance| distance.to_string())),
                found.id.to_string(),
                share(resemblance.score()),
                known(resemblance.edit_similarity.map(share)),
                share(resemblance.jaccard),
                known(text.map(|text| one_line(&text, text_columns()))),
            ];
            if self.is_numbered {
                cells.insert(0, number.to_string());
            }
            table.row(cells);
        }
        Ok(table.lines().collect())
    }

    fn text(&self, found: &Similar) -> Result<Option<String>> {
        let document = self.snapshot.get(found.id)?;
        Ok(document.and_then(|document| document.text))
    }
}

fn answer(has_found: bool) -> Answer {
    match has_found {
        true => Answer::Yes,
        false => Answer::No,
    }
}

fn match_line<'m>(found: &Similar, text: Option<&'m str>) -> MatchLine<'m> {
    MatchLine {
        id: found.id.0,
        fingerprint: found.fingerprint.to_string(),
        distance: found.distance,
        alike: found.resemblance.into(),
        same_wording: found.resemblance.same_wording,
        text,
    }
}

/// How wide a text may be beside the other columns.
fn text_columns() -> usize {
    const BESIDE: usize = 40;
    columns().saturating_sub(BESIDE).max(20)
}
