//! What `simdb-cli calibrate` is given: documents, and pairs of them with labels.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use anyhow::{Result, bail};
use serde_json::{Map, Value};

use crate::commands::json_object::object;
use crate::console::{counted, note};
use crate::formats::input::{LineReader, Source};
use crate::formats::{MAX_LINE_BYTES, MAX_TEXT_BYTES, id_of, text_of, utf8};
use crate::options::OnError;

/// Classes by length: the least number of characters, and the name.
const LENGTHS: [(usize, &str); 5] = [
    (0, "0-10"),
    (10, "10-30"),
    (30, "30-100"),
    (100, "100-500"),
    (500, "500+"),
];

/// A document. It is stored under its place among all.
pub(super) struct Doc {
    pub text: String,
    /// Documents with the same are edits of one text, whatever else is said of them.
    pub family: Option<Value>,
    /// The class it is in.
    pub class: String,
}

/// Two documents by their places, the smaller first.
pub(super) type Key = (u32, u32);

/// A pair of documents that somebody has judged.
pub(super) struct Pair {
    pub key: Key,
    /// Whether they are near-duplicates.
    pub label: bool,
    pub class: String,
}

/// All that is known.
#[derive(Default)]
pub(super) struct Corpus {
    pub documents: Vec<Doc>,
    pub pairs: Vec<Pair>,
    /// Pairs that say nothing, if every other pair that is not listed is a false alarm.
    pub closed: Option<HashSet<Key>>,
}

/// How files are read.
pub(super) struct Reading<'o> {
    /// The field that names the class; by length if there is none.
    pub class: Option<&'o str>,
    pub on_error: OnError,
}

/// The class of a text by its length.
pub(super) fn class_of(text: &str) -> String {
    let characters = text.chars().count();
    let class = LENGTHS.iter().rev().find(|(least, _)| characters >= *least);
    class.map_or(LENGTHS[0].1, |(_, name)| name).to_owned()
}

/// The order of classes: by length, then by name.
pub(super) fn class_order(class: &str) -> (usize, &str) {
    let place = LENGTHS.iter().position(|(_, name)| *name == class);
    (place.unwrap_or(LENGTHS.len()), class)
}

pub(super) fn key(a: u32, b: u32) -> Key {
    (a.min(b), a.max(b))
}

impl Corpus {
    /// The class of two documents: that of the shorter one.
    pub fn class_of_pair(&self, (a, b): Key) -> &str {
        let [a, b] = [a, b].map(|place| self.documents[place as usize].class.as_str());
        if class_order(a) <= class_order(b) {
            a
        } else {
            b
        }
    }
}

impl Reading<'_> {
    /// Pairs of texts.
    pub fn pairs_of_texts(&self, path: &Path) -> Result<Corpus> {
        let mut corpus = Corpus::default();
        // A text that is paired with itself is two documents.
        let mut places: HashMap<(String, bool), u32> = HashMap::new();
        let mut labels = HashMap::new();
        self.for_each(path, |fields| {
            let label = label(fields)?;
            let [a, b] = [text(fields, "a")?, text(fields, "b")?];
            let is_twin = a == b;
            let class = self.class(fields)?;
            let [a, b] = [(a, false), (b, is_twin)].map(|(text, is_twin)| {
                *places
                    .entry((text, is_twin))
                    .or_insert_with_key(|(text, _)| {
                        corpus.documents.push(Doc {
                            class: class_of(text),
                            text: text.clone(),
                            family: None,
                        });
                        corpus.documents.len() as u32 - 1
                    })
            });
            corpus.add(key(a, b), label, class, &mut labels)
        })?;
        Ok(corpus)
    }

    /// Pairs of ids of documents in another file.
    pub fn pairs_of_documents(
        &self,
        path: &Path,
        documents: &Path,
        grey: Option<&Path>,
        is_closed: bool,
    ) -> Result<Corpus> {
        let mut places = HashMap::new();
        let mut corpus = Corpus {
            documents: self.documents(documents, &mut places)?,
            ..Corpus::default()
        };
        let place = |fields: &Map<String, Value>, name: &str| {
            let id = id_of(field(fields, name)?).map_err(|reason| of_field(name, &reason))?;
            let place = places.get(&id.0).copied();
            place.ok_or_else(|| format!("document {id} is not in {}", documents.display()))
        };
        let pair = |fields: &Map<String, Value>| match (place(fields, "a")?, place(fields, "b")?) {
            (a, b) if a == b => Err("a document is paired with itself".to_owned()),
            (a, b) => Ok(key(a, b)),
        };
        let mut labels = HashMap::new();
        self.for_each(path, |fields| {
            let class = self.class(fields)?;
            corpus.add(pair(fields)?, label(fields)?, class, &mut labels)
        })?;
        if is_closed {
            let mut ignored = HashSet::new();
            if let Some(grey) = grey {
                self.for_each(grey, |fields| {
                    ignored.insert(pair(fields)?);
                    Ok(())
                })?;
            }
            corpus.closed = Some(ignored);
        }
        Ok(corpus)
    }

    /// Documents, and the place of each id.
    pub fn documents(&self, path: &Path, places: &mut HashMap<u64, u32>) -> Result<Vec<Doc>> {
        let mut documents = Vec::new();
        self.for_each(path, |fields| {
            let id = id_of(field(fields, "id")?).map_err(|reason| of_field("id", &reason))?;
            let text = text(fields, "text")?;
            let class = self.class(fields)?.unwrap_or_else(|| class_of(&text));
            if places.contains_key(&id.0) {
                return Err(format!("document {id} is there already"));
            }
            places.insert(id.0, documents.len() as u32);
            documents.push(Doc {
                text,
                family: fields
                    .get("fam")
                    .filter(|family| !family.is_null())
                    .cloned(),
                class,
            });
            Ok(())
        })?;
        Ok(documents)
    }

    /// The class that a line names, if lines are to name one.
    fn class(&self, fields: &Map<String, Value>) -> Result<Option<String>, String> {
        let Some(name) = self.class else {
            return Ok(None);
        };
        Ok(Some(match field(fields, name)? {
            Value::String(class) => class.clone(),
            other => other.to_string(),
        }))
    }

    /// Calls `take` with each object of a file of JSON Lines, at least one.
    fn for_each(
        &self,
        path: &Path,
        mut take: impl FnMut(&Map<String, Value>) -> Result<(), String>,
    ) -> Result<()> {
        let input = Source::new(path)?.open(&Default::default())?;
        let name = input.name.clone();
        let mut lines = LineReader::new(input, MAX_LINE_BYTES)?;
        let (mut taken, mut skipped) = (0_u64, 0);
        while let Some((number, bytes)) = lines.next_not_blank()? {
            let fields = bytes.and_then(utf8).and_then(object);
            match fields.and_then(|fields| take(&fields)) {
                Ok(()) => taken += 1,
                Err(_) if self.on_error == OnError::Skip => skipped += 1,
                Err(reason) => bail!("cannot read {name}:{number}: {reason}"),
            }
        }
        if skipped > 0 {
            note(format_args!(
                "{name}: {} left out",
                counted(skipped, "bad line")
            ));
        }
        if taken == 0 {
            bail!("cannot read {name}: there is nothing in it");
        }
        Ok(())
    }
}

impl Corpus {
    /// Adds a pair with its label, unless it is there. Without a class it has that of the shorter
    /// document.
    fn add(
        &mut self,
        key: Key,
        label: bool,
        class: Option<String>,
        labels: &mut HashMap<Key, bool>,
    ) -> Result<(), String> {
        match labels.insert(key, label) {
            None => {
                let class = class.unwrap_or_else(|| self.class_of_pair(key).to_owned());
                self.pairs.push(Pair { key, label, class });
                Ok(())
            }
            Some(before) if before == label => Ok(()),
            Some(before) => {
                labels.insert(key, before);
                Err("the pair has another label on a line before".to_owned())
            }
        }
    }
}

fn field<'f>(fields: &'f Map<String, Value>, name: &str) -> Result<&'f Value, String> {
    let value = fields.get(name);
    value.ok_or_else(|| format!("there is no field {name:?}"))
}

fn of_field(name: &str, reason: &str) -> String {
    format!("field {name:?}: {reason}")
}

fn text(fields: &Map<String, Value>, name: &str) -> Result<String, String> {
    match field(fields, name)? {
        Value::String(text) => text_of(text.clone(), MAX_TEXT_BYTES),
        Value::Number(_) => Err(of_field(
            name,
            "a text is expected; ids need --docs, the file of the documents",
        )),
        _ => Err(of_field(name, "a string is expected")),
    }
}

fn label(fields: &Map<String, Value>) -> Result<bool, String> {
    let label = fields.get("label").ok_or(
        "there is no field \"label\", 1 for near-duplicates and 0 for others; without labels, \
         --planted makes pairs out of documents",
    )?;
    match (label.as_bool(), label.as_u64()) {
        (Some(label), _) => Ok(label),
        (_, Some(label @ 0..=1)) => Ok(label == 1),
        _ => Err(of_field("label", "0, 1, true or false is expected")),
    }
}
