//! The largest groups of near-duplicates, computed on request while the page is sent.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;
use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use clap::ValueEnum;
use maud::{Markup, html};
use serde::Deserialize;
use simdb::clusters::{Clustering, ClustersEvent, Keep};
use simdb::join::SimilarJoin;
use simdb::progress::Progress;
use simdb::{DocId, DocRef, Document, Snapshot};

use super::marks::{merged, plain};
use super::{Section, StreamedPage, Words, page, parts, streamed_page};
use crate::error::ApiError;
use crate::server::Server;

/// The groups, and the members of each, that are shown.
const SHOWN: usize = 30;
const MEMBERS_SHOWN: usize = 5;

/// The memory of a comparison of all texts.
const MEMORY_BYTES: usize = 512 << 20;

#[derive(Clone, Default, Deserialize)]
pub struct GroupsQuery {
    kind: Option<GroupKind>,
    radius: Option<u32>,
}

/// The documents that are near each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum GroupKind {
    /// Fingerprints within the radius
    Bits,
    /// Texts of which one covers the other
    Words,
}

/// The largest radius of groups: the search for pairs takes longer with each bit.
const MAX_RADIUS: u32 = 8;

/// The radius before the slider is moved.
const RADIUS: u32 = 3;

impl GroupsQuery {
    fn radius(&self) -> u32 {
        self.radius.unwrap_or(RADIUS).min(MAX_RADIUS)
    }
}

/// A group of documents: its keeper and its first members.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct DocumentGroup {
    documents: usize,
    keeper: Reverse<DocId>,
    members: Vec<DocId>,
}

pub async fn groups(
    State(server): State<Arc<Server>>,
    headers: HeaderMap,
    query: Result<Query<GroupsQuery>, QueryRejection>,
) -> Response {
    let words = Words::of(&headers);
    // A mistyped address is an empty query.
    let query = query.map(|Query(query)| query).unwrap_or_default();
    let form = form(words, &query);
    let Some(kind) = query.kind else {
        return page(words, Section::Groups, Ok(form));
    };
    streamed_page(server, words, Section::Groups, form, move |server, page| {
        show(server, words, kind, query.radius(), page)
    })
}

fn form(words: &Words, query: &GroupsQuery) -> Markup {
    let kind = query.kind.unwrap_or(GroupKind::Bits);
    html! {
        h1 { (words.groups) }
        p { (words.groups_intro) }
        form action="/groups" method="get" {
            fieldset {
                legend { (words.kind) }
                label { input type="radio" name="kind" value="bits" checked[kind == GroupKind::Bits]; " " (words.by_bits) }
                label { input type="radio" name="kind" value="words" checked[kind == GroupKind::Words]; " " (words.by_words) }
            }
            label for="radius" { (words.radius) }
            input id="radius" name="radius" type="range" min="0" max=(MAX_RADIUS) value=(query.radius());
            output for="radius" hidden { (query.radius()) }
            button { (words.compute) }
        }
    }
}

/// Computes the groups, and sends the progress meanwhile.
fn show(
    server: &Server,
    words: &'static Words,
    kind: GroupKind,
    radius: u32,
    streamed: &Arc<StreamedPage>,
) -> Result<Markup, ApiError> {
    // The last step is the one that is shown, and results hide all of them.
    streamed.send(&html! { p.progress role="status" { (words.computing) "…" } });
    let watched = Arc::clone(streamed);
    let on_progress = move |progress: Progress| {
        let share = progress
            .total
            .filter(|total| *total > 0)
            .map(|total| 100 * progress.done / total);
        let step = html! { p.progress { (words.computing) " " @if let Some(share) = share { (share) " %" } } };
        match watched.send(&step) {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    };
    let snapshot = server.database.snapshot()?.on_progress(on_progress);
    Largest::of(&snapshot, kind, radius)?.show(words, &snapshot)
}

/// The largest groups so far.
#[derive(Default)]
pub struct Largest {
    groups: BinaryHeap<Reverse<DocumentGroup>>,
    count: u64,
    documents: u64,
}

impl Largest {
    /// The largest groups of a snapshot, which reports its progress.
    pub fn of(snapshot: &Snapshot, kind: GroupKind, radius: u32) -> Result<Self, ApiError> {
        let mut largest = Self::default();
        match kind {
            GroupKind::Bits => {
                let clustering = Clustering {
                    radius,
                    ..Clustering::default()
                };
                snapshot.clusters(&clustering, |event| largest.add(event))?;
            }
            GroupKind::Words => {
                let mut join = SimilarJoin::default();
                join.memory_bytes = MEMORY_BYTES;
                snapshot.similar_clusters(&join, Keep::First, |event| largest.add(event))?;
            }
        }
        Ok(largest)
    }

    fn add(&mut self, event: ClustersEvent<'_>) -> ControlFlow<()> {
        if let ClustersEvent::Cluster(cluster) = event {
            self.count += 1;
            self.documents += cluster.members.len() as u64;
            let others = cluster
                .members
                .iter()
                .filter(|member| member.id != cluster.keeper);
            self.groups.push(Reverse(DocumentGroup {
                documents: cluster.members.len(),
                keeper: Reverse(cluster.keeper),
                members: others.take(MEMBERS_SHOWN).map(|member| member.id).collect(),
            }));
            if self.groups.len() > SHOWN {
                self.groups.pop();
            }
        }
        ControlFlow::Continue(())
    }

    pub fn show(self, words: &Words, snapshot: &Snapshot) -> Result<Markup, ApiError> {
        let mut shown = Vec::new();
        for Reverse(group) in self.groups.into_sorted_vec() {
            shown.push(show_group(words, snapshot, &group)?);
        }
        Ok(html! {
            div.results {
                @if shown.is_empty() { p { (words.no_groups) } } @else {
                    p.note { (words.group_marks) }
                    p.note {
                        (parts::counted(self.count, words.all_groups)) " "
                        (parts::counted(self.documents, words.members)) "; " (words.shown)
                    }
                }
                @for group in &shown { (group) }
            }
        })
    }
}

/// The name of a document that may be removed by now.
fn named(document: Option<&Document>, id: DocId) -> Markup {
    parts::link(&document.map_or(DocRef::Id(id), Document::doc_ref))
}

fn show_group(
    words: &Words,
    snapshot: &Snapshot,
    group: &DocumentGroup,
) -> Result<Markup, ApiError> {
    let keeper = snapshot.get(group.keeper.0)?;
    let text = keeper.as_ref().and_then(|keeper| keeper.text.as_deref());
    let mut members = Vec::new();
    for id in &group.members {
        members.extend(snapshot.get(*id)?);
    }
    let left_out = group.documents.saturating_sub(1 + members.len());
    Ok(html! {
        article.group {
            h2 { (parts::counted(group.documents as u64, words.members)) }
            p.head { span.badge.yes { (words.keeper) } " " (named(keeper.as_ref(), group.keeper.0)) }
            @if let Some(text) = text { p.text dir="auto" { (plain(words, text)) } }
            ul {
                @for member in &members {
                    li {
                        (parts::link(&member.doc_ref())) " "
                        @if let Some(keeper) = &keeper {
                            span.note { (parts::counted(member.fingerprint.distance(keeper.fingerprint).into(), words.bits_differ)) }
                        }
                        @if let Some((text, kept)) = member.text.as_deref().zip(text) {
                            p.text dir="auto" { (merged(words, kept, text)) }
                        }
                    }
                }
            }
            @if left_out > 0 { p.note { (parts::counted(left_out as u64, words.other_members)) } }
        }
    })
}
