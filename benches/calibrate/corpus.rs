//! Documents, and labelled pairs of documents.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Options;

/// The classes by length: the least number of characters, and the name.
pub const CLASSES: [(usize, &str); 5] = [
    (0, "0-10"),
    (10, "10-30"),
    (30, "30-100"),
    (100, "100-500"),
    (500, "500+"),
];

/// A document, which is stored under its index as the id.
pub struct LabelledText {
    pub text: String,
    /// Documents of one family are edits of one text.
    family: Option<Value>,
    /// The index in [`CLASSES`].
    class: usize,
    /// `true` if the fingerprint is reliable; set when the document is stored.
    pub reliable: bool,
}

/// The indices of two documents, the smaller index first.
pub type PairKey = (u32, u32);

#[derive(Default)]
pub struct LabelledPair {
    /// `true` for near-duplicates, `None` for a pair that is found and not listed.
    pub label: Option<bool>,
    /// The index in [`CLASSES`], by the shorter text.
    pub class: usize,
    /// The least radius at which fingerprints alone find the pair.
    pub alone: Option<u32>,
    /// The least radius at which fingerprints find the pair and it passes the wording check.
    pub checked: Option<u32>,
    /// `true` if similar search finds the pair.
    pub similar: bool,
}

#[derive(Default)]
pub struct LabelledCorpus {
    pub documents: Vec<LabelledText>,
    pub pairs: BTreeMap<PairKey, LabelledPair>,
    /// `true` if a pair that is found and not listed is a false positive, unless it is
    /// [ignored](Self::ignores).
    pub is_closed: bool,
    grey: HashSet<PairKey>,
}

/// A line of the pairs. The ids or texts are checked when the line is used.
#[derive(Deserialize)]
struct PairLine {
    a: Value,
    b: Value,
    label: Option<u8>,
}

#[derive(Deserialize)]
struct DocumentLine {
    id: u64,
    text: String,
    fam: Option<Value>,
}

pub fn key(a: u32, b: u32) -> PairKey {
    (a.min(b), a.max(b))
}

impl LabelledCorpus {
    /// Reads pairs of texts, or pairs of ids and the documents of these ids.
    pub fn read(options: &Options) -> Result<Self> {
        let mut corpus = Self {
            is_closed: options.closed,
            ..Self::default()
        };
        let Some(documents) = &options.docs else {
            corpus.read_pairs_of_texts(&options.pairs)?;
            return Ok(corpus);
        };
        let mut indices = HashMap::new();
        for_each_line(documents, |line: DocumentLine| {
            let index = corpus.add_text(line.text, line.fam);
            let before = indices.insert(line.id, index);
            ensure!(before.is_none(), "document {} is there already", line.id);
            Ok(())
        })?;
        let index = |id: &Value| {
            let id = id.as_u64().context("a and b must be ids")?;
            let index = indices.get(&id).copied();
            index.with_context(|| format!("document {id} is not in {}", documents.display()))
        };
        let pair = |line: &PairLine| match (index(&line.a)?, index(&line.b)?) {
            (a, b) if a == b => bail!("a document is paired with itself"),
            (a, b) => Ok(key(a, b)),
        };
        for_each_line(&options.pairs, |line| corpus.list(pair(&line)?, line.label))?;
        if let Some(grey) = &options.grey {
            for_each_line(grey, |line| {
                corpus.grey.insert(pair(&line)?);
                Ok(())
            })?;
        }
        Ok(corpus)
    }

    pub(super) fn read_pairs_of_texts(&mut self, pairs: &Path) -> Result<()> {
        // A text that is paired with itself is two documents: the flag marks the second.
        let mut indices: HashMap<(String, bool), u32> = HashMap::new();
        for_each_line(pairs, |line: PairLine| {
            let is_same = line.a == line.b;
            let mut index = |value: &Value, is_second: bool| {
                let text = value
                    .as_str()
                    .context("a and b must be texts; ids need --docs")?;
                let index = indices.entry((text.to_owned(), is_second));
                anyhow::Ok(*index.or_insert_with(|| self.add_text(text.to_owned(), None)))
            };
            let key = key(index(&line.a, false)?, index(&line.b, is_same)?);
            self.list(key, line.label)
        })
    }

    /// Returns `true` if a pair that is not listed is neither a near-duplicate nor a false
    /// positive.
    pub fn ignores(&self, key: PairKey) -> bool {
        let [a, b] = [key.0, key.1].map(|index| &self.documents[index as usize].family);
        self.grey.contains(&key) || a.is_some() && a == b
    }

    /// The pair with this key, which is added without a label if it is not listed.
    pub fn pair(&mut self, key: PairKey) -> &mut LabelledPair {
        let [a, b] = [key.0, key.1].map(|index| self.documents[index as usize].class);
        self.pairs.entry(key).or_insert_with(|| LabelledPair {
            class: a.min(b),
            ..LabelledPair::default()
        })
    }

    fn add_text(&mut self, text: String, family: Option<Value>) -> u32 {
        let characters = text.chars().count();
        let class = CLASSES.iter().rposition(|(least, _)| characters >= *least);
        self.documents.push(LabelledText {
            text,
            family,
            class: class.unwrap_or_default(),
            reliable: false,
        });
        self.documents.len() as u32 - 1
    }

    fn list(&mut self, key: PairKey, label: Option<u8>) -> Result<()> {
        let label = match label {
            Some(label @ 0..=1) => label == 1,
            _ => bail!("the field \"label\" must be 1 for near-duplicates, 0 for other pairs"),
        };
        let before = self.pair(key).label.replace(label);
        ensure!(
            before.is_none_or(|before| before == label),
            "the pair has another label on a line before"
        );
        Ok(())
    }
}

/// Calls `take` with each line of JSON Lines.
fn for_each_line<L: DeserializeOwned>(
    path: &Path,
    mut take: impl FnMut(L) -> Result<()>,
) -> Result<()> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
    let reader: Box<dyn Read> = match path.extension().is_some_and(|ext| ext == "gz") {
        true => Box::new(MultiGzDecoder::new(file)),
        false => Box::new(file),
    };
    for (number, line) in (1..).zip(BufReader::new(reader).lines()) {
        let line = line.with_context(|| format!("cannot read {name}"))?;
        if line.trim().is_empty() {
            continue;
        }
        let taken = serde_json::from_str(&line).map_err(|error| anyhow!(error));
        let taken = taken.and_then(&mut take);
        taken.with_context(|| format!("cannot read {name}:{number}"))?;
    }
    Ok(())
}
