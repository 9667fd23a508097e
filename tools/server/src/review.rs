//! [`Reviews`]: pairs of stored texts in doubt, and the file of the answers about them.

use std::collections::{HashSet, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use simdb::containment::{Containment, Verdict, Weights};
use simdb::similarity::Resemblance;
use simdb::{Database, Decision, DocId, DocRef, Normaliser, Snapshot};
use simdb_tools::console::note;
use simdb_tools::formats::named_document;

use crate::error::ApiError;

/// The documents whose similar texts make the pairs of one search, and the most pairs of each.
const SAMPLED: usize = 200;
const PAIRS_OF_EACH: usize = 5;

/// Up to 20,000 documents, all are searched in turn.
const SMALL_DATABASE: usize = 20_000;

/// The searches for the next pair before the page is answered without one.
const SEARCHES_AT_ONCE: usize = 4;

/// Longer texts are not shown to a person.
const MAX_TEXT_BYTES: usize = 20_000;

/// An answer of a person about two texts, with the words of the judged pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Removable,
    Different,
    Unsure,
}

/// The start of each line: a last line without its end is removed if it is ours.
const LINE_START: &[u8] = br#"{"set":"review","#;

/// A line of the file.
#[derive(Clone, Serialize, Deserialize)]
struct ReviewLine {
    set: String,
    a_id: String,
    b_id: String,
    a: String,
    b: String,
    gold: Answer,
    /// The decision of simdb when the pair was shown.
    verdict: Verdict,
}

/// A stored text.
#[derive(Clone)]
pub struct ReviewedText {
    pub name: DocRef,
    pub text: String,
}

/// Two stored texts, and the decision of simdb about them.
#[derive(Clone)]
pub struct DoubtfulPair {
    pub a: ReviewedText,
    pub b: ReviewedText,
    pub found: Containment,
    /// The larger, the more doubtful.
    doubt: f64,
}

impl ReviewedText {
    /// The key, or the digits of the id.
    pub fn name(&self) -> String {
        match &self.name {
            DocRef::Id(id) => id.to_string(),
            DocRef::Key(key) => key.clone(),
        }
    }
}

impl DoubtfulPair {
    fn names(&self) -> (String, String) {
        (self.a.name(), self.b.name())
    }
}

/// Answers by the decision of simdb: removable or not.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    removable: [u64; 2],
    different: [u64; 2],
    unsure: u64,
}

impl Counts {
    fn add(&mut self, line: &ReviewLine) {
        let by_simdb = usize::from(line.verdict.is_removable());
        match line.gold {
            Answer::Removable => self.removable[by_simdb] += 1,
            Answer::Different => self.different[by_simdb] += 1,
            Answer::Unsure => self.unsure += 1,
        }
    }

    pub fn answers(&self) -> u64 {
        self.removable.iter().chain(&self.different).sum::<u64>() + self.unsure
    }

    /// The pairs that simdb would remove rightly, and all that it would remove.
    pub fn precision(&self) -> (u64, u64) {
        (self.removable[1], self.removable[1] + self.different[1])
    }

    /// The pairs that simdb would remove rightly, and all that may be removed.
    pub fn recall(&self) -> (u64, u64) {
        (self.removable[1], self.removable[0] + self.removable[1])
    }
}

pub struct Reviews {
    path: PathBuf,
    /// `true` if documents have keys, which are `a_id` and `b_id` in the file.
    has_keys: bool,
    state: Mutex<ReviewState>,
}

#[derive(Default)]
struct ReviewState {
    file: Option<File>,
    /// The lines of the file, each with the length of the file before it. Texts are dropped.
    lines: Vec<(u64, ReviewLine)>,
    len_bytes: u64,
    /// The next pairs, the most doubtful first.
    pairs: VecDeque<DoubtfulPair>,
    /// Pairs that were answered, or put into `pairs`.
    seen: HashSet<(String, String)>,
    /// Counts the searches, so that each samples other documents.
    searches: u64,
}

impl Reviews {
    /// Reads the answers so far. A file of another kind is an error, and stays as it is.
    pub fn open(path: &Path, has_keys: bool) -> Result<Self> {
        let failed = || format!("cannot use {} for the answers of a review", path.display());
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .with_context(failed)?;
        let mut state = ReviewState::default();
        let mut reader = BufReader::new(&file);
        let mut text = Vec::new();
        while reader.read_until(b'\n', &mut text).with_context(failed)? > 0 {
            let number = state.lines.len() + 1;
            let has_end = text.ends_with(b"\n");
            let is_own = text.starts_with(LINE_START) || LINE_START.starts_with(&text);
            match serde_json::from_slice::<ReviewLine>(&text) {
                Ok(line) => {
                    if !has_end {
                        // The next answer is a line of its own.
                        (&file).write_all(b"\n").with_context(failed)?;
                        text.push(b'\n');
                    }
                    state.push(line, text.len() as u64);
                }
                Err(_) if !has_end && is_own => {
                    note(format_args!(
                        "warning: line {number} of {} is cut short, by a crash or a full disk; it is removed, \
                         and its pair is asked for again",
                        path.display()
                    ));
                    file.set_len(state.len_bytes).with_context(failed)?;
                }
                Err(error) => {
                    return Err(error)
                        .with_context(|| format!("line {number} is no answer"))
                        .with_context(failed);
                }
            }
            text.clear();
        }
        state.file = Some(file);
        Ok(Self {
            path: path.to_path_buf(),
            has_keys,
            state: Mutex::new(state),
        })
    }

    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.state
            .lock()
            .lines
            .iter()
            .for_each(|(_, line)| counts.add(line));
        counts
    }

    /// The pair to judge next; `None` if the documents of some searches have no similar texts.
    pub fn next_pair(&self, database: &Database) -> Result<Option<DoubtfulPair>, ApiError> {
        let mut state = self.state.lock();
        for _ in 0..SEARCHES_AT_ONCE {
            if !state.pairs.is_empty() {
                break;
            }
            let snapshot = database.snapshot()?;
            let mut found = doubtful_pairs(database, &snapshot, state.searches)?;
            state.searches += 1;
            found.retain(|pair| state.seen.insert(pair.names()));
            found.sort_by(|a, b| b.doubt.total_cmp(&a.doubt));
            state.pairs.extend(found);
        }
        Ok(state.pairs.front().cloned())
    }

    /// Appends an answer about two documents, by their keys or ids. Returns `false`, and appends
    /// nothing, if the pair is not the next one: it was answered in another window.
    pub fn answer(&self, names: (String, String), answer: Answer) -> Result<bool, ApiError> {
        let mut state = self.state.lock();
        let is_next = |pair: &DoubtfulPair| pair.names() == names;
        if !state.pairs.front().is_some_and(is_next) {
            return Ok(false);
        }
        let Some(pair) = state.pairs.pop_front() else {
            return Ok(false);
        };
        let line = ReviewLine {
            set: "review".to_owned(),
            a_id: names.0,
            b_id: names.1,
            a: pair.a.text.clone(),
            b: pair.b.text.clone(),
            gold: answer,
            verdict: pair.found.verdict,
        };
        let mut text = serde_json::to_vec(&line).map_err(|error| self.failed(&error))?;
        text.push(b'\n');
        let before = state.len_bytes;
        let written = state
            .file
            .as_mut()
            .map(|file| file.write_all(&text).and_then(|()| file.sync_data()));
        match written {
            Some(Ok(())) => {
                state.push(line, text.len() as u64);
                Ok(true)
            }
            Some(Err(error)) => {
                // A part of the line may be in the file.
                state.cut(before);
                state.pairs.push_front(pair);
                Err(self.failed(&error))
            }
            None => Err(ApiError::internal("the file of answers is not open")),
        }
    }

    /// Takes the last answer back, and shows its pair again if it was given in this run.
    pub fn undo(&self) -> Result<(), ApiError> {
        let mut state = self.state.lock();
        let Some((before, line)) = state.lines.pop() else {
            return Ok(());
        };
        state.cut(before);
        let names = [&line.a_id, &line.b_id].map(|name| named_document(name, self.has_keys));
        if let [Ok(a), Ok(b)] = names {
            let found = Containment::new(&Normaliser::new(), Weights::builtin(), &line.a, &line.b);
            let [a, b] = [(a, line.a), (b, line.b)].map(|(name, text)| ReviewedText { name, text });
            state.pairs.push_front(DoubtfulPair {
                a,
                b,
                found,
                doubt: 0.0,
            });
        }
        Ok(())
    }

    fn failed(&self, error: &dyn std::error::Error) -> ApiError {
        ApiError::internal(format!("cannot write {}: {error}", self.path.display()))
    }
}

impl ReviewState {
    fn push(&mut self, line: ReviewLine, len_bytes: u64) {
        self.seen.insert((line.a_id.clone(), line.b_id.clone()));
        self.lines.push((self.len_bytes, line));
        self.len_bytes += len_bytes;
    }

    /// Cuts the file to this length.
    fn cut(&mut self, len_bytes: u64) {
        self.len_bytes = len_bytes;
        if let Some(file) = &self.file
            && let Err(error) = file.set_len(len_bytes).and_then(|()| file.sync_data())
        {
            log::error!("cannot cut the file of answers: {error}");
        }
    }
}

/// Pairs of similar texts of some documents. Each search starts at other documents.
fn doubtful_pairs(
    database: &Database,
    snapshot: &Snapshot,
    search: u64,
) -> Result<Vec<DoubtfulPair>, ApiError> {
    let mut pairs = Vec::new();
    for document in sampled(snapshot, search)? {
        let (id, name) = (document.id, document.doc_ref());
        let Some(text) = document.text.filter(|text| text.len() <= MAX_TEXT_BYTES) else {
            continue;
        };
        let query = database.text_query(&text)?.decision(Decision::Alike);
        let alike = match database.settings().scopes {
            true => snapshot
                .in_scopes([document.scope.as_deref().unwrap_or_default()])?
                .similar(&query)?,
            false => snapshot.similar(&query)?,
        };
        for found in alike
            .iter()
            .filter(|found| found.id != id)
            .take(PAIRS_OF_EACH)
        {
            let Some(other) = snapshot.get(found.id)? else {
                continue;
            };
            let other_name = other.doc_ref();
            let Some(other_text) = other.text.filter(|text| text.len() <= MAX_TEXT_BYTES) else {
                continue;
            };
            let own = ReviewedText {
                name: name.clone(),
                text: text.clone(),
            };
            let other = ReviewedText {
                name: other_name,
                text: other_text,
            };
            // The smaller id on the left, so that a pair is one pair in both directions.
            let (a, b) = if id < found.id {
                (own, other)
            } else {
                (other, own)
            };
            pairs.push(pair_of(a, b));
        }
    }
    Ok(pairs)
}

fn pair_of(a: ReviewedText, b: ReviewedText) -> DoubtfulPair {
    let (found, resemblance) =
        Containment::with_resemblance(&Normaliser::new(), Weights::builtin(), &a.text, &b.text);
    let doubt = doubt(&found, &resemblance);
    DoubtfulPair { a, b, found, doubt }
}

/// The doubt about a decision, from 0 to 1: about a removal, the unlikeness of the texts; about
/// texts that are kept, the likeness of texts of which one lacks little.
fn doubt(found: &Containment, resemblance: &Resemblance) -> f64 {
    if resemblance.same_wording {
        return 0.0;
    }
    if found.verdict.is_removable() {
        return 1.0 - resemblance.score();
    }
    let lost = found.weight_missing_in_a().min(found.weight_missing_in_b());
    resemblance.score() / (1.0 + lost / simdb::containment::MIN_REPLACED)
}

/// Some documents. Of a small database, each search takes the next ones in order. Of a large one,
/// half are drawn from the whole range of ids, and half near documents that were drawn, at any
/// distance: ids lie in clusters, such as scopes.
fn sampled(snapshot: &Snapshot, search: u64) -> Result<Vec<simdb::Document>, ApiError> {
    let count = usize::try_from(snapshot.len()?).unwrap_or(usize::MAX);
    if count <= SMALL_DATABASE {
        let from = (search as usize).wrapping_mul(SAMPLED) % count.next_multiple_of(SAMPLED).max(1);
        let documents = snapshot.documents().skip(from).take(SAMPLED);
        return Ok(documents.collect::<Result<_, _>>()?);
    }
    let first = snapshot.documents().next().transpose()?;
    let (Some(first), Some(last)) = (first, snapshot.last_id()?) else {
        return Ok(Vec::new());
    };
    let range = last.0.saturating_sub(first.id.0);
    let mut documents: Vec<simdb::Document> = Vec::new();
    for step in 0..SAMPLED as u64 {
        // Multiples of the golden ratio are spread evenly, however many there are.
        let share = (search * SAMPLED as u64 + step).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (from, range) = match documents.get(step as usize / 2) {
            Some(near) if step % 2 == 1 => (near.id.0, range >> (share % 64)),
            _ => (first.id.0, range),
        };
        let offset = (u128::from(share) * (u128::from(range) + 1)) >> 64;
        let id = DocId(from.saturating_add(offset as u64));
        documents.extend(snapshot.documents_from(id).next().transpose()?);
    }
    documents.sort_by_key(|document| document.id);
    documents.dedup_by_key(|document| document.id);
    Ok(documents)
}
