//! `simdb-cli dedup`: a copy of a corpus without its near-duplicates.
//!
//! - [`options`]: the command line
//! - [`passes`]: the order of a run
//! - [`load`]: the first pass, which loads the corpus into a temporary database
//! - [`decisions`], [`mod@columns`]: the documents to remove, and the columns that decide
//! - [`mod@checkpoint`]: the decisions of an interrupted run
//! - [`restore`]: the documents that stay for a paragraph that was not compared
//! - [`mod@copy`]: the second pass, which copies the records to keep
//! - [`removals`], [`sample`]: the report of removed documents, and its page
//! - [`summary`]: the counts

mod checkpoint;
mod columns;
mod copy;
mod decisions;
mod load;
mod options;
mod passes;
mod removals;
mod restore;
mod sample;
mod summary;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, bail, ensure};
use simdb::{Builder, Database, Error, Recipe, Retention, Settings};

use self::checkpoint::path_of;
pub use self::options::Dedup;
use self::passes::Passes;
use self::removals::RemovalReport;
use self::sample::RemovalSample;
use super::corpus_copy::check::CopyOutputs;
use super::serve::check_program;
use crate::console::interrupt::Interrupt;
use crate::console::paths::{OutputPath, refuse_special};
use crate::console::{Output, counted, note};
use crate::corpus::blocks::BlockUnit;
use crate::corpus::frames::learn_frames;
use crate::corpus::inputs::{Input, given_twice};
use crate::corpus::memory::MemoryBudget;
use crate::corpus::repeated_blocks::{BlockRule, RepeatedBlocks};
use crate::corpus::report::RecordReport;
use crate::corpus::uncompared::{Uncompared, UncomparedRule};
use crate::formats::Format;
use crate::formats::copy::AddedField;

impl Dedup {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        let started = Instant::now();
        let mut passes = Passes::prepare(self)?;
        let loaded = passes.load()?;
        let decisions = passes.decide(&loaded)?;
        let mut summary = passes.copy(&loaded, &decisions)?;
        passes.publish(&loaded, &decisions, &mut summary, || started.elapsed())?;
        output.print(self.copy.json, || &summary, || summary.table())
    }

    /// The inputs and their format, which get these fields.
    fn checked_inputs(&self, added: &[AddedField<'_>]) -> Result<(Vec<Input>, Format)> {
        let inputs = self.copy.input.inputs()?;
        if self.copy.report.is_some()
            && let Some(file) = given_twice(&inputs)
        {
            bail!(
                "{} is given twice, and --report names records by file and place; name it once",
                file.display()
            );
        }
        let fields = self.document_fields()?;
        let format = self.copy.check_inputs(&inputs, &fields, added)?;
        Ok((inputs, format))
    }

    /// The paths of the outputs, none of which is a file that is read.
    fn checked_outputs(&self, inputs: &[Input], format: Format) -> Result<CopyOutputs> {
        // No output may replace the checkpoint, from which the command continues.
        let checkpoint = path_of(&self.copy.output);
        let paths = [
            (Some(&checkpoint), "the checkpoint"),
            (self.clusters.as_ref(), "the file of --clusters"),
            (self.against.as_ref(), "the database"),
        ];
        let reserved = paths.map(|(path, name)| path.map(|path| (path.as_path(), name)));
        let reserved: Vec<_> = reserved.into_iter().flatten().collect();
        let page = &self.report_html;
        let outputs = self.copy.check_outputs(inputs, format, &reserved, page)?;
        page.as_ref().map_or(Ok(()), |_| check_program())?;
        Ok(outputs)
    }

    /// The report of removed documents, its page, or both; `None` without these outputs.
    fn removal_report(
        &self,
        report: Option<OutputPath>,
        page: Option<OutputPath>,
    ) -> Result<Option<RemovalReport>> {
        let report = report.map(RecordReport::create).transpose()?;
        let sample = page.map(RemovalSample::create).transpose()?;
        let (uncompared, decision) = (self.uncompared_rule(), self.clustering.decision());
        Ok((report.is_some() || sample.is_some())
            .then(|| RemovalReport::new(report, sample, uncompared, decision)))
    }

    /// These options for documents that are numbered by their place in the inputs.
    fn numbered_by_place(&self, repeats: u64, rejected: u64) -> Result<Self> {
        let said = format!(
            "{} the id of an earlier record",
            match repeats {
                1 => "1 record has".to_owned(),
                _ => format!("{} have", counted(repeats, "record")),
            }
        );
        for (option, is_given) in [("--add", self.add), ("--clusters", self.clusters.is_some())] {
            ensure!(
                !is_given,
                "{said}, and {option} names documents by their ids; make the ids unique"
            );
        }
        let compared = match rejected {
            0 => "",
            _ => ", and the records above that have a text but no id are compared",
        };
        note(format_args!(
            "{said}: all documents are numbered by their place in the inputs instead, as by --no-id; \
             keepers are named by these numbers{compared}"
        ));
        let mut numbered = self.clone();
        numbered.copy.input.no_id = true;
        Ok(numbered)
    }

    /// Counts what is not compared; `None` if texts are compared whole.
    fn uncompared(
        &self,
        folder: &Path,
        inputs: &[Input],
        against: Option<&Database>,
        interrupt: &Interrupt,
    ) -> Result<Option<Arc<Uncompared>>> {
        let Some(rule) = self.uncompared_rule() else {
            return Ok(None);
        };
        let wanted = self.wanted_texts()?;
        let records = self.copy.records(inputs, &wanted, interrupt);
        Ok(Some(Arc::new(match rule {
            UncomparedRule::Frames(number) => {
                // The load reports bad records.
                let frames = learn_frames(number, against, &records, |_, _| Ok(()))?;
                Uncompared::Frames(frames)
            }
            UncomparedRule::Paragraphs(in_documents) => {
                let unit = BlockUnit::Paragraph;
                let rule = BlockRule { unit, in_documents };
                // The load reports bad records.
                let counted = RepeatedBlocks::count(rule, folder, &records, |_, _| Ok(()))?;
                Uncompared::Paragraphs(Box::new(counted))
            }
        })))
    }

    /// Opens the database of `--against`; `None` without the option.
    fn open_against(&self) -> Result<Option<Database>> {
        let Some(path) = &self.against else {
            return Ok(None);
        };
        refuse_special(path)?;
        let builder = self.cached(self.recipe.builder()?);
        let opened = if self.add {
            builder.open(path)
        } else {
            builder.open_read_only(path)
        };
        let database = match opened {
            Err(missing @ Error::NotFound { .. }) if self.add => bail!(
                "{missing}: `simdb-load {} --similar < /dev/null` makes an empty one",
                path.display()
            ),
            opened => opened?,
        };
        let settings = database.settings();
        if self.add {
            self.copy.input.fields.refuse_unkept(settings)?;
            ensure!(
                !settings.keys,
                "the documents of {} have keys, and --add adds documents by their ids; leave --add out, and \
                 add OUTPUT by simdb-load --key",
                path.display()
            );
            ensure!(
                settings.copies.is_none(),
                "{0} counts copies, and --add counts none; load the inputs themselves: simdb-load {0} \
                 INPUT --unique similar",
                path.display()
            );
            if settings.frozen {
                bail!(
                    "{} is frozen: no document can be added to it",
                    path.display()
                );
            }
        }
        let (verifies, compares) = (self.clustering.verify, self.compares_texts());
        if (verifies || compares) && !settings.keep_texts {
            let (compared, advice) = if verifies {
                ("--verify compares texts", "")
            } else {
                ("texts are compared", "; --radius compares fingerprints")
            };
            bail!(
                "{compared}, and {} keeps none, which cannot be changed{advice}",
                path.display()
            );
        }
        Ok(Some(database))
    }

    /// The settings of the temporary database.
    fn settings(&self, against: Option<&Database>) -> Result<Settings> {
        let recipe = match against {
            Some(database) => database.settings().recipe.clone(),
            None => self.recipe.recipe()?.unwrap_or_else(Recipe::ngram),
        };
        // Keeps the arrival times, without a window, so no document expires.
        let arrivals = Retention {
            // The times only choose the document to keep.
            max_ahead: None,
            ..Retention::default()
        };
        Ok(Settings {
            recipe,
            // At least the texts whose fingerprints do not recognise a copy.
            keep_texts: true,
            retention: self.copy.input.fields.time.is_some().then_some(arrivals),
            // The texts are compared with all others by a join, which needs no stored index.
            ..Settings::default()
        })
    }

    /// Returns `true` if all texts are compared or measured, or certified by the report, or kept in
    /// the database of --add.
    fn needs_texts(&self) -> bool {
        let measures = self.clustering.verify || self.keep.measures_texts();
        self.compares_texts()
            || measures
            || self.copy.report.is_some()
            || self.report_html.is_some()
            || self.add
    }

    pub(super) fn builder_of(&self, settings: &Settings) -> Builder {
        self.cached(Database::builder().settings(settings))
    }

    /// Sets the cache of a database to its share of `--memory`.
    fn cached(&self, builder: Builder) -> Builder {
        // With `--against`, two databases are open at the same time.
        builder.cache_bytes(MemoryBudget::new(self.memory).shared_cache_bytes())
    }
}
