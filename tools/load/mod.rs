//! Loading: from the options to the summary.
//!
//! - [`options`]: the command line
//! - [`exports`]: the recipe of what simdb has written itself
//! - [`bulk`]: documents to the database, all at once
//! - [`unique`]: the same one after another, near-duplicates left out
//! - [`duplicates`], [`summary`]: what is told in the end

mod bulk;
mod duplicates;
mod exports;
pub mod options;
mod summary;
mod unique;

use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use indicatif::ProgressBar;
use simdb::{Builder, Database, Fingerprinter, Settings};

use self::duplicates::Duplicates;
use self::exports::MadeWith;
use self::options::Options;
use crate::console::content::Content;
use crate::console::files::{folder_of, refuse_folder_name, refuse_special};
use crate::console::interrupt::Interrupt;
use crate::console::progress::Progress;
use crate::console::{Answer, Output};
use crate::corpus::ledger::{Input, Ledger};
use crate::corpus::pipeline::{self, Pipeline, Plan};
use crate::corpus::{clashes, half_of, inputs};
use crate::formats::id_sequence::IdSequence;
use crate::formats::input::Source;
use crate::formats::{Format, Wanted};
use crate::options::{Rule, created_without};

/// Loads what the options say.
pub fn run(options: &Options, output: &mut Output) -> Result<Answer> {
    let started = Instant::now();
    options.check()?;
    let interrupt = Interrupt::listen()?;
    let inputs = inputs(&options.inputs, options.format, &options.fields)?;
    let reports = [
        (options.rejects.as_deref(), "--rejects", Content::Rejects),
        (
            options.duplicates.as_deref(),
            "--duplicates",
            Content::Duplicates,
        ),
    ];
    let mut others = vec![(options.database.as_path(), "the database")];
    if let Some(ids) = &options.ids {
        ensure!(
            matches!(&inputs[..], [input] if input.format == Format::Npy),
            "--ids goes with one array of fingerprints; load several one after the other"
        );
        others.push((ids, "an input"));
    }
    clashes::check(&reports, &inputs, &others)?;
    let rule = options.unique.rule()?;
    if let Some(rule) = &rule {
        rule.refuse_textless(&options.fields)?;
        refuse_textless(rule, &inputs)?;
    }
    let made_with = MadeWith::of(options, rule, &inputs)?;
    let target = Target::open(options, rule, made_with.as_ref())?;
    let settings = target.settings();
    options.fields.refuse_unkept(&settings)?;
    if let Some(rule) = &rule {
        rule.refuse_unkept(&options.database, &settings)?;
    }
    let total_bytes = inputs.iter().map(|input| input.source.size_bytes()).sum();
    let mut load = Load {
        pipeline: Pipeline::start(
            Plan {
                inputs: inputs.clone(),
                wanted: Wanted {
                    fields: options.fields.fields()?,
                    counted: options.first_id.map(IdSequence::new),
                    ids: (options.ids.as_deref().map(Source::new)).transpose()?,
                },
                fingerprinter: Fingerprinter::new(settings.recipe.clone()),
                threads: options.threads(),
                // A report of duplicates shows texts even if the database does not keep them.
                keep_texts: settings.keep_texts || rule.is_some(),
            },
            interrupt.clone(),
        )?,
        ledger: Ledger::new(inputs, options.on_error, options.rejects.as_deref())?,
        progress: options.progress,
        bar: options.progress.bytes(total_bytes),
        interrupt,
    };
    load.bar.set_prefix("reading");
    let outcome = match rule {
        None => bulk::load(target, options, &mut load).map(|()| None),
        Some(rule) => unique::load(target, options, rule, &mut load).map(Some),
    };
    load.bar.finish_and_clear();
    let mut duplicates = outcome?;
    // As much is reported as can be.
    let reported = duplicates.as_mut().map_or(Ok(()), Duplicates::finish);
    load.ledger.finish().and(reported)?;
    if let Some(duplicates) = duplicates {
        duplicates.show(&options.database, options.new.recipe.builder()?, output)?;
    }
    summary::print(options, &load.ledger.counts, started.elapsed(), output)?;
    Ok(Answer::Yes)
}

/// What a load works with, whichever way it goes.
struct Load {
    pipeline: Pipeline,
    ledger: Ledger,
    progress: Progress,
    bar: ProgressBar,
    interrupt: Interrupt,
}

impl Load {
    /// Shows what is done after all inputs are read. The work of it is not known yet.
    fn start_writing(&mut self) {
        self.bar.finish_and_clear();
        self.bar = self.progress.work();
        self.bar.set_prefix("writing");
    }

    /// The next batch of documents; `None` when all inputs are read.
    fn next(&mut self) -> Result<Option<pipeline::Batch<pipeline::Entry>>> {
        let bar = &self.bar;
        self.pipeline.next(|bytes| bar.set_position(bytes))
    }
}

/// Refuses inputs without texts where texts are compared.
fn refuse_textless(rule: &Rule, inputs: &[Input]) -> Result<()> {
    let is_textless = |input: &&Input| matches!(input.format, Format::Raw | Format::Npy);
    match inputs.iter().find(is_textless) {
        Some(input) if rule.needs_texts() => bail!(
            "--unique similar compares texts, and raw pairs and arrays have none: {}",
            input.source.name()
        ),
        _ => Ok(()),
    }
}

/// The database that is loaded into.
enum Target {
    /// It is there, and open.
    Existing(Box<Database>),
    /// It is to be created.
    New(Settings),
}

impl Target {
    /// Its fingerprints are made with the recipe that those in the inputs were made with, if they say.
    fn open(options: &Options, rule: Option<Rule>, made_with: Option<&MadeWith>) -> Result<Self> {
        let path = &options.database;
        refuse_special(path)?;
        if !path
            .try_exists()
            .with_context(|| format!("cannot look for {}", path.display()))?
        {
            let cannot = || format!("cannot create {}", path.display());
            ensure!(
                path.symlink_metadata().is_err(),
                "{}: it is a symbolic link to a file that is not there; name that file",
                cannot()
            );
            refuse_folder_name(path).with_context(cannot)?;
            let folder = folder_of(path);
            if !folder.is_dir() {
                bail!(
                    "cannot create {}: there is no folder {}",
                    path.display(),
                    folder.display()
                );
            }
            let asked = options.new.settings(&options.fields)?;
            let settings = Settings {
                frozen: options.frozen,
                recipe: match made_with {
                    Some(made_with) => made_with.recipe(options.new.recipe()?)?,
                    None => asked.recipe,
                },
                ..asked
            };
            return Ok(Self::New(match rule {
                Some(rule) => rule.settings(settings),
                None => settings,
            }));
        }
        let mut builder = cached(options.memory);
        if let Some(recipe) = options.new.recipe()? {
            builder = builder.recipe(recipe);
        }
        let database = builder.open(path)?;
        let settings = database.settings();
        options.new.refuse_other(path, settings)?;
        if let Some(made_with) = made_with {
            made_with.refuse_other(path, &settings.recipe)?;
        }
        if options.frozen && !settings.frozen {
            return Err(created_without(path, "--frozen"));
        }
        Ok(Self::Existing(Box::new(database)))
    }

    fn settings(&self) -> Settings {
        match self {
            Self::Existing(database) => database.settings().clone(),
            Self::New(settings) => settings.clone(),
        }
    }
}

/// A builder that creates a database with these settings.
fn builder_of(settings: &Settings, memory_bytes: u64) -> Builder {
    cached(memory_bytes).settings(settings)
}

fn cached(memory_bytes: u64) -> Builder {
    let cache_bytes = usize::try_from(half_of(memory_bytes)).unwrap_or(usize::MAX);
    Database::builder().cache_bytes(cache_bytes)
}
