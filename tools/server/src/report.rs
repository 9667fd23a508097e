//! `simdb-serve report`: documents, groups and health as one file of HTML.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::{Parser, ValueEnum};
use maud::html;
use simdb::Database;
use simdb_tools::console::file::OutputFile;
use simdb_tools::console::interrupt::Interrupt;
use simdb_tools::console::logger::Verbosity;
use simdb_tools::console::paths::{OutputPaths, Overwrite, refuse_special};
use simdb_tools::console::progress::{ProgressMode, handler};
use simdb_tools::console::{Output, note};
use simdb_tools::options::RecipeOptions;
use simdb_tools::reports::Examination;

use crate::api::documents::{Order, page_of};
use crate::error::ApiError;
use crate::page::groups::{GroupKind, Largest};
use crate::page::{Words, health, parts, standalone};

/// The documents of a report.
const SHOWN: usize = 50;

/// Writes a report about a database as one file of HTML, for mail or a ticket
///
/// The report has the findings of `simdb-cli doctor` as pictures, the largest groups of
/// near-duplicates with their differences, and the documents with the largest ids. It needs no
/// server, loads nothing, and has texts of the database.
#[derive(Debug, Parser)]
#[command(
    name = "simdb-serve report",
    version,
    after_help = "\
Examples:
  simdb-cli report news.simdb -o report.html
  simdb-cli report news.simdb -o report.html --groups words --language zh"
)]
pub struct ReportOptions {
    #[command(flatten)]
    pub verbosity: Verbosity,

    /// The database
    database: PathBuf,

    /// Write to this new file, which appears when it is complete
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,

    #[command(flatten)]
    overwrite: Overwrite,

    /// The documents that make a group
    #[arg(long, value_enum, default_value = "bits")]
    groups: GroupKind,

    /// The largest distance of two documents of a group, with --groups bits
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=8))]
    radius: u32,

    /// The language of the report
    #[arg(long, value_enum, default_value = "en")]
    language: Language,

    #[command(flatten)]
    recipe: RecipeOptions,

    /// Show progress on standard error
    #[arg(long, value_enum, default_value_t)]
    progress: ProgressMode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Language {
    En,
    Zh,
}

impl ReportOptions {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        let mut paths = OutputPaths::new(self.overwrite);
        paths.reserve(&self.database, "the database");
        let target = paths.file("--output", &self.output)?;
        refuse_special(&self.database)?;
        let database = self.recipe.builder()?.open_read_only(&self.database)?;
        let interrupt = Interrupt::listen()?;
        let page = self.page(&database, &interrupt);
        interrupt.check()?;
        let page = page?;
        let mut file = OutputFile::create(target)?;
        file.write_all(page.as_bytes())?;
        file.publish()?;
        note(format_args!("wrote {}", self.output.display()));
        output.flush()
    }

    fn page(&self, database: &Database, interrupt: &Interrupt) -> Result<String> {
        let words = Words::in_chinese(self.language == Language::Zh);
        let bar = self.progress.work();
        let snapshot = database.snapshot()?.on_progress(handler(&bar, interrupt));
        let examination = Examination::new(&snapshot)?;
        let groups = Largest::of(&snapshot, self.groups, self.radius);
        bar.finish_and_clear();
        let groups = groups
            .and_then(|groups| groups.show(words, &snapshot))
            .map_err(text_of)?;
        let (documents, _) = page_of(&snapshot, None, Order::Descending, SHOWN)?;
        let bytes = std::fs::metadata(&self.database)?.len();
        let name = self
            .database
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        let body = html! {
            h1 { (words.report) ": " (name) }
            (health::diagnosis(words, &examination.json(), bytes))
            h2 { (words.groups) }
            (groups)
            h2 { (words.browse) }
            p.note { (parts::counted(snapshot.stored_len(), words.members)) ", " (words.by_id) }
            @for document in &documents { (parts::document(words, document)) }
        };
        Ok(standalone(words, words.report, &body))
    }
}

fn text_of(error: ApiError) -> anyhow::Error {
    anyhow!(error.message)
}
