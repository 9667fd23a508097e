//! Every kind of query, answered by a sound database and again by damaged ones.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use simdb::clusters::{Cluster, Clustering, ClustersEvent, Keep, Shape};
use simdb::copies::Copies;
use simdb::diagnosis::{DuplicateGroup, HotKey};
use simdb::maintenance::TableStats;
use simdb::pairs::{Pair, PairsEvent};
use simdb::similarity::Likeness;
use simdb::{
    Database, DocId, Document, Error, Fingerprint, Match, Similar, Snapshot, TextQuery, Timestamp,
};

use crate::corpus::{FIRST_ARRIVAL, SCOPES, words};
use test_support::{Model, SplitMix, planted};

/// A query to a snapshot.
enum Question {
    Documents,
    Get(DocId),
    Within(Fingerprint, u32),
    WithinLimit(Fingerprint, u32, usize),
    WithinBatch(Vec<Fingerprint>, u32),
    Nearest(Fingerprint, usize),
    Similar(Box<TextQuery>),
    Pairs(u32),
    DocumentPairs(u32),
    Clusters(Clustering),
    CountOlder(Timestamp),
    LastId,
    Counts,
    Tables,
    Diagnosis,
    Key(DocId),
    Id(String),
    Copies(DocId),
    MostCopied(usize, Option<Timestamp>),
    WithinScopes(Vec<String>, Fingerprint, u32),
}

/// The kinds of queries to every database. A flushed database gets two more, about its tables.
pub const KINDS: [&str; 13] = [
    "documents",
    "get",
    "within",
    "within_limit",
    "within_batch",
    "nearest",
    "similar",
    "pairs",
    "document_pairs",
    "clusters",
    "count_older",
    "last_id",
    "stats",
];

/// The kinds of queries to a database with keys, copies and scopes, besides [`KINDS`].
pub const KINDS_WITH_KEYS: [&str; 5] = ["key", "id", "copies", "most_copied", "within_scopes"];

/// The answer to a question.
#[derive(Debug, PartialEq)]
enum Answer {
    Documents(Vec<Document>),
    Document(Option<Document>),
    Matches(Vec<Match>),
    Batch(Vec<Vec<Match>>),
    Similar(Vec<Similar>),
    /// Pairs in order.
    Pairs {
        copies: Vec<(Fingerprint, Vec<DocId>)>,
        pairs: Vec<Pair>,
    },
    Clusters(Vec<Cluster>),
    Count(u64),
    /// The last id, or the id of a key.
    LastId(Option<DocId>),
    /// Documents, distinct fingerprints, unreliable ones, texts; first and last arrival.
    Counts([u64; 4], [Option<Timestamp>; 2]),
    Tables(Vec<TableStats>),
    Diagnosis {
        counts: [u64; 5],
        ones: Vec<u64>,
        hottest: Vec<Vec<HotKey>>,
        groups: Vec<DuplicateGroup>,
    },
    Key(Option<String>),
    Copies(Option<Copies>),
    MostCopied(Vec<(DocId, Copies)>),
    /// The error came before any part of the answer.
    Nothing,
}

/// The answer, and the error that cut it short.
type PartialAnswer = (Answer, Option<Error>);

impl Question {
    fn kind(&self) -> &'static str {
        match self {
            Self::Documents => "documents",
            Self::Get(_) => "get",
            Self::Within(..) => "within",
            Self::WithinLimit(..) => "within_limit",
            Self::WithinBatch(..) => "within_batch",
            Self::Nearest(..) => "nearest",
            Self::Similar(_) => "similar",
            Self::Pairs(_) => "pairs",
            Self::DocumentPairs(_) => "document_pairs",
            Self::Clusters(_) => "clusters",
            Self::CountOlder(_) => "count_older",
            Self::LastId => "last_id",
            Self::Counts => "stats",
            Self::Tables => "stats of the tables",
            Self::Diagnosis => "diagnose",
            Self::Key(_) => "key",
            Self::Id(_) => "id",
            Self::Copies(_) => "copies",
            Self::MostCopied(..) => "most_copied",
            Self::WithinScopes(..) => "within_scopes",
        }
    }

    /// Returns `true` if the query reads whole tables.
    fn is_expensive(&self) -> bool {
        !matches!(
            self,
            Self::Get(_)
                | Self::Within(..)
                | Self::WithinLimit(..)
                | Self::Nearest(..)
                | Self::Similar(_)
                | Self::Key(_)
                | Self::Id(_)
                | Self::Copies(_)
                | Self::WithinScopes(..)
        )
    }

    fn ask(&self, snapshot: &Snapshot) -> PartialAnswer {
        match self {
            Self::Documents => {
                let mut visited = Vec::new();
                let mut failed = None;
                for document in snapshot.documents() {
                    match document {
                        Ok(document) => visited.push(document),
                        Err(error) => failed = Some(error),
                    }
                }
                (Answer::Documents(visited), failed)
            }
            Self::Get(id) => whole(snapshot.get(*id).map(Answer::Document)),
            Self::Within(query, radius) => {
                whole(snapshot.within(*query, *radius).map(Answer::Matches))
            }
            Self::WithinLimit(query, radius, limit) => whole(
                snapshot
                    .within_limit(*query, *radius, *limit)
                    .map(Answer::Matches),
            ),
            Self::WithinBatch(queries, radius) => {
                let mut visited = Vec::new();
                let result =
                    snapshot.within_batch_with(queries, *radius, usize::MAX, |place, found| {
                        assert_eq!(place, visited.len(), "within_batch");
                        visited.push(found);
                        ControlFlow::Continue(())
                    });
                (Answer::Batch(visited), result.err())
            }
            Self::Nearest(query, count) => {
                whole(snapshot.nearest(*query, *count).map(Answer::Matches))
            }
            Self::Similar(query) => whole(snapshot.similar(query).map(Answer::Similar)),
            Self::Pairs(radius) => {
                let (mut copies, mut pairs) = (Vec::new(), Vec::new());
                let result = snapshot.pairs(*radius, |event| {
                    match event {
                        PairsEvent::Copies {
                            fingerprint,
                            documents,
                        } => copies.push((fingerprint, documents.to_vec())),
                        PairsEvent::Pairs(some) => pairs.extend_from_slice(some),
                        _ => {}
                    }
                    ControlFlow::Continue(())
                });
                copies.sort();
                pairs.sort();
                (Answer::Pairs { copies, pairs }, result.err())
            }
            Self::DocumentPairs(radius) => {
                let mut pairs = Vec::new();
                let result = snapshot.document_pairs(*radius, |pair| {
                    pairs.push(pair);
                    ControlFlow::Continue(())
                });
                pairs.sort();
                let copies = Vec::new();
                (Answer::Pairs { copies, pairs }, result.err())
            }
            Self::Clusters(clustering) => {
                let mut visited = Vec::new();
                let result = snapshot.clusters(clustering, |event| {
                    if let ClustersEvent::Cluster(cluster) = event {
                        visited.push(cluster.clone());
                    }
                    ControlFlow::Continue(())
                });
                (Answer::Clusters(visited), result.err())
            }
            Self::CountOlder(moment) => whole(snapshot.count_older(*moment).map(Answer::Count)),
            Self::LastId => whole(snapshot.last_id().map(Answer::LastId)),
            Self::Counts => whole(snapshot.stats().map(|stats| {
                let counts = [
                    stats.documents,
                    stats.distinct_fingerprints,
                    stats.unreliable,
                    stats.texts,
                ];
                Answer::Counts(counts, [stats.oldest_arrival, stats.latest_arrival])
            })),
            Self::Tables => whole(snapshot.stats().map(|stats| Answer::Tables(stats.tables))),
            Self::Diagnosis => whole(snapshot.diagnose().map(|diagnosis| {
                let ones = diagnosis.ones().to_vec();
                let duplicates = diagnosis.duplicates;
                Answer::Diagnosis {
                    counts: [
                        diagnosis.documents,
                        diagnosis.distinct_fingerprints,
                        diagnosis.unreliable,
                        duplicates.groups,
                        duplicates.documents,
                    ],
                    ones,
                    hottest: diagnosis.blocks.map(|block| block.hottest).to_vec(),
                    groups: duplicates.largest,
                }
            })),
            Self::Key(id) => whole(snapshot.key(*id).map(Answer::Key)),
            Self::Id(key) => whole(snapshot.id(key).map(Answer::LastId)),
            Self::Copies(id) => whole(snapshot.copies(*id).map(Answer::Copies)),
            Self::MostCopied(limit, since) => {
                whole(snapshot.most_copied(*limit, *since).map(Answer::MostCopied))
            }
            Self::WithinScopes(scopes, query, radius) => whole(
                (snapshot.in_scopes(scopes))
                    .and_then(|snapshot| snapshot.within(*query, *radius))
                    .map(Answer::Matches),
            ),
        }
    }

    /// The answer of the model; `None` if the model has none.
    fn answer_of(&self, model: &Model) -> Option<Answer> {
        let documents = || model.documents.values();
        Some(match self {
            Self::Documents => Answer::Documents(documents().cloned().collect()),
            Self::Get(id) => Answer::Document(model.documents.get(id).cloned()),
            Self::Within(query, radius) => Answer::Matches(model.within(*query, *radius)),
            Self::WithinLimit(query, radius, limit) => {
                let mut found = model.within(*query, *radius);
                found.truncate(*limit);
                Answer::Matches(found)
            }
            Self::WithinBatch(queries, radius) => {
                let found = queries.iter().map(|query| model.within(*query, *radius));
                Answer::Batch(found.collect())
            }
            Self::Nearest(query, count) => Answer::Matches(model.nearest(*query, *count)),
            Self::CountOlder(moment) => {
                let is_older = |document: &&Document| document.arrival < Some(*moment);
                Answer::Count(documents().filter(is_older).count() as u64)
            }
            Self::LastId => Answer::LastId(model.documents.keys().next_back().copied()),
            Self::Counts => {
                let count = |is: fn(&&Document) -> bool| documents().filter(is).count() as u64;
                let counts = [
                    model.documents.len() as u64,
                    model.distinct_fingerprints(),
                    count(|document| !document.reliable),
                    count(|document| document.text.is_some()),
                ];
                let arrivals = || documents().filter_map(|document| document.arrival);
                Answer::Counts(counts, [arrivals().min(), arrivals().max()])
            }
            Self::Key(id) => {
                let stored = model.documents.get(id);
                Answer::Key(stored.and_then(|stored| stored.key.clone()))
            }
            Self::Id(key) => Answer::LastId(model.id_of(key)),
            Self::Copies(id) => {
                let stored = model.documents.get(id);
                Answer::Copies(stored.and_then(|stored| stored.copies.clone()))
            }
            Self::MostCopied(limit, since) => {
                let mut most = model.most_copied(*since);
                most.truncate(*limit);
                Answer::MostCopied(most)
            }
            Self::WithinScopes(scopes, query, radius) => {
                Answer::Matches(model.within_scopes(Some(scopes), *query, *radius))
            }
            _ => return None,
        })
    }
}

/// An answer that is given whole or not at all.
fn whole(answer: Result<Answer, Error>) -> PartialAnswer {
    match answer {
        Ok(answer) => (answer, None),
        Err(error) => (Answer::Nothing, Some(error)),
    }
}

impl Answer {
    /// Returns `true` if this is a prefix of the right answer, as visited before an error.
    fn is_prefix_of(&self, right: &Self) -> bool {
        match (self, right) {
            (Self::Nothing, _) => true,
            (Self::Documents(visited), Self::Documents(right)) => right.starts_with(visited),
            (Self::Batch(visited), Self::Batch(right)) => right.starts_with(visited),
            (Self::Clusters(visited), Self::Clusters(right)) => right.starts_with(visited),
            (
                Self::Pairs { copies, pairs },
                Self::Pairs {
                    copies: right_copies,
                    pairs: right_pairs,
                },
            ) => {
                let is_in = |pair| right_pairs.binary_search(pair).is_ok();
                let is_copy = |copy| right_copies.binary_search(copy).is_ok();
                pairs.iter().all(is_in) && copies.iter().all(is_copy)
            }
            _ => false,
        }
    }

    /// Returns `true` if the answer contains much of the database.
    fn is_substantial(&self) -> bool {
        match self {
            Self::Similar(found) => found.len() > 1,
            Self::Pairs { pairs, .. } => pairs.len() > 100,
            Self::Clusters(clusters) => clusters.len() > 10,
            Self::Batch(found) => found.iter().any(|found| !found.is_empty()),
            _ => true,
        }
    }
}

/// Right and refused answers, by stage of the test and kind of query.
#[derive(Debug, Default)]
pub struct Tally(BTreeMap<(&'static str, &'static str), [u64; 2]>);

impl Tally {
    pub fn count(&mut self, stage: &'static str, kind: &'static str, is_right: bool) {
        let counts = self.0.entry((stage, kind)).or_default();
        counts[usize::from(!is_right)] += 1;
    }

    /// Counts of right and refused answers.
    pub fn counts(&self, stage: &'static str, kind: &'static str) -> [u64; 2] {
        self.0.get(&(stage, kind)).copied().unwrap_or_default()
    }
}

/// Questions with the right answers.
pub struct Exam(Vec<(Question, Answer)>);

impl Exam {
    /// The answers of a sound database, checked against the model. A flushed database is also asked
    /// about its tables.
    pub fn new(database: &Database, model: &Model, is_merged: bool) -> Self {
        let snapshot = database.snapshot().unwrap();
        let answered = questions(database, model, is_merged)
            .into_iter()
            .map(|question| {
                let (answer, error) = question.ask(&snapshot);
                assert!(error.is_none(), "{}: {error:?}", question.kind());
                if let Some(right) = question.answer_of(model) {
                    assert_eq!(answer, right, "{}", question.kind());
                }
                assert!(answer.is_substantial(), "{}: {answer:?}", question.kind());
                (question, answer)
            });
        Self(answered.collect())
    }

    /// Asks a fifth of the cheap questions and one in `expensive_one_in` of the expensive ones.
    /// Returns `true` if all answers are right. Any other answer must be an error that `refuses`
    /// accepts.
    pub fn ask(
        &self,
        database: &Database,
        sequence: &mut SplitMix,
        expensive_one_in: u64,
        refuses: &dyn Fn(&Error) -> bool,
        (tally, stage): (&RefCell<Tally>, &'static str),
    ) -> bool {
        let snapshot = match database.snapshot() {
            Ok(snapshot) => snapshot,
            Err(error) => {
                assert!(refuses(&error), "{stage}: {error:?}");
                return false;
            }
        };
        let mut all_right = true;
        for (question, right) in &self.0 {
            let one_in = if question.is_expensive() {
                expensive_one_in
            } else {
                5
            };
            if sequence.below(one_in) != 0 {
                continue;
            }
            let kind = question.kind();
            let (answer, error) = question.ask(&snapshot);
            if let Some(error) = &error {
                assert!(refuses(error), "{stage}, {kind}: {error:?}");
                assert!(answer.is_prefix_of(right), "{stage}, {kind}: wrong answer");
            } else {
                assert!(answer == *right, "{stage}, {kind}: a wrong answer");
            }
            tally.borrow_mut().count(stage, kind, error.is_none());
            all_right &= error.is_none();
        }
        all_right
    }
}

fn questions(database: &Database, model: &Model, is_merged: bool) -> Vec<Question> {
    let mut sequence = SplitMix(77);
    let ids: Vec<DocId> = model.documents.keys().copied().collect();
    let mut some = || ids[sequence.below(ids.len() as u64) as usize];
    let some_ids: Vec<DocId> = (0..60).map(|_| some()).collect();
    let mut near = |id: &DocId| planted(&mut sequence, model.documents[id].fingerprint, 2);
    let queries: Vec<Fingerprint> = some_ids.iter().map(&mut near).collect();
    let clustering = Clustering::default();
    let mut questions = vec![
        Question::Documents,
        Question::WithinBatch(queries.clone(), 3),
        Question::WithinBatch(queries.clone(), 7),
        Question::Pairs(3),
        Question::DocumentPairs(2),
        Question::Clusters(Clustering {
            shape: Shape::Connected { most_documents: 0 },
            keep: Keep::Oldest,
            ..clustering
        }),
        Question::Clusters(Clustering {
            keep: Keep::Longest,
            likeness: Some(Likeness::default()),
            ..clustering
        }),
        Question::LastId,
        Question::Counts,
    ];
    let moments = [FIRST_ARRIVAL + 100, FIRST_ARRIVAL + 300, u64::MAX];
    questions.extend(moments.map(|moment| Question::CountOlder(Timestamp(moment))));
    if is_merged {
        questions.extend([Question::Tables, Question::Diagnosis]);
    }
    for (id, query) in some_ids.iter().zip(&queries) {
        questions.extend([
            Question::Get(*id),
            Question::Get(DocId(id.0 + 1_000_000)),
            Question::Within(*query, 0),
            Question::Within(*query, 3),
            Question::Within(*query, 5),
        ]);
    }
    for query in &queries[..20] {
        questions.push(Question::WithinLimit(*query, 64, 3));
        questions.push(Question::Nearest(*query, 5));
    }
    for place in (1..3_000).step_by(90) {
        let text = Some(words(place, 20));
        if model.documents.values().any(|stored| stored.text == text) {
            let query = database.text_query(&words(place, 20)).unwrap();
            questions.push(Question::Similar(Box::new(query)));
        }
    }
    if model.last_id > DocId(0) {
        questions.extend(questions_with_keys(model, &some_ids, &queries));
    }
    questions
}

/// Questions to a database with keys, copies and scopes.
fn questions_with_keys(model: &Model, ids: &[DocId], queries: &[Fingerprint]) -> Vec<Question> {
    let since = Some(Timestamp(FIRST_ARRIVAL + 200));
    let mut questions = vec![
        Question::MostCopied(10, None),
        Question::MostCopied(2_000, since),
        Question::Id("unknown".to_owned()),
    ];
    for ((number, id), query) in ids.iter().enumerate().zip(queries) {
        let key = model.documents[id].key.clone();
        let scopes = [String::new(), SCOPES[number % SCOPES.len()].to_owned()];
        questions.extend(key.map(Question::Id));
        questions.extend([
            Question::Key(*id),
            Question::Copies(*id),
            Question::WithinScopes(scopes.to_vec(), *query, 4),
        ]);
    }
    questions
}
