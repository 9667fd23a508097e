//! The search for the documents that match one query.

use anyhow::{Result, bail};
use simdb::{Database, DocId, Likeness, Match, Similar, Snapshot, TextFingerprint, TextQuery};

use super::file::Asked;

/// The way in which documents are found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    /// By fingerprints within a radius.
    Within(u32),
    /// By the nearest fingerprints, however far.
    Nearest,
    /// By texts, among the documents that share a band with the query or lie within a radius, by
    /// default the one that suits the database.
    Similar(Option<u32>),
    /// By texts, among the documents within a radius.
    Verify(u32),
}

impl Way {
    pub fn compares_texts(self) -> bool {
        matches!(self, Self::Similar(_) | Self::Verify(_))
    }
}

/// A way of searching one snapshot, and of printing the answers.
pub(super) struct Searcher<'q> {
    pub database: &'q Database,
    pub snapshot: &'q Snapshot,
    pub way: Way,
    pub likeness: Likeness,
    /// The most matches of a query.
    pub most: usize,
    /// `true` if answers are printed as JSON.
    pub json: bool,
    /// `true` if the number of its query stands before each match.
    pub is_numbered: bool,
}

/// The matches of a query.
pub(super) struct Answered {
    /// The fingerprint of the query; `None` if the recipe makes none of texts.
    pub fingerprint: Option<TextFingerprint>,
    /// `true` if the query cannot have matches because its text says too little.
    pub says_too_little: bool,
    pub matches: Matches,
}

/// Documents that match, by fingerprints or by texts.
pub(super) enum Matches {
    Near(Vec<Match>),
    Similar(Vec<Similar>),
}

/// The help states the memory of a match until it is printed.
const _: () = assert!(size_of::<Match>() <= 24 && size_of::<Similar>() <= 64);

impl Matches {
    pub fn len(&self) -> usize {
        match self {
            Self::Near(matches) => matches.len(),
            Self::Similar(matches) => matches.len(),
        }
    }
}

impl Answered {
    pub fn by_fingerprint(made: TextFingerprint, matches: Vec<Match>) -> Self {
        Self {
            fingerprint: Some(made),
            says_too_little: !made.reliable,
            matches: Matches::Near(matches),
        }
    }

    pub fn has_matches(&self) -> bool {
        self.matches.len() > 0
    }
}

impl Searcher<'_> {
    /// Finds the matches of a query.
    pub fn search(&self, asked: &Asked) -> Result<Answered> {
        let itself = match asked {
            Asked::Document(document) => Some(document.id),
            _ => None,
        };
        let is_other = |id: DocId| Some(id) != itself;
        if self.way.compares_texts() {
            let query = self.text_query(asked)?;
            let made = query.fingerprint();
            let mut matches = self.snapshot.similar(&query)?;
            matches.retain(|found| is_other(found.id));
            matches.truncate(self.most);
            return Ok(Answered {
                fingerprint: made,
                says_too_little: self.finds_by_fingerprint_only()
                    && made.is_none_or(|made| !made.reliable),
                matches: Matches::Similar(matches),
            });
        }
        let made = self.fingerprint(asked)?;
        // One more, because the document itself may be among them.
        let most = self.most.saturating_add(usize::from(itself.is_some()));
        let mut matches = match self.way {
            _ if !made.reliable => Vec::new(),
            Way::Within(radius) => self.snapshot.within_limit(made.fingerprint, radius, most)?,
            _ => self.snapshot.nearest(made.fingerprint, most)?,
        };
        matches.retain(|found| is_other(found.id));
        matches.truncate(self.most);
        Ok(Answered::by_fingerprint(made, matches))
    }

    /// The fingerprint of a query; that of a document need not be the one that its text would have.
    pub fn fingerprint(&self, asked: &Asked) -> simdb::Result<TextFingerprint> {
        match asked {
            Asked::Text(text) => self.database.fingerprint(text),
            Asked::Fingerprint(made) => Ok(*made),
            Asked::Document(document) => Ok(TextFingerprint {
                fingerprint: document.fingerprint,
                reliable: document.reliable,
            }),
        }
    }

    fn text_query(&self, asked: &Asked) -> Result<TextQuery> {
        let query = match asked {
            Asked::Fingerprint(_) => {
                bail!("a fingerprint cannot be compared with texts; ask for a text")
            }
            Asked::Text(text) => {
                let query = self.database.text_query(text)?;
                if self.finds_by_fingerprint_only() && query.fingerprint().is_none() {
                    // The error says why there is none.
                    self.database.fingerprint(text)?;
                }
                query
            }
            Asked::Document(document) => {
                let Some(text) = &document.text else {
                    let id = document.id;
                    bail!("document {id} has no text, so nothing can be said to be like it");
                };
                let query = self.database.text_query(text)?;
                query.with_fingerprint(self.fingerprint(asked)?)
            }
        };
        let query = query.likeness(self.likeness);
        Ok(match self.way {
            Way::Verify(radius) => query.without_bands().radius(radius),
            Way::Similar(Some(radius)) => query.radius(radius),
            _ => query,
        })
    }

    fn finds_by_fingerprint_only(&self) -> bool {
        !self.database.settings().similar || matches!(self.way, Way::Verify(_))
    }
}
