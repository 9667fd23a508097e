//! `simdb-cli recipe`: the recipes and their descriptions.

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};
use simdb::Recipe;

use crate::console::Output;
use crate::console::rows::cells;
use crate::console::table::Align::{Left, Right};
use crate::console::table::Table;
use crate::options::RecipeOptions;

/// Lists all recipes, or prints the full description of a recipe, as a database stores it
///
/// The list has the columns name, version and purpose. --json prints a line for each recipe, with
/// name, version, takes_texts, what and description.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli recipe
  simdb-cli recipe python-simhash
  simdb-cli recipe jieba --dictionary user.dict")]
pub struct RecipeVerb {
    /// The recipe to describe [default: list all]
    #[arg(conflicts_with = "recipe")]
    name: Option<String>,

    #[command(flatten)]
    recipe: RecipeOptions,

    /// Print one line of JSON for each recipe
    #[arg(long)]
    json: bool,
}

impl RecipeVerb {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        if let Some(name) = self.name.as_ref().or(self.recipe.recipe.as_ref()) {
            // `--recipe NAME` is read too, since other verbs take the name of a recipe there.
            let recipe = self.recipe.with_files(Recipe::by_name(name)?)?;
            return output.print(self.json, || json_of(&recipe), || recipe.description());
        }
        // Refuses files without a recipe.
        self.recipe.recipe()?;
        let recipes = Recipe::all();
        if self.json {
            return recipes
                .iter()
                .try_for_each(|recipe| output.json(&json_of(recipe)));
        }
        let mut table = Table::new(&[Left, Right, Left]);
        for recipe in recipes {
            table.row(cells![recipe.name(), recipe.version(), purpose(&recipe)]);
        }
        output.line(table)
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
