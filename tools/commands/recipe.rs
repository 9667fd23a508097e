//! `simdb-cli recipe`: the recipes, and the comparison of one with other software.

mod cases;
mod test;

use std::fmt::{self, Display, Formatter};

use anyhow::Result;
use clap::{Args, Subcommand};
use serde::Serialize;
use simdb::Recipe;

use self::test::TestRecipe;
use crate::console::rows::cells;
use crate::console::table::Align::{Left, Right};
use crate::console::table::Table;
use crate::console::{Answer, Output};
use crate::options::RecipeOptions;

/// Shows the recipes, and compares one with fingerprints that other software made
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli recipe list
  simdb-cli recipe show jieba
  simdb-cli recipe test python-simhash vectors.jsonl")]
pub struct RecipeVerb {
    #[command(subcommand)]
    command: RecipeCommand,
}

#[derive(Debug, Subcommand)]
enum RecipeCommand {
    List(ListRecipes),
    Show(ShowRecipe),
    Test(TestRecipe),
}

/// Lists all recipes: name, version and what they are for
///
/// --json prints a line for each, with name, version, takes_texts, what and description.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli recipe list
  simdb-cli recipe list --json")]
struct ListRecipes {
    /// Print one line of JSON for each recipe
    #[arg(long)]
    json: bool,
}

/// Prints all that decides a recipe's fingerprints, as a database stores it
///
/// --json prints name, version, takes_texts, what and description.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli recipe show python-simhash
  simdb-cli recipe show jieba --dictionary user.dict")]
struct ShowRecipe {
    /// The name of the recipe
    #[arg(required_unless_present = "recipe", conflicts_with = "recipe")]
    name: Option<String>,

    #[command(flatten)]
    recipe: RecipeOptions,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct RecipeLine {
    name: &'static str,
    version: u32,
    takes_texts: bool,
    what: &'static str,
    description: String,
}

impl RecipeVerb {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        match &self.command {
            RecipeCommand::List(list) => list.run(output),
            RecipeCommand::Show(show) => show.run(output),
            RecipeCommand::Test(test) => test.run(output),
        }
    }
}

impl ListRecipes {
    fn run(&self, output: &mut Output) -> Result<Answer> {
        let mut table = Table::new(&[Left, Right, Left]);
        for line in Recipe::all().iter().map(RecipeLine::new) {
            if self.json {
                output.json(&line)?;
            }
            table.row(cells![line.name, line.version, line.what]);
        }
        if !self.json {
            output.line(table)?;
        }
        Ok(Answer::Yes)
    }
}

impl ShowRecipe {
    fn run(&self, output: &mut Output) -> Result<Answer> {
        let name = self.name.as_ref().or(self.recipe.recipe.as_ref());
        let recipe = Recipe::by_name(name.map_or("", String::as_str))?;
        let recipe = self.recipe.with_files(recipe)?;
        output.row(&RecipeLine::new(&recipe), self.json)?;
        Ok(Answer::Yes)
    }
}

impl RecipeLine {
    fn new(recipe: &Recipe) -> Self {
        Self {
            name: recipe.name(),
            version: recipe.version(),
            takes_texts: recipe.takes_texts(),
            what: purpose(recipe),
            description: recipe.description(),
        }
    }
}

impl Display for RecipeLine {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.description)
    }
}

/// The purpose of a recipe, in a few words.
fn purpose(recipe: &Recipe) -> &'static str {
    match recipe.name() {
        "ngram" => "runs of characters, for any language; the default",
        "jieba" => "the 20 heaviest Chinese words",
        "ngram-traditional" => "ngram, with traditional and simplified characters apart",
        "jieba-traditional" => "jieba, with traditional and simplified characters apart",
        "python-simhash" => "as the Python package simhash 2.1.2",
        "cppjieba" => "as simhash of yanyiwu in C++, and gosimhash",
        "java-string-hash" => "as the Java class SimHash of the articles",
        "weighted" => "features and weights that are given; takes no texts",
        _ => "",
    }
}
