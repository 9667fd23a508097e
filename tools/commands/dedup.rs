//! `simdb-cli dedup`: a corpus without its near-duplicates.
//!
//! - [`options`]: the command line
//! - [`load`]: the first reading, into a database of its own
//! - [`fates`]: what becomes of each document; [`scores`]: the numbers that may decide it;
//!   [`follow`]: clusters that were found elsewhere
//! - [`copy`], [`parquet`]: the second reading, in which what is kept is copied as it is
//! - [`mark`], [`output`], [`target`], [`summary`]: what is written of it

mod copy;
mod fates;
mod follow;
mod load;
mod mark;
mod options;
mod output;
#[cfg(feature = "parquet")]
mod parquet;
mod scores;
mod summary;
mod target;

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use simdb::{Builder, Database, Error, Recipe, Retention, Settings};
use tempfile::TempDir;

use self::copy::Copier;
use self::fates::Fates;
use self::load::Loaded;
pub use self::options::Dedup;
use self::summary::Tally;
use self::target::Target;
use super::clusters::options::KeepRule;
use super::given_clusters::GivenClusters;
use crate::console::interrupt::Interrupt;
use crate::console::paths::{folder_of, refuse_special};
use crate::console::{Answer, Output};
use crate::corpus::input_fingerprint::InputFingerprints;
use crate::corpus::inputs;
use crate::corpus::inputs::Input;
use crate::corpus::memory::MemoryBudget;
use crate::corpus::report::RecordReport;
use crate::corpus::statistics::Statistics;

/// What temporary folders are called, so that whoever finds one after a power cut knows.
const TEMPORARY_PREFIX: &str = ".simdb-dedup-";

impl Dedup {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let started = Instant::now();
        self.check()?;
        let given = inputs(&self.inputs, self.format, &self.fields)?;
        let format = self.format_of(&given)?;
        let outputs = self.outputs(&given, format)?;
        let interrupt = Interrupt::listen()?;
        // What is wrong with them is said before the inputs are read.
        let clusters = self.clusters.as_deref();
        let clusters = clusters
            .map(|path| GivenClusters::read(path, self.progress, &interrupt))
            .transpose()?;
        let against = self.open_against()?;
        let settings = self.settings(against.as_ref())?;
        let mut target = Target::create(outputs.output, format)?;
        let mut report = outputs.report.map(RecordReport::create).transpose()?;
        let folder = temporary_folder(folder_of(&self.output))?;
        let given = load::copies_of_streams(given, folder.path(), &interrupt)?;
        let mut ledger = Statistics::new(given, self.on_error, outputs.rejects)?;

        let fingerprints = InputFingerprints::new(&ledger.inputs)?;
        let loaded = load::load(self, &settings, folder.path(), &mut ledger, &interrupt)?;
        let fates = match &clusters {
            Some(clusters) => self.follow(&loaded, clusters, &interrupt)?,
            None => self.fates(&loaded, against.as_ref(), &ledger.inputs, &interrupt)?,
        };
        drop(clusters);
        let mut tally = Tally::new(&fates);
        let against_snapshot = against.as_ref().map(Database::snapshot).transpose()?;
        let mut copier = Copier {
            options: self,
            format,
            marks: self.marks(),
            fates: &fates,
            against: against_snapshot.as_ref(),
            rejected: loaded.rejected,
            repeats: loaded.has_repeats.then(Default::default),
            report: report.as_mut(),
            texts: Default::default(),
        };
        copier.copy_all(&mut ledger, &mut tally, &mut target, &interrupt)?;
        fingerprints.check(&ledger.inputs)?;
        // Not every file system tells at once when a file was written to.
        if ledger.counts.read != loaded.records {
            bail!(
                "the inputs have changed while they were read: {} records at first, {} then; \
                 nothing was changed",
                loaded.records,
                ledger.counts.read
            );
        }
        drop(against_snapshot);
        interrupt.check()?;
        // First what is kept has its name: added and not written, nobody would find it again.
        target.publish()?;
        if let (true, Some(database)) = (self.add, &against) {
            tally.added = copy::add(self, &loaded.database, &fates, database, &interrupt)
                .with_context(|| {
                    format!(
                        "nothing was added to {}; remove {} and repeat the command",
                        database.path().display(),
                        self.output.display()
                    )
                })?;
        }
        // What has come to pass is reported, and as much of it as can be.
        let reported = report.map_or(Ok(()), RecordReport::publish);
        ledger.finish().and(reported)?;
        summary::print(&tally, &ledger.counts, started.elapsed(), self.json, output)?;
        Ok(Answer::Yes)
    }

    fn open_against(&self) -> Result<Option<Database>> {
        let Some(path) = &self.against else {
            return Ok(None);
        };
        refuse_special(path)?;
        let builder = self.cached(self.recipe.builder()?);
        let opened = match self.add {
            true => builder.open(path),
            false => builder.open_read_only(path),
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

    /// What the database of the documents that are read is like.
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
        // Two databases may be open, and what is loaded waits beside them.
        builder.cache_bytes(MemoryBudget::new(self.memory).shared_cache_bytes())
    }

    /// What becomes of each document that is not simply kept, by clusters found elsewhere.
    fn follow(
        &self,
        loaded: &Loaded,
        clusters: &GivenClusters,
        interrupt: &Interrupt,
    ) -> Result<Fates> {
        let mut fates = Fates::default();
        fates.follow(clusters, loaded, self, interrupt)?;
        Ok(fates)
    }

    /// The same, as it is found here.
    fn fates(
        &self,
        loaded: &Loaded,
        against: Option<&Database>,
        inputs: &[Input],
        interrupt: &Interrupt,
    ) -> Result<Fates> {
        let mut fates = Fates::default();
        if let Some(against) = against {
            fates.compare_with(against, &loaded.database, self, interrupt)?;
        }
        let scores = match &self.score {
            Some(_) => Some(scores::of(&loaded.database, self, inputs, interrupt)?),
            None => None,
        };
        fates.cluster(&loaded.database, self, scores, interrupt)?;
        Ok(fates)
    }
}

fn temporary_folder(folder: &Path) -> Result<TempDir> {
    tempfile::Builder::new()
        .prefix(TEMPORARY_PREFIX)
        .tempdir_in(folder)
        .with_context(|| format!("cannot create a folder in {}", folder.display()))
}
