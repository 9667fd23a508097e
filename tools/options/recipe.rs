//! The options of a recipe: its name, and its files and numbers.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use simdb::{Builder, Database, Recipe};

/// The recipe, by its name.
#[derive(Debug, Args)]
pub struct RecipeOptions {
    /// The way from text to fingerprint: ngram, jieba, cppjieba, python-simhash, java-string-hash,
    /// weighted and others; `simdb-cli recipe list` shows them
    ///
    /// A new database has ngram unless another is named. Of one that is there, it need only be
    /// named where it was given files.
    #[arg(long, value_name = "NAME", help_heading = "Recipe")]
    pub recipe: Option<String>,

    /// Words to add to the dictionary of jieba or cppjieba: a word, a count and a tag a line
    #[arg(long, value_name = "FILE", help_heading = "Recipe")]
    pub dictionary: Option<PathBuf>,

    /// The idf values of jieba or cppjieba: a word and its idf a line
    #[arg(long, value_name = "FILE", help_heading = "Recipe")]
    pub idf: Option<PathBuf>,

    /// The stop words of jieba or cppjieba, one a line
    #[arg(long, value_name = "FILE", help_heading = "Recipe")]
    pub stop_words: Option<PathBuf>,

    /// How many keywords of a text cppjieba keeps [default: one for 120 bytes, 5 to 200]
    #[arg(long, value_name = "N", help_heading = "Recipe")]
    pub top: Option<u32>,
}

impl RecipeOptions {
    /// The recipe that is named, with its files, or `None`.
    pub fn recipe(&self) -> Result<Option<Recipe>> {
        if let Some(name) = &self.recipe {
            return Ok(Some(self.with_files(Recipe::by_name(name)?)?));
        }
        for (option, is_given) in [
            ("--dictionary", self.dictionary.is_some()),
            ("--idf", self.idf.is_some()),
            ("--stop-words", self.stop_words.is_some()),
            ("--top", self.top.is_some()),
        ] {
            ensure!(
                !is_given,
                "{option} needs --recipe: say what it is given to"
            );
        }
        Ok(None)
    }

    /// The recipe with the files and numbers that the other options name.
    pub fn with_files(&self, mut recipe: Recipe) -> Result<Recipe> {
        if let Some(path) = &self.dictionary {
            recipe = recipe.with_dictionary(&path.to_string_lossy(), &read(path)?)?;
        }
        if let Some(path) = &self.idf {
            recipe = recipe.with_idf(&path.to_string_lossy(), &read(path)?)?;
        }
        if let Some(path) = &self.stop_words {
            recipe = recipe.with_stop_words(&path.to_string_lossy(), &read(path)?)?;
        }
        if let Some(top) = self.top {
            recipe = recipe.with_top(top)?;
        }
        Ok(recipe)
    }

    /// A builder that opens a database of the recipe that is named, or of any recipe.
    pub fn builder(&self) -> Result<Builder> {
        Ok(match self.recipe()? {
            Some(recipe) => Database::builder().recipe(recipe),
            None => Database::builder(),
        })
    }
}

/// One byte more than a file of words may have. The library refuses a longer file by these bytes.
const READ_BYTES: u64 = (64 << 20) + 1;

fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(READ_BYTES).read_to_end(&mut bytes))
        .with_context(|| format!("cannot read {}", path.display()))?;
    Ok(bytes)
}
