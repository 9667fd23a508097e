//! `simdb-cli frames`: the lines and sentences around the bodies of the texts of a corpus.

use anyhow::{Result, ensure};
use clap::Args;
use serde_json::json;

use super::input_options::InputOptions;
use crate::console::Output;
use crate::console::interrupt::Interrupt;
use crate::console::progress::ProgressMode;
use crate::corpus::records::InputRecords;
use crate::corpus::uncompared::learn_frames;
use crate::formats::DocumentFields;

/// Lists the frames of a corpus: lines and sentences around the bodies of its texts
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
/// Memory: at most 150 MiB.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli frames feed.jsonl
  simdb-cli frames feed.jsonl --within source --in-documents 5")]
pub struct FramesVerb {
    #[command(flatten)]
    input: InputOptions,

    /// The number of documents from which on a line or a sentence is a frame
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(2..),
        default_value_t = 10
    )]
    in_documents: u64,

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
        ensure!(
            self.input.has_texts(),
            "frames are lines of texts; name their field with --text"
        );
        let fields = DocumentFields {
            group: self.within.clone(),
            ..self.input.document_fields()?
        };
        let frames = learn_frames(
            self.in_documents,
            &InputRecords {
                inputs: &self.input.inputs()?,
                wanted: &self.input.wanted(fields),
                progress: self.progress,
                interrupt: &Interrupt::listen()?,
            },
        )?;
        let mut frames: Vec<_> = frames.iter().collect();
        frames.sort_by_key(|frame| std::cmp::Reverse(frame.documents));
        for frame in frames {
            match self.json {
                true => output.json(&json!({"documents": frame.documents, "text": frame.text}))?,
                false => output.line(format_args!("{:>9}  {}", frame.documents, frame.text))?,
            }
        }
        Ok(())
    }
}
