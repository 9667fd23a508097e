//! [`RemovalReport`]: a line with a certificate for each removed document.
//!
//! The place of a keeper may come after the place of the removed document, so lines wait in a
//! temporary file until all inputs are read.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, BufWriter, Seek, Write};

use anyhow::{Context, Result};
use rayon::prelude::*;
use serde_json::{Map, Value, json};
use simdb::Decision;
use tempfile::SpooledTempFile;

use super::decisions::Removal;
use super::sample::RemovalSample;
use crate::commands::certificate::Certifier;
use crate::commands::corpus_copy::insert_place;
use crate::corpus::inputs::{Input, Location};
use crate::corpus::report::RecordReport;
use crate::corpus::uncompared::UncomparedRule;

/// Lines beyond 4 MiB wait on disk.
const SPOOL_BYTES: usize = 4 << 20;

/// At most 4,096 removals, and 16 MiB of texts and one more, are certified at a time.
const BATCH_REMOVALS: usize = 4096;
const BATCH_BYTES: usize = 16 << 20;

pub struct RemovalReport {
    /// `None` if a page is made alone.
    report: Option<RecordReport>,
    sample: Option<RemovalSample>,
    uncompared: Option<UncomparedRule>,
    /// `true` if documents are numbered by their place in the inputs.
    pub is_by_place: bool,
    certifier: Certifier,
    /// The removals that are not certified yet.
    batch: Vec<PendingRemoval>,
    batch_bytes: usize,
    spool: BufWriter<SpooledTempFile>,
    keepers: HashMap<u64, KeeperPlace>,
}

/// The input and the number of a keeper, and the frames of its text.
struct KeeperPlace {
    input: usize,
    number: u64,
    frames: Vec<String>,
}

/// A removal, with both texts if they are known.
struct PendingRemoval {
    line: Map<String, Value>,
    texts: Option<[String; 2]>,
}

impl RemovalReport {
    /// `uncompared` is the rule of what is not compared.
    pub fn new(
        report: Option<RecordReport>,
        sample: Option<RemovalSample>,
        uncompared: Option<UncomparedRule>,
        decision: Decision,
    ) -> Self {
        Self {
            report,
            sample,
            uncompared,
            is_by_place: false,
            certifier: Certifier::new(decision),
            batch: Vec::new(),
            batch_bytes: 0,
            spool: BufWriter::new(SpooledTempFile::new(SPOOL_BYTES)),
            keepers: HashMap::new(),
        }
    }

    /// Records the place of a keeper, and the frames of its text.
    pub fn push_keeper(&mut self, id: u64, input: usize, number: u64, frames: Vec<String>) {
        let place = KeeperPlace {
            input,
            number,
            frames,
        };
        self.keepers.insert(id, place);
    }

    /// Adds a removed document, with the frames of its text and of the text of a stored keeper, and
    /// both texts as they were compared.
    pub fn push(
        &mut self,
        id: u64,
        removal: Removal,
        location: Location<'_>,
        frames: [Option<Vec<String>>; 2],
        texts: Option<[String; 2]>,
    ) -> Result<()> {
        let mut line = Map::new();
        let fields = [
            ("id", json!(id)),
            ("keeper", json!(removal.keeper)),
            ("distance", json!(removal.distance)),
            ("cluster", json!(removal.cluster)),
            ("against", json!(removal.cluster.is_none())),
        ];
        line.extend(fields.map(|(name, value)| (name.to_owned(), value)));
        insert_place(&mut line, "", Some(location));
        if self.is_by_place {
            line.insert("by_place".to_owned(), json!(true));
        }
        if let Some(rule) = self.uncompared {
            let (name, number) = rule.field();
            line.insert(name.to_owned(), json!(number));
        }
        for (name, frames) in ["frames", "keeper_frames"].into_iter().zip(frames) {
            if let Some(frames) = frames {
                line.insert(name.to_owned(), json!(frames));
            }
        }
        let texts_bytes = texts.iter().flatten().map(String::len);
        self.batch_bytes += texts_bytes.sum::<usize>();
        self.batch.push(PendingRemoval { line, texts });
        if self.batch.len() >= BATCH_REMOVALS || self.batch_bytes >= BATCH_BYTES {
            self.certify()?;
        }
        Ok(())
    }

    /// Certifies the batch on all cores, and writes its lines to the temporary file.
    fn certify(&mut self) -> Result<()> {
        let certifier = &self.certifier;
        let batch = std::mem::take(&mut self.batch).into_par_iter();
        let removals: Result<Vec<PendingRemoval>> = batch
            .map(|PendingRemoval { mut line, texts }| {
                let certificate = match &texts {
                    Some([text, keeper]) => {
                        serde_json::to_value(certifier.certificate(text, keeper))?
                    }
                    None => json!({"verdict": null}),
                };
                line.extend(certificate.as_object().cloned().unwrap_or_default());
                Ok(PendingRemoval { line, texts })
            })
            .collect();
        for PendingRemoval { line, texts } in removals? {
            if self.report.is_some() {
                serde_json::to_writer(&mut self.spool, &line)?;
                self.spool.write_all(b"\n")?;
            }
            if let Some(sample) = &mut self.sample {
                sample.offer(&line, texts);
            }
        }
        self.batch_bytes = 0;
        Ok(())
    }

    /// Writes all lines, with the places of the keepers, and publishes the report and the page.
    pub fn publish(mut self, inputs: &[Input]) -> Result<()> {
        self.certify()?;
        let shown = self.sample.take().map_or(Ok(()), RemovalSample::publish);
        self.publish_lines(inputs).and(shown)
    }

    fn publish_lines(self, inputs: &[Input]) -> Result<()> {
        let Some(mut report) = self.report else {
            return Ok(());
        };
        let cannot = "cannot read the temporary file of the report";
        let mut spool = self.spool.into_inner().context(cannot)?;
        spool.rewind().context(cannot)?;
        for line in BufReader::new(spool).lines() {
            let mut line: Map<String, Value> = serde_json::from_str(&line.context(cannot)?)?;
            let is_against = line.get("against") == Some(&Value::Bool(true));
            let keeper = line.get("keeper").and_then(Value::as_u64);
            let keeper = keeper.and_then(|keeper| self.keepers.get(&keeper));
            let keeper = keeper.filter(|_| !is_against);
            let location = keeper.map(|keeper| inputs[keeper.input].location(keeper.number));
            insert_place(&mut line, "keeper_", location);
            if line.contains_key("frames") && !line.contains_key("keeper_frames") {
                let frames = keeper.map_or(&[][..], |keeper| &keeper.frames);
                line.insert("keeper_frames".to_owned(), json!(frames));
            }
            report.line(&line)?;
        }
        report.publish()
    }
}
