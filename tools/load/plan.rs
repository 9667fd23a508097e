//! [`Plan`]: a load whose options, inputs, paths and database are checked.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use simdb::bulk::BulkLoad;
use simdb::{Database, Settings};

use super::exports::MadeWith;
use super::options::Options;
use crate::console::paths::{
    OutputPath, OutputPaths, folder_of, refuse_special, refuse_unwritable_name,
};
use crate::corpus::inputs::{Input, inputs, refuse_unused_first_id, reserve_inputs};
use crate::corpus::memory::MemoryBudget;
use crate::formats::id_sequence::IdSequence;
use crate::formats::input::Source;
use crate::formats::{DocumentFields, Format, Wanted};
use crate::options::{DuplicateRule, refuse_created};

/// The inputs and outputs of a load.
pub struct Plan {
    pub inputs: Vec<Input>,
    pub wanted: Wanted,
    /// The rule of `--unique`; `None` if near-duplicates are loaded too.
    pub rule: Option<DuplicateRule>,
    pub target: LoadTarget,
    pub rejects: Option<OutputPath>,
    pub duplicates: Option<OutputPath>,
    pub memory: MemoryBudget,
}

/// The database that is loaded into.
pub enum LoadTarget {
    Existing(Box<Database>),
    /// The settings of the database to create.
    New(Settings),
}

impl Plan {
    pub fn new(options: &Options) -> Result<Self> {
        options.check()?;
        let inputs = inputs(&options.inputs, options.format, &options.fields)?;
        ensure!(
            options.ids.is_none() || matches!(&inputs[..], [input] if input.format == Format::Npy),
            "--ids goes with one array of fingerprints; load several arrays one after the other"
        );
        let rule = options.unique.rule()?;
        if let Some(rule) = &rule {
            rule.refuse_textless(&options.fields)?;
            ensure!(
                options.new.ignore_frames.is_none() || rule.needs_texts(),
                "--ignore-frames needs --unique similar, which compares texts"
            );
            refuse_textless(rule, &inputs)?;
        }

        // A report must not replace an input, the database or the other report.
        let mut paths = OutputPaths::new(options.overwrite);
        paths.reserve(&options.database, "the database");
        reserve_inputs(&mut paths, &inputs);
        if let Some(ids) = &options.ids {
            paths.reserve(ids, "an input");
        }
        let mut report = |option: &str, path: &Option<_>| {
            let report = path.as_deref().map(|path: &Path| paths.file(option, path));
            report.transpose()
        };
        let rejects = report("--rejects", &options.rejects)?;
        let duplicates = report("--duplicates", &options.duplicates)?;

        // Before the database is opened, because exports decide the recipe of a new database.
        let memory = MemoryBudget::new(options.memory);
        let fields = DocumentFields {
            are_counted: options.no_id,
            ..options.keys.fields(options.fields.fields()?)?
        };
        let has_keys = |input: &Input| {
            matches!(
                input.format,
                Format::Jsonl | Format::Csv | Format::Tsv | Format::Parquet
            )
        };
        ensure!(
            fields.key.is_none() && fields.keep.is_empty() || inputs.iter().all(has_keys),
            "--key, --scope and --keep name fields of JSON Lines, CSV, TSV and Parquet"
        );
        ensure!(
            !options.no_id || inputs.iter().all(|input| input.format != Format::Raw),
            "--no-id does not go with raw pairs, which have ids"
        );
        refuse_unused_first_id(options.first_id, options.no_id, &inputs)?;
        let made_with = MadeWith::from_inputs(&fields, rule, &inputs)?;
        let target = LoadTarget::open(options, memory, rule, made_with.as_ref())?;
        // The settings are known only now: an existing database has its own.
        let settings = target.settings();
        options.fields.refuse_unkept(settings)?;
        options.keys.refuse_unkept(settings)?;
        options.on_exists.refuse_unkept(settings)?;
        if let Some(rule) = &rule {
            rule.refuse_unkept(&options.database, settings)?;
        }
        Ok(Self {
            inputs,
            wanted: Wanted {
                fields,
                counted: options.first_id.map(IdSequence::new),
                ids: options.ids.as_deref().map(Source::new).transpose()?,
            },
            rule,
            target,
            rejects,
            duplicates,
            memory,
        })
    }
}

/// Refuses inputs without texts if texts are compared.
fn refuse_textless(rule: &DuplicateRule, inputs: &[Input]) -> Result<()> {
    let is_textless = |input: &&Input| matches!(input.format, Format::Raw | Format::Npy);
    match inputs.iter().find(is_textless) {
        Some(input) if rule.needs_texts() => bail!(
            "--unique similar compares texts, and raw pairs and arrays have none: {}; name a radius \
             instead",
            input.source.name()
        ),
        _ => Ok(()),
    }
}

impl LoadTarget {
    /// Opens the database, or checks that it can be created. Exported fingerprints must have the
    /// recipe of the database.
    fn open(
        options: &Options,
        memory: MemoryBudget,
        rule: Option<DuplicateRule>,
        made_with: Option<&MadeWith>,
    ) -> Result<Self> {
        let path = &options.database;
        refuse_special(path)?;
        let exists = path
            .try_exists()
            .with_context(|| format!("cannot read {}", path.display()))?;
        if !exists {
            check_new(path)?;
            return Ok(Self::New(new_settings(options, rule, made_with)?));
        }
        let builder = options.new.recipe.builder()?;
        let database = memory.bounded(builder).open(path)?;
        let settings = database.settings();
        options.new.refuse_other(path, settings)?;
        if let Some(made_with) = made_with {
            made_with.refuse_other(path, &settings.recipe)?;
        }
        let is_missing = options.frozen && !settings.frozen;
        refuse_created(path, [("without --frozen", is_missing)])?;
        Ok(Self::Existing(Box::new(database)))
    }

    /// Begins a bulk load.
    pub fn bulk_load(&self, path: &Path, memory: MemoryBudget) -> Result<BulkLoad<'_>> {
        Ok(match self {
            Self::Existing(database) => database.bulk_load(memory.sort_bytes())?,
            Self::New(settings) => {
                let builder = memory.builder(settings);
                builder.bulk_create(path, memory.sort_new_bytes())?
            }
        })
    }

    pub fn settings(&self) -> &Settings {
        match self {
            Self::Existing(database) => database.settings(),
            Self::New(settings) => settings,
        }
    }
}

/// Refuses a path at which no database can be created.
fn check_new(path: &Path) -> Result<()> {
    let cannot = || format!("cannot create {}", path.display());
    refuse_unwritable_name(path).with_context(cannot)?;
    let folder = folder_of(path);
    ensure!(
        folder.is_dir(),
        "{}: there is no folder {}",
        cannot(),
        folder.display()
    );
    Ok(())
}

fn new_settings(
    options: &Options,
    rule: Option<DuplicateRule>,
    made_with: Option<&MadeWith>,
) -> Result<Settings> {
    let settings = options.new.settings(&options.fields)?;
    let mut settings = options.keys.settings(settings);
    settings.frozen = options.frozen;
    if let Some(made_with) = made_with {
        settings.recipe = made_with.recipe(options.new.recipe()?)?;
    }
    Ok(match rule {
        Some(rule) => rule.settings(settings),
        None => settings,
    })
}
