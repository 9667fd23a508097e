//! `simdb-cli dedup`: a corpus without its near-duplicates.
//!
//! - [`options`], [`check`]: the command line, and the checks before anything is read
//! - [`load`]: the first reading, into a database of its own
//! - [`decisions`], [`scores`]: the documents that are removed, and the numbers that may decide it
//! - [`mod@copy`]: the second reading, in which records that are kept are copied
//! - [`output`], [`text_copy`], [`mark`]: the new corpus
//! - [`summary`]: the counts and the report

mod check;
mod copy;
mod decisions;
mod load;
mod mark;
mod options;
mod output;
mod scores;
mod summary;
mod text_copy;

use std::time::Instant;

use anyhow::{Context, Result, bail};
use simdb::{Builder, Database, Error, Recipe, Retention, Settings};

use self::copy::Copier;
use self::decisions::Decisions;
use self::load::LoadedCorpus;
pub use self::options::Dedup;
use self::output::CorpusOutput;
use self::scores::score_ranks;
use super::clusters::options::KeepRule;
use super::external_clusters::ExternalClusters;
use crate::console::interrupt::Interrupt;
use crate::console::paths::{folder_of, refuse_special};
use crate::console::{Answer, Output};
use crate::corpus::input_fingerprint::InputFingerprints;
use crate::corpus::inputs::{Input, inputs};
use crate::corpus::memory::MemoryBudget;
use crate::corpus::report::RecordReport;
use crate::corpus::statistics::Statistics;

/// The prefix of temporary folders, by which they are known after a power cut.
const TEMPORARY_PREFIX: &str = ".simdb-dedup-";

impl Dedup {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let started = Instant::now();
        // Everything that can be refused is refused before the inputs are read.
        self.check()?;
        let inputs = inputs(&self.inputs, self.format, &self.fields)?;
        let format = self.check_inputs(&inputs)?;
        let outputs = self.check_outputs(&inputs, format)?;
        let interrupt = Interrupt::listen()?;
        let clusters = (self.clusters.as_deref())
            .map(|path| ExternalClusters::read(path, self.progress, &interrupt))
            .transpose()?;
        let against = self.open_against()?;
        let settings = self.settings(against.as_ref())?;
        let mut corpus = CorpusOutput::create(self, outputs.corpus, format, &inputs)?;
        let mut report = outputs.report.map(RecordReport::create).transpose()?;
        let parent = folder_of(&self.output);
        let folder = tempfile::Builder::new()
            .prefix(TEMPORARY_PREFIX)
            .tempdir_in(parent)
            .with_context(|| format!("cannot create a folder in {}", parent.display()))?;
        let inputs = load::copies_of_streams(inputs, folder.path(), &interrupt)?;
        let mut statistics = Statistics::new(inputs, self.on_error, outputs.rejects)?;

        let fingerprints = InputFingerprints::new(&statistics.inputs)?;
        let loaded = load::load(self, &settings, folder.path(), &mut statistics, &interrupt)?;
        let decisions = match &clusters {
            Some(clusters) => Decisions::from_external(clusters, &loaded, self, &interrupt)?,
            None => self.decide(&loaded, against.as_ref(), &statistics.inputs, &interrupt)?,
        };
        drop(clusters);
        let against_snapshot = against.as_ref().map(Database::snapshot).transpose()?;
        let copier = Copier {
            options: self,
            decisions: &decisions,
            against: against_snapshot.as_ref(),
            rejected: loaded.rejected,
            ids: loaded.has_repeats.then(Default::default),
            statistics: &mut statistics,
            report: report.as_mut(),
            texts: Default::default(),
            summary: Default::default(),
        };
        let mut summary = copier.copy_all(&mut corpus, &interrupt)?;
        fingerprints.check(&statistics.inputs)?;
        // Some file systems do not show at once that a file was written to.
        if statistics.counts.read != loaded.records {
            bail!(
                "the inputs have changed while they were read: {} records at first, {} then; \
                 nothing was changed",
                loaded.records,
                statistics.counts.read
            );
        }
        drop(against_snapshot);
        interrupt.check()?;
        // The output comes before the database: documents that are in the database and in no output
        // would be duplicates in every later run.
        corpus.publish()?;
        if let (true, Some(database)) = (self.add, &against) {
            summary.added = copy::add(self, &loaded.database, &decisions, database, &interrupt)
                .with_context(|| {
                    format!(
                        "nothing was added to {}; remove {} and repeat the command",
                        database.path().display(),
                        self.output.display()
                    )
                })?;
        }
        // One report is published even if the other cannot be.
        let reported = report.map_or(Ok(()), RecordReport::publish);
        statistics.finish().and(reported)?;
        summary.finish(&decisions, &statistics.counts, started.elapsed());
        summary.print(self.json, output)?;
        Ok(Answer::Yes)
    }

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
            self.fields.refuse_unkept(settings)?;
            if settings.frozen {
                bail!("{} is frozen, nothing can be added to it", path.display());
            }
        }
        if self.clustering.verifies() && !settings.keep_texts {
            bail!(
                "--verify compares texts, and {} keeps none, which cannot be changed",
                path.display()
            );
        }
        Ok(Some(database))
    }

    /// The settings of the database of the corpus.
    fn settings(&self, against: Option<&Database>) -> Result<Settings> {
        let recipe = match against {
            Some(database) => database.settings().recipe.clone(),
            None => self.recipe.recipe()?.unwrap_or_else(Recipe::ngram),
        };
        let is_kept = against.is_some_and(|database| self.add && database.settings().keep_texts);
        let keeps_times = self.fields.time.is_some();
        Ok(Settings {
            recipe,
            keep_texts: self.clustering.verifies() || self.keep == KeepRule::Longest || is_kept,
            similar: false,
            retention: keeps_times.then_some(Retention {
                window: None,
                sliding: false,
                by_clock: false,
            }),
            frozen: false,
        })
    }

    pub(super) fn builder_of(&self, settings: &Settings) -> Builder {
        self.cached(Database::builder().settings(settings))
    }

    fn cached(&self, builder: Builder) -> Builder {
        // Two databases may be open beside the documents that are being loaded.
        builder.cache_bytes(MemoryBudget::new(self.memory).shared_cache_bytes())
    }

    /// Decides by the distances of documents from those of another database and from one another.
    fn decide(
        &self,
        loaded: &LoadedCorpus,
        against: Option<&Database>,
        inputs: &[Input],
        interrupt: &Interrupt,
    ) -> Result<Decisions> {
        let mut decisions = Decisions::default();
        if let Some(against) = against {
            decisions.remove_near(against, &loaded.database, self, interrupt)?;
        }
        let scores = match &self.score {
            Some(_) => Some(score_ranks(&loaded.database, self, inputs, interrupt)?),
            None => None,
        };
        decisions.remove_clustered(&loaded.database, self, scores, interrupt)?;
        Ok(decisions)
    }
}
