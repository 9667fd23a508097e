//! `simdb-cli dedup`: a copy of a corpus without its near-duplicates.
//!
//! - [`options`]: the command line
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
mod removals;
mod restore;
mod sample;
mod summary;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use simdb::frames::Frames;
use simdb::{Builder, Database, Error, Recipe, Retention, Settings};

use self::checkpoint::{CheckpointFile, path_of};
use self::columns::DecisionColumns;
use self::copy::Copier;
use self::decisions::Decisions;
use self::load::LoadedCorpus;
pub use self::options::Dedup;
use self::removals::RemovalReport;
use self::sample::RemovalSample;
use super::corpus_copy::check_unchanged;
use super::corpus_copy::output::CorpusOutput;
use super::given_clusters::GivenClusters;
use super::serve::check_program;
use crate::console::interrupt::Interrupt;
use crate::console::paths::refuse_special;
use crate::console::{Output, counted, note};
use crate::corpus::blocks::BlockUnit;
use crate::corpus::input_fingerprint::InputFingerprints;
use crate::corpus::inputs::{Input, given_twice};
use crate::corpus::memory::MemoryBudget;
use crate::corpus::repeated_blocks::{BlockRule, RepeatedBlocks};
use crate::corpus::report::RecordReport;
use crate::corpus::statistics::Statistics;
use crate::corpus::stream_copies::copies_of_streams;
use crate::corpus::uncompared::{Uncompared, UncomparedRule, learn_frames};
use crate::options::note_without_forest;

impl Dedup {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        let started = Instant::now();
        // All checks come before the first pass, which may take hours.
        self.check()?;
        let inputs = self.copy.input.inputs()?;
        if self.copy.report.is_some()
            && let Some(file) = given_twice(&inputs)
        {
            bail!(
                "{} is given twice, and --report names records by file and place; name it once",
                file.display()
            );
        }
        let added = self.added();
        let format = self
            .copy
            .check_inputs(&inputs, &self.document_fields()?, &added)?;
        // No output may replace the checkpoint, from which the command continues.
        let checkpoint = path_of(&self.copy.output);
        let mut reserved = vec![(checkpoint.as_path(), "the checkpoint")];
        reserved.extend(
            self.clusters
                .as_deref()
                .map(|path| (path, "the file of --clusters")),
        );
        reserved.extend(self.against.as_deref().map(|path| (path, "the database")));
        let page = &self.report_html;
        let outputs = self.copy.check_outputs(&inputs, format, &reserved, page)?;
        page.as_ref().map_or(Ok(()), |_| check_program())?;
        let interrupt = Interrupt::listen()?;
        let clusters = (self.clusters.as_deref())
            .map(|path| GivenClusters::read(path, self.copy.progress, &interrupt))
            .transpose()?;
        let against = self.open_against()?;
        let finds_few = self.compares_texts()
            && (against.as_ref()).is_some_and(|database| !database.settings().similar);
        // Fingerprints of two recipes have no distance, so the recipe of `--against` decides.
        let settings = self.settings(against.as_ref())?;
        let checkpoint = CheckpointFile::open(outputs.corpus.path(), self.compares_texts())?;
        // The outputs are created before the first pass too: a folder without write permission is
        // an error now, not after hours.
        let text = self.copy.input.text_field();
        let mut corpus = CorpusOutput::create(outputs.corpus, format, &inputs, added, text)?;
        let report = outputs.report.map(RecordReport::create).transpose()?;
        let decision = self.clustering.decision();
        let sample = outputs.page.map(RemovalSample::create).transpose()?;
        let mut report = (report.is_some() || sample.is_some())
            .then(|| RemovalReport::new(report, sample, self.uncompared_rule(), decision));
        let folder = self.copy.temporary_folder()?;
        let inputs = copies_of_streams(inputs, folder.path(), &interrupt)?;
        let mut statistics = Statistics::new(inputs, self.copy.on_error, outputs.rejects)?;
        statistics.advice = "; dedup then keeps those without a text; --on-error keep keeps all";

        // First pass: load the corpus, and decide for each document.
        let inputs_before = InputFingerprints::new(&statistics.inputs)?;
        let uncompared = self.uncompared(
            folder.path(),
            &statistics.inputs,
            against.as_ref(),
            &interrupt,
        )?;
        if let Some(against) = &against {
            // In place of frames that the database has learned, which no report would name.
            against.set_frames(match uncompared.as_deref() {
                Some(Uncompared::Frames(frames)) => frames.clone(),
                _ => Frames::default(),
            })?;
        }
        let load = |options: &Self, name, statistics: &mut Statistics| {
            let uncompared = uncompared.clone();
            let path = folder.path().join(name);
            load::load(
                options, &settings, uncompared, &path, statistics, &interrupt,
            )
        };
        let mut loaded = load(self, "corpus.simdb", &mut statistics)?;
        // An id that two documents have names neither of them in a decision, a mark or a report.
        let numbered = (loaded.repeats > 0)
            .then(|| self.numbered_by_place(loaded.repeats))
            .transpose()?;
        let options = numbered.as_ref().unwrap_or(self);
        if numbered.is_some() {
            statistics.restart();
            loaded = load(options, "numbered.simdb", &mut statistics)?;
        }
        statistics.write_deferred()?;
        if let Some(report) = &mut report {
            report.is_by_place = options.copy.input.no_id;
        }
        let mut decisions = match &clusters {
            Some(clusters) => Decisions::from_given(clusters, &loaded, self, &interrupt)?,
            None => options.decide(
                &loaded,
                against.as_ref(),
                &checkpoint,
                &statistics.inputs,
                &interrupt,
            )?,
        };
        // The second pass does not need the given clusters, which take memory.
        drop(clusters);
        let restored = match uncompared.as_deref() {
            Some(Uncompared::Paragraphs(ignored)) => options.restore(
                &mut decisions,
                ignored,
                &loaded,
                &statistics.inputs,
                &interrupt,
            )?,
            _ => 0,
        };

        // Second pass: copy the records to keep.
        let against_snapshot = against.as_ref().map(Database::snapshot).transpose()?;
        let corpus_snapshot = loaded.database.snapshot()?;
        let copies = match options.with_copies {
            Some(_) => decisions.copies(&corpus_snapshot, options, &interrupt)?,
            None => HashMap::new(),
        };
        let copier = Copier {
            options,
            decisions: &decisions,
            copies: &copies,
            corpus: &corpus_snapshot,
            against: against_snapshot.as_ref(),
            uncompared: uncompared.as_deref(),
            rejected: loaded.rejected,
            statistics: &mut statistics,
            report: report.as_mut(),
            texts: Default::default(),
            summary: Default::default(),
        };
        let mut summary = copier.copy_all(&mut corpus, &interrupt)?;
        ensure!(
            summary.uncompared == 0 || summary.uncompared < statistics.counts.read,
            "no record has a text in the field {:?}; name the field of the texts with --text",
            self.copy.input.text_field()
        );
        // The decisions are valid only for the records of the first pass.
        let counts = [loaded.records, statistics.counts.read];
        check_unchanged(&inputs_before, &statistics.inputs, counts)?;
        // A snapshot keeps old pages, so with the snapshot the file would grow while documents are
        // added.
        drop((against_snapshot, corpus_snapshot));
        // After the corpus is published, an interrupt can no longer leave everything unchanged.
        interrupt.check()?;

        // The corpus is published before documents are added to the database. After a crash in
        // between, the other order would leave documents in the database that no output has and
        // that every later run removes as duplicates.
        corpus.publish()?;
        if let (true, Some(database)) = (self.add, &against) {
            let added = copy::add(options, &loaded.database, &decisions, database, &interrupt);
            summary.added = added.with_context(|| {
                let (to, output) = (database.path().display(), self.copy.output.display());
                format!("nothing was added to {to}; remove {output} and repeat the command")
            })?;
        }
        // Each report is published even if the other fails.
        let reported = report.map_or(Ok(()), |report| report.publish(&statistics.inputs));
        statistics.finish().and(reported)?;
        checkpoint.remove();
        summary.restored = restored;
        summary.ignored = uncompared.map_or(0, |uncompared| uncompared.len() as u64);
        summary.finish(&decisions, &statistics.counts, started.elapsed());
        if let Some(path) = self.against.as_ref().filter(|_| finds_few) {
            note_without_forest(path);
        }
        output.print(self.copy.json, || &summary, || summary.table())
    }

    /// These options for documents that are numbered by their place in the inputs.
    fn numbered_by_place(&self, repeats: u64) -> Result<Self> {
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
        note(format_args!(
            "{said}: all documents are numbered by their place in the inputs instead, as by --no-id; \
             keepers are named by these numbers"
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
                Uncompared::Frames(learn_frames(number, against, &records)?)
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

    /// Keeps the documents that would be lost with a paragraph that was not compared.
    fn restore(
        &self,
        decisions: &mut Decisions,
        ignored: &RepeatedBlocks,
        loaded: &LoadedCorpus,
        inputs: &[Input],
        interrupt: &Interrupt,
    ) -> Result<u64> {
        let wanted = self.wanted()?;
        let records = self.copy.records(inputs, &wanted, interrupt);
        decisions.restore(ignored, &records, &loaded.rejected)
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
                "{missing}: `simdb-load {} < /dev/null` makes an empty one",
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
                "{} counts copies, and --add counts none; leave --add out, write the counts into \
                 OUTPUT by --with-copies, and add OUTPUT by simdb-load --unique similar \
                 --copies-from copies",
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

    /// Finds the documents to remove: near-duplicates of the database of `--against`, then
    /// near-duplicates within the corpus.
    fn decide(
        &self,
        loaded: &LoadedCorpus,
        against: Option<&Database>,
        checkpoint: &CheckpointFile,
        inputs: &[Input],
        interrupt: &Interrupt,
    ) -> Result<Decisions> {
        let mut decisions = Decisions::default();
        if let Some(against) = against {
            decisions.remove_near(against, &loaded.database, self, interrupt)?;
        }
        let columns = DecisionColumns::read(&loaded.database, self, inputs, interrupt)?;
        decisions.remove_clustered(&loaded.database, self, columns, checkpoint, interrupt)?;
        Ok(decisions)
    }
}
