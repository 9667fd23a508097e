//! `simdb-cli frames`: the lines and sentences around the bodies of the texts of a corpus.

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
use crate::corpus::records::InputRecords;
use crate::corpus::uncompared::{count_stored, learn_frames};
use crate::formats::DocumentFields;

/// Lists the frames of a corpus or a database: lines and sentences around the bodies of its texts
///
/// A frame is at the head or the tail of at least --in-documents documents with different bodies,
/// such as the name of a site, a line of the editor, an advertisement. Lines that tell documents
/// apart are no frames: lines with a negation, and lines that share half of their words with
/// another line at this end of many documents. `simdb-cli dedup --ignore-frames` compares texts
/// without their frames.
///
/// Prints the number of documents and the line, the most frequent first; --json prints
/// {"documents":57,"text":"..."}. Bad records are left out.
///
/// The frames of a database, FILE.simdb, are what the database has learned, if it was created with
/// --ignore-frames, or else they are counted in the stored texts. In a database with scopes, each
/// scope has frames of its own; its name is printed before the line, and as "scope".
///
/// Memory: at most 150 MiB.
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
            ..self.input.document_fields()?
        };
        let frames = learn_frames(
            self.least(),
            None,
            &InputRecords {
                inputs: &self.input.inputs()?,
                wanted: &self.input.wanted(fields),
                progress: self.progress,
                interrupt: &Interrupt::listen()?,
            },
        )?;
        self.print(&frames, None, output)
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
        self.print(&frames, scoped.map(|_| &database), output)
    }

    /// Prints frames; of a database with frames for each scope, with the scope.
    fn print(&self, frames: &Frames, scoped: Option<&Database>, output: &mut Output) -> Result<()> {
        let least = self.in_documents.unwrap_or_default();
        let mut frames: Vec<_> = frames.iter().collect();
        frames.retain(|frame| frame.documents >= least);
        frames.sort_by_key(|frame| std::cmp::Reverse(frame.documents));
        for frame in frames {
            let Frame {
                text, documents, ..
            } = frame;
            let scope = match scoped {
                Some(database) => Some(database.scope_of_frame(frame)?),
                None => None,
            };
            match (self.json, scope) {
                (true, None) => output.json(&json!({"documents": documents, "text": text}))?,
                (true, Some(scope)) => {
                    output.json(&json!({"documents": documents, "scope": scope, "text": text}))?;
                }
                (false, None) => output.line(format_args!("{documents:>9}  {text}"))?,
                (false, Some(scope)) => {
                    let scope = scope.as_deref().unwrap_or("-");
                    output.line(format_args!("{documents:>9}  {scope}  {text}"))?;
                }
            }
        }
        Ok(())
    }
}
