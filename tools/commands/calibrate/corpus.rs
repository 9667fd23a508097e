//! The input of `simdb-cli calibrate`: documents, and labelled pairs of them.

use std::collections::{BTreeMap, HashMap, HashSet};

use anyhow::Result;
use serde_json::{Map, Value};

use super::Calibrate;
use crate::commands::json_object::for_each_object;
use crate::formats::{MAX_TEXT_BYTES, id_of, text_of};

/// The classes by length: the least number of characters, and the name.
const LENGTHS: [(usize, &str); 5] = [
    (0, "0-10"),
    (10, "10-30"),
    (30, "30-100"),
    (100, "100-500"),
    (500, "500+"),
];

/// A document, which is stored under its index as the id.
pub(super) struct LabelledText {
    pub text: String,
    /// Documents of one family are edits of one text.
    family: Option<Value>,
    class: String,
    /// `true` if the fingerprint is reliable; set when the document is stored.
    pub reliable: bool,
}

/// The indices of two documents, the smaller index first.
pub(super) type PairKey = (u32, u32);

#[derive(Default)]
pub(super) struct LabelledPair {
    /// `true` for near-duplicates, `None` for a pair that is found and not listed.
    pub label: Option<bool>,
    pub class: String,
    /// The least radius at which fingerprints alone find the pair.
    pub alone: Option<u32>,
    /// The least radius at which fingerprints find the pair and it passes the wording check.
    pub checked: Option<u32>,
    /// `true` if similar search finds the pair.
    pub similar: bool,
}

#[derive(Default)]
pub(super) struct LabelledCorpus {
    pub documents: Vec<LabelledText>,
    pub pairs: BTreeMap<PairKey, LabelledPair>,
    /// `true` if a pair that is found and not listed is a false positive, unless it is
    /// [ignored](Self::ignores).
    pub is_closed: bool,
    grey: HashSet<PairKey>,
}

/// The order of classes: by length, then by name.
pub(super) fn class_order(class: &str) -> (usize, &str) {
    let index = LENGTHS.iter().position(|(_, name)| *name == class);
    (index.unwrap_or(LENGTHS.len()), class)
}

pub(super) fn key(a: u32, b: u32) -> PairKey {
    (a.min(b), a.max(b))
}

impl LabelledCorpus {
    /// Reads pairs of texts, or pairs of ids and the documents of these ids.
    pub fn read(options: &Calibrate) -> Result<Self> {
        let mut corpus = Self {
            is_closed: options.closed,
            ..Self::default()
        };
        match &options.docs {
            Some(_) => corpus.read_pairs_of_ids(options)?,
            None => corpus.read_pairs_of_texts(options)?,
        }
        Ok(corpus)
    }

    fn read_pairs_of_texts(&mut self, options: &Calibrate) -> Result<()> {
        // A text that is paired with itself is two documents: the flag marks the second.
        let mut indices: HashMap<(String, bool), u32> = HashMap::new();
        for_each_object(&options.pairs, options.on_error, |_, fields| {
            let label = label(&fields)?;
            let [a, b] = [text(&fields, "a")?, text(&fields, "b")?];
            let is_same = a == b;
            let class = class(&fields, options)?;
            let [a, b] = [(a, false), (b, is_same)].map(|given| {
                let text = given.0.clone();
                let index = indices.entry(given);
                *index.or_insert_with(|| self.add_text(text, None, None))
            });
            self.list(key(a, b), label, class)
        })
    }

    fn read_pairs_of_ids(&mut self, options: &Calibrate) -> Result<()> {
        let (documents, on_error) = (
            options.docs.as_deref().unwrap_or(&options.pairs),
            options.on_error,
        );
        let mut indices = HashMap::new();
        for_each_object(documents, on_error, |_, fields| {
            let id = id(&fields, "id")?;
            let text = text(&fields, "text")?;
            let class = class(&fields, options)?;
            if indices.contains_key(&id) {
                return Err(format!("document {id} is there already"));
            }
            let family = fields.get("fam").filter(|family| !family.is_null());
            indices.insert(id, self.add_text(text, family.cloned(), class));
            Ok(())
        })?;
        let index = |fields: &Map<String, Value>, name: &str| {
            let id = id(fields, name)?;
            let index = indices.get(&id).copied();
            index.ok_or_else(|| format!("document {id} is not in {}", documents.display()))
        };
        let pair = |fields: &Map<String, Value>| match (index(fields, "a")?, index(fields, "b")?) {
            (a, b) if a == b => Err("a document is paired with itself".to_owned()),
            (a, b) => Ok(key(a, b)),
        };
        for_each_object(&options.pairs, on_error, |_, fields| {
            self.list(pair(&fields)?, label(&fields)?, class(&fields, options)?)
        })?;
        let Some(grey) = &options.grey else {
            return Ok(());
        };
        for_each_object(grey, on_error, |_, fields| {
            self.grey.insert(pair(&fields)?);
            Ok(())
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
        // The class of a pair is that of the shorter document.
        let classes = [key.0, key.1].map(|index| &self.documents[index as usize].class[..]);
        let class = classes.into_iter().min_by_key(|class| class_order(class));
        let pair = || LabelledPair {
            class: class.unwrap_or_default().to_owned(),
            ..LabelledPair::default()
        };
        self.pairs.entry(key).or_insert_with(pair)
    }

    fn add_text(&mut self, text: String, family: Option<Value>, class: Option<String>) -> u32 {
        let characters = text.chars().count();
        let length = LENGTHS.iter().rfind(|(least, _)| characters >= *least);
        let class = class.unwrap_or_else(|| length.map_or("", |(_, name)| name).to_owned());
        self.documents.push(LabelledText {
            text,
            family,
            class,
            reliable: false,
        });
        self.documents.len() as u32 - 1
    }

    /// Labels a pair, unless it has this label already.
    fn list(&mut self, key: PairKey, label: bool, class: Option<String>) -> Result<(), String> {
        let pair = self.pair(key);
        match (pair.label, class) {
            (Some(before), _) if before != label => {
                return Err("the pair has another label on a line before".to_owned());
            }
            (None, Some(class)) => pair.class = class,
            _ => {}
        }
        pair.label = Some(label);
        Ok(())
    }
}

/// The value of the field of `--class`; `None` without the option.
fn class(fields: &Map<String, Value>, options: &Calibrate) -> Result<Option<String>, String> {
    let class = options
        .class
        .as_ref()
        .map(|name| match field(fields, name)? {
            Value::String(class) => Ok(class.clone()),
            other => Ok(other.to_string()),
        });
    class.transpose()
}

fn field<'f>(fields: &'f Map<String, Value>, name: &str) -> Result<&'f Value, String> {
    let value = fields.get(name);
    value.ok_or_else(|| format!("there is no field {name:?}"))
}

fn id(fields: &Map<String, Value>, name: &str) -> Result<u64, String> {
    let id = id_of(field(fields, name)?);
    id.map(|id| id.0)
        .map_err(|reason| format!("field {name:?}: {reason}"))
}

fn text(fields: &Map<String, Value>, name: &str) -> Result<String, String> {
    match field(fields, name)? {
        Value::String(text) => text_of(text.clone(), MAX_TEXT_BYTES),
        Value::Number(_) => Err(format!(
            "field {name:?}: a text is expected; ids need --docs, the file of the documents"
        )),
        _ => Err(format!("field {name:?}: a string is expected")),
    }
}

fn label(fields: &Map<String, Value>) -> Result<bool, String> {
    let label = fields
        .get("label")
        .ok_or("there is no field \"label\", 1 for near-duplicates and 0 for others")?;
    match (label.as_bool(), label.as_u64()) {
        (Some(label), _) => Ok(label),
        (_, Some(label @ 0..=1)) => Ok(label == 1),
        _ => Err("field \"label\": 0, 1, true or false is expected".to_owned()),
    }
}
