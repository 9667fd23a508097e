//! `simdb-cli recipe`: the recipes, and their comparison with other software.

mod cases;
mod test;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use simdb::Recipe;

use self::test::TestRecipe;
use crate::console::Output;
use crate::console::rows::cells;
use crate::console::table::Align::{Left, Right};
use crate::console::table::Table;
use crate::options::RecipeOptions;

/// Prints the recipes, and compares a recipe with the fingerprints of other software
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

/// Lists all recipes: name, version and purpose
///
/// --json prints a line for each recipe, with name, version, takes_texts, what and description.
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

/// Prints the full description of a recipe, as a database stores it
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

impl RecipeVerb {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        match &self.command {
            RecipeCommand::List(list) if list.json => Recipe::all()
                .iter()
                .try_for_each(|recipe| output.json(&json_of(recipe))),
            RecipeCommand::List(_) => {
                let mut table = Table::new(&[Left, Right, Left]);
                for recipe in Recipe::all() {
                    table.row(cells![recipe.name(), recipe.version(), purpose(&recipe)]);
                }
                output.line(table)
            }
            RecipeCommand::Show(show) => show.run(output),
            RecipeCommand::Test(test) => test.run(output),
        }
    }
}

impl ShowRecipe {
    fn run(&self, output: &mut Output) -> Result<()> {
        let name = self.name.as_ref().or(self.recipe.recipe.as_ref());
        let recipe = Recipe::by_name(name.map_or("", String::as_str))?;
        let recipe = self.recipe.with_files(recipe)?;
        output.print(self.json, || json_of(&recipe), || recipe.description())
    }
}

fn json_of(recipe: &Recipe) -> Value {
    json!({
        "name": recipe.name(),
        "version": recipe.version(),
        "takes_texts": recipe.takes_texts(),
        "what": purpose(recipe),
        "description": recipe.description(),
    })
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
