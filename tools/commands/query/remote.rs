//! Queries that a server answers.

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::file::QueryContent;
use super::search::{Answered, Matches, Searcher, Way};
use crate::console::note;
use crate::remote::{MAX_MATCHES, Remote, RemoteMatches, named, wire_name};

impl Searcher<'_> {
    /// The answers to queries, in order.
    pub fn search_remotely(
        &self,
        remote: &Remote,
        queries: &[QueryContent],
    ) -> Result<Vec<Answered>> {
        let queries = queries
            .iter()
            .map(|query| self.wire(query))
            .collect::<Result<Vec<_>>>()?;
        let options = self.wire_options()?;
        if self.way.compares_texts() {
            let answers = remote.similar(&queries, &options)?;
            return Ok(self.answered(answers, Matches::Similar));
        }
        let answers = remote.query(&queries, &options)?;
        Ok(self.answered(answers, Matches::Near))
    }

    fn wire(&self, query: &QueryContent) -> Result<Value> {
        Ok(match query {
            QueryContent::Text(text) => json!({ "text": text }),
            QueryContent::Document(document) => named(&document.id.into()),
            QueryContent::Fingerprint(_) if self.way.compares_texts() => {
                bail!("a fingerprint cannot be compared with texts; query by a text")
            }
            QueryContent::Fingerprint(made) => {
                json!({ "fingerprint": made.fingerprint.to_string() })
            }
        })
    }

    fn wire_options(&self) -> Result<Value> {
        let limit = self.most.min(MAX_MATCHES);
        let of_texts = |radius: Option<u32>| -> Result<Value> {
            Ok(json!({
                "radius": radius,
                "forest": !matches!(self.way, Way::Verify(_)),
                "narrow": self.is_narrow,
                "decision": wire_name(self.decision)?,
                "edit_similarity": self.likeness.edit_similarity,
                "jaccard": self.likeness.jaccard,
                "limit": limit,
            }))
        };
        let mut options = match self.way {
            Way::Nearest => json!({ "nearest": limit }),
            Way::Within(radius) => json!({ "radius": radius, "limit": limit }),
            Way::Verify(radius) => of_texts(Some(radius))?,
            Way::Similar(radius) => of_texts(radius)?,
        };
        self.subset.add_to(&mut options);
        Ok(options)
    }

    fn answered<M>(
        &self,
        answers: Vec<RemoteMatches<M>>,
        matches: impl Fn(Vec<M>) -> Matches,
    ) -> Vec<Answered> {
        if self.most > MAX_MATCHES && answers.iter().any(|answer| answer.is_cut) {
            note(format_args!(
                "a server gives at most {MAX_MATCHES} matches of a query; others are left out"
            ));
        }
        let by_fingerprint = !self.way.compares_texts() || self.finds_by_fingerprint_only();
        let answered = answers.into_iter().map(|answer| Answered {
            fingerprint: answer.made,
            has_too_little: by_fingerprint && answer.made.is_none_or(|made| !made.reliable),
            matches: matches(answer.matches),
        });
        answered.collect()
    }
}
