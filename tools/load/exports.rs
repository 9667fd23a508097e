//! [`MadeWith`]: the recipe of inputs that simdb has exported.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use simdb::Recipe;

use crate::corpus::inputs::Input;
use crate::formats::parquet::ParquetFile;
use crate::formats::parquet::columns::{document_columns, has_default_names};
use crate::formats::parquet::metadata::recipe_of;
use crate::formats::{DocumentFields, Format};
use crate::options::DuplicateRule;

/// The recipe of exported fingerprints.
pub struct MadeWith {
    description: String,
    /// The first export of the inputs.
    input: String,
}

impl MadeWith {
    /// Reads the recipe of the inputs that simdb has exported; `None` if there are none. An error
    /// if the recipes differ, or a Parquet file lacks a column of `fields`.
    pub fn from_inputs(
        fields: &DocumentFields,
        rule: Option<DuplicateRule>,
        inputs: &[Input],
    ) -> Result<Option<Self>> {
        // The options may also name the columns of an export.
        let reads_fingerprints = has_default_names(fields) || fields.fingerprint.is_some();
        let mut made_with: Option<Self> = None;
        for input in inputs {
            if input.format != Format::Parquet {
                continue;
            }
            let name = input.source.name();
            let file = ParquetFile::open(&input.source, &Default::default())?;
            let description = recipe_of(&file)?;
            // Checked now, because the last file is read only hours after the first.
            document_columns(&file, fields)?;
            let Some(description) = description.filter(|_| reads_fingerprints) else {
                continue;
            };
            ensure!(
                !rule.is_some_and(|rule| rule.needs_texts()),
                "--unique similar compares texts, and exported fingerprints have none: {name}"
            );
            match &made_with {
                Some(other) if other.description != description => bail!(
                    "cannot load {name} and {} together: their recipes differ, {description} and {}; \
                     load them into two databases",
                    other.input,
                    other.description
                ),
                Some(_) => {}
                None => {
                    made_with = Some(Self {
                        description,
                        input: name.to_owned(),
                    });
                }
            }
        }
        Ok(made_with)
    }

    /// The recipe of a new database. An error if `asked` is another recipe.
    pub fn recipe(&self, asked: Option<Recipe>) -> Result<Recipe> {
        let Self { description, input } = self;
        match asked {
            Some(asked) if asked.description() == *description => Ok(asked),
            Some(asked) => bail!(
                "cannot load {input} with the recipe {}: its fingerprints were made with \
                 {description}; name that recipe, or leave --recipe out",
                asked.description()
            ),
            None => match Recipe::by_description(description) {
                Some(recipe) => Ok(recipe),
                None => bail!(
                    "cannot load {input}: its fingerprints were made with {description}; name that \
                     recipe and its files with --recipe, or upgrade simdb if it does not know the \
                     recipe"
                ),
            },
        }
    }

    /// Refuses a database of another recipe.
    pub fn refuse_other(&self, path: &Path, recipe: &Recipe) -> Result<()> {
        ensure!(
            recipe.description() == self.description,
            "cannot load {} into {}: its fingerprints were made with {}, those of the database with \
             {}; load into a new database",
            self.input,
            path.display(),
            self.description,
            recipe.description()
        );
        Ok(())
    }
}
