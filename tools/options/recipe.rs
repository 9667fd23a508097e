//! The options of a recipe: its name, files and numbers.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use simdb::{Builder, Database, Recipe};

/// The options that name a recipe.
#[derive(Clone, Debug, Args)]
pub struct RecipeOptions {
    /// The way from text to fingerprint: ngram, jieba, cppjieba, python-simhash, java-string-hash,
    /// weighted and others; `simdb-cli recipe` lists them
    ///
    /// The default of a new database is ngram. An existing database knows its recipe; name it
    /// again, with its files, if it was created with --dictionary, --idf or --stop-words.
    #[arg(long, value_name = "NAME", help_heading = "Recipe")]
    pub recipe: Option<String>,

    /// A file of words to add to the dictionary of jieba or cppjieba: a word, a count and a tag a
    /// line
    #[arg(long, value_name = "FILE", help_heading = "Recipe")]
    pub dictionary: Option<PathBuf>,

    /// A file of the idf values of jieba or cppjieba: a word and its idf a line
    #[arg(long, value_name = "FILE", help_heading = "Recipe")]
    pub idf: Option<PathBuf>,

    /// A file of the stop words of jieba or cppjieba, one a line
    #[arg(long, value_name = "FILE", help_heading = "Recipe")]
    pub stop_words: Option<PathBuf>,

    /// The number of keywords of a text that cppjieba keeps [default: one for 120 bytes, 5 to 200]
    #[arg(long, value_name = "N", help_heading = "Recipe")]
    pub top: Option<u32>,
}

impl RecipeOptions {
    /// The recipe that `--recipe` names, with its files; `None` without `--recipe`.
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
                "{option} needs --recipe, the recipe that uses it"
            );
        }
        Ok(None)
    }

    /// The recipe with the files and numbers of the other options.
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

    /// The builder of a database with the named recipe, or with any recipe if none is named.
    pub fn builder(&self) -> Result<Builder> {
        Ok(match self.recipe()? {
            Some(recipe) => Database::builder().recipe(recipe),
            None => Database::builder(),
        })
    }
}

/// One byte more than the library accepts, so that it refuses a longer file, which is not read
/// whole.
const READ_BYTES: u64 = (64 << 20) + 1;

fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(READ_BYTES).read_to_end(&mut bytes))
        .with_context(|| format!("cannot read {}", path.display()))?;
    Ok(bytes)
}
