//! `simdb-cli frames`: the lines and sentences around the bodies of the texts of a corpus.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Result, ensure};
use clap::Args;
use serde_json::json;
use simdb::Database;
use simdb::frames::{Frame, FrameCounter, Frames};

use super::input_options::InputOptions;
use super::open_to_read;
use crate::console::Output;
use crate::console::interrupt::Interrupt;
use crate::console::progress::ProgressMode;
use crate::corpus::frames::{count_stored, learn_frames};
use crate::corpus::records::InputRecords;
use crate::corpus::statistics::Statistics;
use crate::formats::{DocumentFields, Item};
use crate::options::OnError;

/// Lists the frames of a corpus or a database: lines and sentences around the bodies of its texts
///
/// A frame is at the head or the tail of at least --in-documents documents with different bodies,
/// such as the name of a site, a line of the editor, an advertisement. Lines that tell documents
/// apart are no frames: lines with a negation, and lines that share half of their words with
/// another line at this end of many documents. `simdb-cli dedup --ignore-frames` compares texts
/// without their frames.
///
/// Prints the number of documents and the line, the most frequent first; --json prints
/// {"documents":57,"text":"..."}. Ids are not read. Bad records are reported and left out; if all
/// records are bad, the exit code is 2.
///
/// The frames of a database, FILE.simdb, are what the database has learned, if it was created with
/// --ignore-frames, or else they are counted in the stored texts. In a database with scopes, each
/// scope has frames of its own; its name is printed before the line, and as "scope".
///
/// With --within, the value of the field is printed before the line, and as "within".
///
/// Memory: at most 150 MiB, with --within 170 MiB.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli frames feed.jsonl
  simdb-cli frames feed.jsonl --within source --in-documents 5
  simdb-cli frames feed.simdb")]
pub struct FramesVerb {
    #[command(flatten)]
    input: InputOptions,

    /// The number of documents from which on a line or a sentence is a frame [default: 10, or the
    /// number of the database]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(2..)
    )]
    in_documents: Option<u64>,

    /// Count the documents of each value in this field or column for themselves
    #[arg(long, value_name = "FIELD")]
    within: Option<String>,

    /// Print lines of JSON
    #[arg(long)]
    json: bool,

    /// Show progress on standard error
    #[arg(long, value_enum, default_value_t)]
    progress: ProgressMode,
}

/// The names of at most 65,536 groups are printed, each of at most 256 bytes: 16 MiB. Other groups
/// are printed as `-`.
const NAMED_GROUPS: usize = 1 << 16;
const GROUP_NAME_BYTES: usize = 256;

/// The kind of the groups of frames in JSON, and the name of the group of a frame.
type Groups<'g> = (&'static str, &'g dyn Fn(&Frame) -> Result<Option<String>>);

impl FramesVerb {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        if let Some(path) = self.input.database() {
            return self.run_on_database(path, output);
        }
        ensure!(
            self.input.has_texts(),
            "frames are lines of texts; name their field with --text"
        );
        let fields = DocumentFields {
            group: self.within.clone(),
            // Frames have no ids.
            are_counted: true,
            ..self.input.document_fields()?
        };
        let inputs = self.input.inputs()?;
        let mut statistics = Statistics::new(inputs.clone(), OnError::Skip, None)?;
        statistics.listed_by = "";
        let records = InputRecords {
            inputs: &inputs,
            wanted: &self.input.wanted(fields),
            progress: self.progress,
            interrupt: &Interrupt::listen()?,
        };
        let mut groups: HashMap<u64, String> = HashMap::new();
        let frames = learn_frames(self.least(), None, &records, |input, item| {
            statistics.counts.read += 1;
            let content = match item {
                Item::Record(record) => &record.content,
                Item::Reject(reject) => return statistics.reject(input, reject),
            };
            if let (Some(group), Some(name)) = (content.group(), &content.group_name)
                && groups.len() < NAMED_GROUPS
                && name.len() <= GROUP_NAME_BYTES
            {
                groups.entry(group).or_insert_with(|| name.to_string());
            }
            Ok(())
        })?;
        statistics.refuse_all_rejected()?;
        statistics.finish()?;
        let name_of = |frame: &Frame| Ok(groups.get(&frame.group).cloned());
        let groups: Option<Groups<'_>> = self.within.as_ref().map(|_| ("within", &name_of as _));
        self.print(&frames, groups, output)
    }

    fn least(&self) -> u64 {
        self.in_documents.unwrap_or(10)
    }

    fn run_on_database(&self, path: &Path, output: &mut Output) -> Result<()> {
        ensure!(
            self.within.is_none(),
            "--within names a field of records; a database with scopes has frames for each scope"
        );
        let database = open_to_read(path, Database::builder())?;
        let settings = database.settings();
        ensure!(
            settings.keep_texts,
            "{} keeps no texts, and frames are lines of texts",
            path.display()
        );
        let frames = match settings.frames {
            Some(kept) => {
                ensure!(
                    self.in_documents
                        .is_none_or(|least| least >= u64::from(kept)),
                    "this database counts lines of {kept} documents and more; --in-documents is lower"
                );
                database.frames()?
            }
            None => {
                let mut counter = FrameCounter::new(self.least());
                count_stored(&mut counter, &database)?;
                counter.frames()
            }
        };
        let scoped = settings.frames.filter(|_| settings.scopes);
        let name_of = |frame: &Frame| Ok(database.scope_of_frame(frame)?);
        self.print(&frames, scoped.map(|_| ("scope", &name_of as _)), output)
    }

    /// Prints frames; with groups, each with the name of its group.
    fn print(
        &self,
        frames: &Frames,
        groups: Option<Groups<'_>>,
        output: &mut Output,
    ) -> Result<()> {
        let least = self.in_documents.unwrap_or_default();
        let mut frames: Vec<_> = frames.iter().collect();
        frames.retain(|frame| frame.documents >= least);
        frames.sort_by_key(|frame| std::cmp::Reverse(frame.documents));
        for frame in frames {
            let Frame {
                text, documents, ..
            } = frame;
            let Some((kind, name_of)) = groups else {
                output.print(
                    self.json,
                    || json!({"documents": documents, "text": text}),
                    || format!("{documents:>9}  {text}"),
                )?;
                continue;
            };
            let name = name_of(frame)?;
            output.print(
                self.json,
                || json!({"documents": documents, kind: name, "text": text}),
                || format!("{documents:>9}  {}  {text}", name.as_deref().unwrap_or("-")),
            )?;
        }
        Ok(())
    }
}
