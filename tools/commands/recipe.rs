//! `simdb-cli recipe`: which recipes there are, and whether one gives the fingerprints it should.

mod cases;
mod test;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde::Serialize;
use simdb::Recipe;

use self::test::Test;
use crate::console::table::{Align, Table};
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
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    List(List),
    Show(Show),
    Test(Test),
}

/// Lists all recipes: name, version and what they are for
///
/// --json prints a line for each, with name, version, takes_texts, what and description.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli recipe list
  simdb-cli recipe list --json")]
struct List {
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
struct Show {
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
        match &self.verb {
            Verb::List(list) => list.run(output),
            Verb::Show(show) => show.run(output),
            Verb::Test(test) => test.run(output),
        }
    }
}

impl List {
    fn run(&self, output: &mut Output) -> Result<Answer> {
        let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
        for recipe in Recipe::all() {
            if self.json {
                output.json(&line(&recipe))?;
            } else {
                let version = recipe.version().to_string();
                table.row([recipe.name(), &version, what(&recipe)]);
            }
        }
        for row in table.lines() {
            output.line(row)?;
        }
        Ok(Answer::Yes)
    }
}

impl Show {
    fn run(&self, output: &mut Output) -> Result<Answer> {
        let name = self.name.as_ref().or(self.recipe.recipe.as_ref());
        let recipe = Recipe::by_name(name.map_or("", String::as_str))?;
        let recipe = self.recipe.with_files(recipe)?;
        if self.json {
            output.json(&line(&recipe))?;
        } else {
            output.line(recipe.description())?;
        }
        Ok(Answer::Yes)
    }
}

fn line(recipe: &Recipe) -> RecipeLine {
    RecipeLine {
        name: recipe.name(),
        version: recipe.version(),
        takes_texts: recipe.takes_texts(),
        what: what(recipe),
        description: recipe.description(),
    }
}

/// What a recipe is for, in a line.
fn what(recipe: &Recipe) -> &'static str {
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
