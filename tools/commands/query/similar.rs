//! Which documents have texts like that of a query, and how they are printed.

use std::time::Instant;

use anyhow::{Result, anyhow, bail};
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
    matches: Vec<(Similar, Option<String>)>,
}

#[derive(Serialize)]
struct FoundLine<'f> {
    query: u64,
    fingerprint: Option<String>,
    reliable: Option<bool>,
    matches: Vec<MatchLine<'f>>,
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
        for line in self.lines(0, &found)? {
            output.line(line)?;
        }
        Ok(answer(!found.matches.is_empty()))
    }

    /// Asks for each text of a file and prints the answers in order.
    pub(super) fn ask_all(&self, mut queries: Queries, output: &mut Output) -> Result<Answer> {
        let (mut printed, mut unmatched, mut has_found) = (0, 0_u64, false);
        loop {
            let until = Instant::now() + std::time::Duration::from_millis(READING_MS);
            let asked = queries.read(AT_ONCE, until)?;
            if asked.is_empty() {
                break;
            }
            let first = printed;
            let answers: Vec<Result<(bool, bool, Vec<String>)>> = asked
                .into_par_iter()
                .enumerate()
                .map(|(place, asked)| {
                    let Asked::Text(text) = asked else {
                        return Err(anyhow!("a query is no text"));
                    };
                    let query = self.query(&text)?;
                    let found = self.search(&query, None)?;
                    let lines = self.lines(first + place as u64, &found)?;
                    Ok((self.cannot_match(&query), !found.matches.is_empty(), lines))
                })
                .collect();
            for answer in answers {
                let (cannot_match, has_matches, lines) = answer?;
                for line in lines {
                    output.line(line)?;
                }
                printed += 1;
                unmatched += u64::from(cannot_match);
                has_found |= has_matches;
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
        let with_text = |found: Similar| {
            let document = self.snapshot.get(found.id)?;
            Ok((found, document.and_then(|document| document.text)))
        };
        Ok(Found {
            made: query.fingerprint(),
            matches: matches.into_iter().map(with_text).collect::<Result<_>>()?,
        })
    }

    /// The lines that say what was found for the query with this number.
    fn lines(&self, number: u64, found: &Found) -> Result<Vec<String>> {
        if self.json {
            let line = serde_json::to_string(&FoundLine {
                query: number,
                fingerprint: found.made.map(|made| made.fingerprint.to_string()),
                reliable: found.made.map(|made| made.reliable),
                matches: found.matches.iter().map(match_line).collect(),
            })?;
            return Ok(vec![line]);
        }
        let mut columns = vec![Align::Right; 5];
        columns.push(Align::Left);
        if self.is_numbered {
            columns.insert(0, Align::Right);
        }
        let mut table = Table::new(&columns);
        let known = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        for (found, text) in &found.matches {
            let resemblance = &found.resemblance;
            let mut cells = vec![
                known(found.distance.map(|distance| distance.to_string())),
                found.id.to_string(),
                share(resemblance.score()),
                known(resemblance.edit_similarity.map(share)),
                share(resemblance.jaccard),
                known(text.as_deref().map(|text| one_line(text, text_columns()))),
            ];
            if self.is_numbered {
                cells.insert(0, number.to_string());
            }
            table.row(cells);
        }
        Ok(table.lines().collect())
    }
}

fn answer(has_found: bool) -> Answer {
    match has_found {
        true => Answer::Yes,
        false => Answer::No,
    }
}

fn match_line((found, text): &(Similar, Option<String>)) -> MatchLine<'_> {
    MatchLine {
        id: found.id.0,
        fingerprint: found.fingerprint.to_string(),
        distance: found.distance,
        alike: found.resemblance.into(),
        same_wording: found.resemblance.same_wording,
        text: text.as_deref(),
    }
}

/// How wide a text may be beside the other columns.
fn text_columns() -> usize {
    const BESIDE: usize = 40;
    columns().saturating_sub(BESIDE).max(20)
}
