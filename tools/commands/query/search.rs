//! The search for the documents that match one query.

use anyhow::{Result, anyhow, bail};
use simdb::similarity::Likeness;
use simdb::{
    Database, Decision, DocId, DocRef, Document, Match, Settings, Similar, Snapshot,
    TextFingerprint, TextQuery,
};

use super::file::QueryContent;
use crate::options::SubsetOptions;
use crate::remote::Remote;

/// The search method.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    /// Fingerprints within a radius.
    Within(u32),
    /// The nearest fingerprints, at any distance.
    Nearest,
    /// Similar texts, among the documents that are neighbours in the forest with the query or lie
    /// within a radius. `None` is the default radius of the database.
    Similar(Option<u32>),
    /// Similar texts, among the documents within a radius.
    Verify(u32),
}

impl Way {
    pub fn compares_texts(self) -> bool {
        matches!(self, Self::Similar(_) | Self::Verify(_))
    }
}

/// The database of a search: a file or a server.
#[derive(Clone, Copy)]
pub(super) enum Source<'q> {
    File {
        database: &'q Database,
        /// All documents: a query may name one that is not searched.
        whole: &'q Snapshot,
        searched: &'q Snapshot,
    },
    Server(&'q Remote, &'q Settings),
}

impl Source<'_> {
    pub fn settings(&self) -> &Settings {
        match self {
            Self::File { database, .. } => database.settings(),
            Self::Server(_, settings) => settings,
        }
    }

    pub fn get(&self, document: impl Into<DocRef>) -> Result<Option<Document>> {
        match self {
            Self::File { whole, .. } => Ok(whole.get(document)?),
            Self::Server(remote, _) => remote.get(&document.into()),
        }
    }
}

/// A search, and the format of its answers.
pub(super) struct Searcher<'q> {
    pub source: Source<'q>,
    pub way: Way,
    pub likeness: Likeness,
    pub decision: Decision,
    pub is_narrow: bool,
    /// The documents that a server finds. The snapshot of a file is limited already.
    pub subset: &'q SubsetOptions,
    pub most: usize,
    /// `true` to print JSON.
    pub json: bool,
    /// `true` to print the number of the query before each match.
    pub is_numbered: bool,
}

pub(super) struct Answered {
    /// The fingerprint of the query; `None` if the recipe takes no texts.
    pub fingerprint: Option<TextFingerprint>,
    /// `true` if the query has no matches because its text has too little content.
    pub has_too_little: bool,
    pub matches: Matches,
}

/// Documents that match, by fingerprints or by texts.
pub(super) enum Matches {
    Near(Vec<Match>),
    Similar(Vec<Similar>),
}

/// The help states these sizes.
const _: () = assert!(size_of::<Match>() <= 24 && size_of::<Similar>() <= 80);

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
            has_too_little: !made.reliable,
            matches: Matches::Near(matches),
        }
    }

    pub fn has_matches(&self) -> bool {
        self.matches.len() > 0
    }
}

impl Searcher<'_> {
    pub fn search(&self, query: &QueryContent) -> Result<Answered> {
        match self.source {
            Source::File {
                database, searched, ..
            } => FileSearch {
                searcher: self,
                database,
                snapshot: searched,
            }
            .search(query),
            Source::Server(remote, _) => {
                let queries = std::slice::from_ref(query);
                let answered = self.search_remotely(remote, queries)?.pop();
                answered.ok_or_else(|| anyhow!("the server has not answered the query"))
            }
        }
    }

    pub fn finds_by_fingerprint_only(&self) -> bool {
        !self.source.settings().similar || matches!(self.way, Way::Verify(_))
    }
}

/// A search of a snapshot.
pub(super) struct FileSearch<'s> {
    pub searcher: &'s Searcher<'s>,
    pub database: &'s Database,
    pub snapshot: &'s Snapshot,
}

impl FileSearch<'_> {
    fn search(&self, query: &QueryContent) -> Result<Answered> {
        let itself = match query {
            QueryContent::Document(document) => Some(document.id),
            _ => None,
        };
        let is_other = |id: DocId| Some(id) != itself;
        if self.searcher.way.compares_texts() {
            let text_query = self.text_query(query)?;
            let made = text_query.fingerprint();
            let mut matches = self.snapshot.similar(&text_query)?;
            matches.retain(|found| is_other(found.id));
            matches.truncate(self.searcher.most);
            return Ok(Answered {
                fingerprint: made,
                has_too_little: self.searcher.finds_by_fingerprint_only()
                    && made.is_none_or(|made| !made.reliable),
                matches: Matches::Similar(matches),
            });
        }
        let made = self.fingerprint(query)?;
        // One more match, because the document matches itself.
        let most = self
            .searcher
            .most
            .saturating_add(usize::from(itself.is_some()));
        let mut matches = match self.searcher.way {
            _ if !made.reliable => Vec::new(),
            Way::Within(radius) => self.snapshot.within_limit(made.fingerprint, radius, most)?,
            _ => self.snapshot.nearest(made.fingerprint, most)?,
        };
        matches.retain(|found| is_other(found.id));
        matches.truncate(self.searcher.most);
        Ok(Answered::by_fingerprint(made, matches))
    }

    /// The fingerprint of a query. A document may be stored with another fingerprint than its
    /// text makes.
    pub fn fingerprint(&self, query: &QueryContent) -> simdb::Result<TextFingerprint> {
        match query {
            QueryContent::Text(text) => self.database.fingerprint(text),
            QueryContent::Fingerprint(made) => Ok(*made),
            QueryContent::Document(document) => Ok(document.text_fingerprint()),
        }
    }

    fn text_query(&self, query: &QueryContent) -> Result<TextQuery> {
        let text_query = match query {
            QueryContent::Fingerprint(_) => {
                bail!("a fingerprint cannot be compared with texts; query by a text")
            }
            QueryContent::Text(text) => {
                let text_query = self.database.text_query(text)?;
                if self.searcher.finds_by_fingerprint_only() && text_query.fingerprint().is_none() {
                    // Returns the error with the reason.
                    self.database.fingerprint(text)?;
                }
                text_query
            }
            QueryContent::Document(document) => {
                let Some(text) = &document.text else {
                    let id = document.id;
                    bail!("document {id} has no text to compare");
                };
                let text_query = self.database.text_query(text)?;
                text_query.with_fingerprint(self.fingerprint(query)?)
            }
        };
        let mut text_query = text_query
            .likeness(self.searcher.likeness)
            .decision(self.searcher.decision);
        if self.searcher.is_narrow {
            text_query = text_query.narrow();
        }
        Ok(match self.searcher.way {
            Way::Verify(radius) => text_query.without_forest().radius(radius),
            Way::Similar(Some(radius)) => text_query.radius(radius),
            _ => text_query,
        })
    }
}
