//! Files that simdb has exported: which recipe their fingerprints were made with.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use simdb::Recipe;

use super::options::Options;
use crate::corpus::inputs::Input;
use crate::options::Rule;

/// The recipe that the fingerprints of some inputs were made with.
#[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "nothing says it"))]
pub struct MadeWith {
    description: String,
    /// One of these inputs.
    input: String,
}

impl MadeWith {
    /// What the inputs say, if simdb has written some of them. An error if they say different things,
    /// or have not the columns that are asked of them.
    #[cfg(feature = "parquet")]
    pub fn of(options: &Options, rule: Option<Rule>, inputs: &[Input]) -> Result<Option<Self>> {
        use crate::formats::Format;
        use crate::formats::parquet::{self, ParquetRecords, metadata::recipe_of, reads_own};

        let fields = options.fields.fields()?;
        // Whoever says where fingerprints are may read them from an export too.
        let reads_fingerprints = reads_own(&fields) || fields.fingerprint.is_some();
        let mut found: Option<Self> = None;
        for input in inputs {
            if input.format != Format::Parquet {
                continue;
            }
            let name = input.source.name();
            let file = parquet::open(&input.source, &Default::default())?;
            let description = recipe_of(&file)?;
            // A column that is missing from the last file should not show hours later.
            ParquetRecords::new(file, &fields)?;
            let Some(description) = description.filter(|_| reads_fingerprints) else {
                continue;
            };
            ensure!(
                !rule.is_some_and(|rule| rule.needs_texts()),
                "--unique similar compares texts, and exported fingerprints have none: {name}"
            );
            match &found {
                Some(other) if other.description != description => bail!(
                    "cannot load {name} and {} together: the fingerprints of one were made with \
                     {description}; those of the other with {}",
                    other.input,
                    other.description
                ),
                Some(_) => {}
                None => {
                    found = Some(Self {
                        description,
                        input: name.to_owned(),
                    });
                }
            }
        }
        Ok(found)
    }

    /// Without Parquet there is no file that says it.
    #[cfg(not(feature = "parquet"))]
    pub fn of(_: &Options, _: Option<Rule>, _: &[Input]) -> Result<Option<Self>> {
        Ok(None)
    }

    /// The recipe of a new database, where one may be asked for.
    pub fn recipe(&self, asked: Option<Recipe>) -> Result<Recipe> {
        let Self { description, input } = self;
        match asked {
            Some(asked) if asked.description() == *description => Ok(asked),
            Some(asked) => bail!(
                "cannot load {input} with the recipe {}: its fingerprints were made with \
                 {description}; ask for that recipe, or leave --recipe out",
                asked.description()
            ),
            None => match Recipe::by_description(description) {
                Some(recipe) => Ok(recipe),
                None => bail!(
                    "cannot load {input}: its fingerprints were made with {description}; name that \
                     recipe with --recipe and give it the same files, or upgrade simdb if it does \
                     not know it"
                ),
            },
        }
    }

    /// Refuses a database of another recipe.
    pub fn refuse_other(&self, path: &Path, recipe: &Recipe) -> Result<()> {
        ensure!(
            recipe.description() == self.description,
            "cannot load {} into {}: its fingerprints were made with {}; those of the database with \
             {}; load into a new database",
            self.input,
            path.display(),
            self.description,
            recipe.description()
        );
        Ok(())
    }
}
