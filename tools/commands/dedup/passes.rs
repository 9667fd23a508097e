//! [`Passes`]: the two passes over a corpus, from the checks to the published outputs.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use simdb::frames::Frames;
use simdb::{Database, Settings};
use tempfile::TempDir;

use super::checkpoint::CheckpointFile;
use super::columns::DecisionColumns;
use super::copy::{self, Copier};
use super::decisions::Decisions;
use super::load::{self, LoadedCorpus};
use super::options::Dedup;
use super::removals::RemovalReport;
use super::summary::DedupSummary;
use crate::commands::corpus_copy::output::CorpusOutput;
use crate::commands::corpus_copy::{CopyOptions, check_unchanged};
use crate::commands::given_clusters::GivenClusters;
use crate::console::interrupt::Interrupt;
use crate::corpus::input_fingerprint::InputFingerprints;
use crate::corpus::statistics::Statistics;
use crate::corpus::stream_copies::copies_of_streams;
use crate::corpus::uncompared::Uncompared;
use crate::options::note_without_forest;

/// A run whose options, inputs and outputs are checked.
pub struct Passes<'d> {
    options: Cow<'d, Dedup>,
    /// The settings of the temporary database.
    settings: Settings,
    clusters: Option<GivenClusters>,
    /// The database of `--against`.
    against: Option<Database>,
    checkpoint: CheckpointFile,
    corpus: CorpusOutput<'d>,
    report: Option<RemovalReport>,
    folder: TempDir,
    statistics: Statistics,
    inputs_before: InputFingerprints,
    uncompared: Option<Arc<Uncompared>>,
    interrupt: Interrupt,
}

impl<'d> Passes<'d> {
    /// Makes all checks, which come before the first pass, because it may take hours.
    pub fn prepare(options: &'d Dedup) -> Result<Self> {
        options.check()?;
        let added = options.added();
        let (inputs, format) = options.checked_inputs(&added)?;
        let outputs = options.checked_outputs(&inputs, format)?;
        let interrupt = Interrupt::listen()?;
        let clusters = (options.clusters.as_deref())
            .map(|path| GivenClusters::read(path, options.copy.progress, &interrupt))
            .transpose()?;
        let against = options.open_against()?;
        // Fingerprints of two recipes have no distance, so the recipe of `--against` decides.
        let settings = options.settings(against.as_ref())?;
        let checkpoint = CheckpointFile::open(outputs.corpus.path(), options.compares_texts())?;
        // The outputs are created before the first pass too: a folder without write permission is
        // an error now, not after hours.
        let text = options.copy.input.text_field();
        let corpus = CorpusOutput::create(outputs.corpus, format, &inputs, added, text)?;
        let report = options.removal_report(outputs.report, outputs.page)?;
        let folder = options.copy.temporary_folder()?;
        let inputs = copies_of_streams(inputs, folder.path(), &interrupt)?;
        CopyOptions::check_columns(&inputs, &options.document_fields()?, &options.added())?;
        let mut statistics = Statistics::new(inputs, options.copy.on_error, outputs.rejects)?;
        statistics.advice = "; dedup then keeps those without a text; --on-error keep keeps all";
        Ok(Self {
            options: Cow::Borrowed(options),
            settings,
            clusters,
            against,
            checkpoint,
            corpus,
            report,
            folder,
            inputs_before: InputFingerprints::new(&statistics.inputs)?,
            statistics,
            uncompared: None,
            interrupt,
        })
    }

    /// The first pass, which loads the corpus.
    pub fn load(&mut self) -> Result<LoadedCorpus> {
        let (folder, inputs) = (self.folder.path(), &self.statistics.inputs);
        let against = self.against.as_ref();
        self.uncompared = (self.options).uncompared(folder, inputs, against, &self.interrupt)?;
        if let Some(against) = against {
            // In place of frames that the database has learned, which no report would name.
            against.set_frames(match self.uncompared.as_deref() {
                Some(Uncompared::Frames(frames)) => frames.clone(),
                _ => Frames::default(),
            })?;
        }
        let mut loaded = self.load_as("corpus.simdb")?;
        // An id that two documents have names neither of them in a decision, a mark or a report.
        if loaded.repeats > 0 {
            let rejected = self.statistics.counts.rejected;
            let numbered = self.options.numbered_by_place(loaded.repeats, rejected)?;
            self.options = Cow::Owned(numbered);
            self.statistics.restart();
            loaded = self.load_as("numbered.simdb")?;
        }
        self.statistics.write_deferred()?;
        if let Some(report) = &mut self.report {
            report.is_by_place = self.options.copy.input.no_id;
        }
        Ok(loaded)
    }

    fn load_as(&mut self, name: &str) -> Result<LoadedCorpus> {
        load::load(
            &self.options,
            &self.settings,
            self.uncompared.clone(),
            &self.folder.path().join(name),
            &mut self.statistics,
            &self.interrupt,
        )
    }

    /// Finds the documents to remove: the members of given clusters, or near-duplicates of the
    /// database of `--against`, then near-duplicates within the corpus.
    pub fn decide(&mut self, loaded: &LoadedCorpus) -> Result<Decisions> {
        let (options, interrupt) = (&*self.options, &self.interrupt);
        let (inputs, database) = (&self.statistics.inputs, &loaded.database);
        let mut decisions = Decisions::default();
        // The second pass does not need the given clusters, which take memory.
        if let Some(clusters) = self.clusters.take() {
            decisions = Decisions::from_given(&clusters, loaded, options, interrupt)?;
        } else {
            if let Some(against) = &self.against {
                decisions.remove_near(against, database, options, interrupt)?;
            }
            let columns = DecisionColumns::read(database, options, inputs, interrupt)?;
            let checkpoint = &self.checkpoint;
            decisions.remove_clustered(database, options, columns, checkpoint, interrupt)?;
        }
        if let Some(Uncompared::Paragraphs(ignored)) = self.uncompared.as_deref() {
            let wanted = options.wanted()?;
            let records = options.copy.records(inputs, &wanted, interrupt);
            decisions.restore(ignored, &records, &loaded.rejected)?;
        }
        Ok(decisions)
    }

    /// The second pass, which copies the records to keep. Returns the counts.
    pub fn copy(&mut self, loaded: &LoadedCorpus, decisions: &Decisions) -> Result<DedupSummary> {
        let options = &*self.options;
        // Dropped at the end: a snapshot keeps old pages, so with the snapshot the file would grow
        // while documents are added.
        let against = self.against.as_ref().map(Database::snapshot).transpose()?;
        let corpus = loaded.database.snapshot()?;
        let copies = match options.with_copies {
            Some(_) => decisions.copies(&corpus, options, &self.interrupt)?,
            None => HashMap::new(),
        };
        let copier = Copier {
            options,
            decisions,
            copies: &copies,
            corpus: &corpus,
            against: against.as_ref(),
            uncompared: self.uncompared.as_deref(),
            rejected: &loaded.rejected,
            statistics: &mut self.statistics,
            report: self.report.as_mut(),
            texts: Default::default(),
            summary: Default::default(),
        };
        let summary = copier.copy_all(&mut self.corpus, &self.interrupt)?;
        let Statistics { inputs, counts, .. } = &self.statistics;
        ensure!(
            summary.uncompared == 0 || summary.uncompared < counts.read,
            "no record has a text in the field {:?}; name the field of the texts with --text",
            options.copy.input.text_field()
        );
        // The decisions are valid only for the records of the first pass.
        check_unchanged(&self.inputs_before, inputs, [loaded.records, counts.read])?;
        Ok(summary)
    }

    /// Gives the outputs their names, and adds the documents to keep to the database of `--add`.
    pub fn publish(
        mut self,
        loaded: &LoadedCorpus,
        decisions: &Decisions,
        summary: &mut DedupSummary,
        elapsed: impl Fn() -> Duration,
    ) -> Result<()> {
        let options = &*self.options;
        // After the corpus is published, an interrupt can no longer leave everything unchanged.
        self.interrupt.check()?;
        // The corpus is published before documents are added to the database. After a crash in
        // between, the other order would leave documents in the database that no output has and
        // that every later run removes as duplicates.
        self.corpus.publish()?;
        if let (true, Some(database)) = (options.add, &self.against) {
            let added = copy::add(
                options,
                &loaded.database,
                decisions,
                database,
                &self.interrupt,
            );
            summary.added = added.with_context(|| {
                let (to, output) = (database.path().display(), options.copy.output.display());
                format!("nothing was added to {to}; remove {output} and repeat the command")
            })?;
        }
        // Each report is published even if the other fails.
        let inputs = &self.statistics.inputs;
        let reported = (self.report).map_or(Ok(()), |report| report.publish(inputs));
        self.statistics.finish().and(reported)?;
        self.checkpoint.remove();
        summary.ignored = (self.uncompared).map_or(0, |uncompared| uncompared.len() as u64);
        summary.finish(decisions, &self.statistics.counts, elapsed());
        if let Some(against) = &self.against
            && options.compares_texts()
            && !against.settings().similar
        {
            note_without_forest(against.path());
        }
        Ok(())
    }
}
