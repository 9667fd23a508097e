//! The key-value metadata of Parquet files that simdb has written.

use anyhow::{Result, bail};
use parquet::file::metadata::KeyValue;
use simdb::Recipe;

use super::ParquetFile;

/// The version of the layout of an export.
pub const FORMAT_KEY: &str = "simdb.format";
/// The name and the version of the recipe.
const RECIPE_KEY: &str = "simdb.recipe";
/// The description of the recipe, as a database stores it: all settings that decide a fingerprint.
const DESCRIPTION_KEY: &str = "simdb.recipe.description";
/// The description of the columns for a search of similar texts.
pub const SEARCH_KEYS_KEY: &str = "simdb.recipe.search_keys";
/// The number of documents in the file.
pub const DOCUMENTS_KEY: &str = "simdb.documents";
/// `marked` or `left out`: the treatment of documents with unreliable fingerprints.
pub const UNRELIABLE_KEY: &str = "simdb.unreliable";

/// The only version of the layout that is written and read.
pub const FORMAT: &str = "1";

/// The column of ids in an export: 64 bits, stored as signed integers.
pub const ID_COLUMN: &str = "doc_id";
/// The column of fingerprints.
pub const FINGERPRINT_COLUMN: &str = "fingerprint";

/// A key with its value.
pub fn pair(key: &str, value: impl Into<String>) -> KeyValue {
    KeyValue::new(key.to_owned(), value.into())
}

/// The keys that describe a recipe.
pub fn recipe_pairs(recipe: &Recipe) -> Vec<KeyValue> {
    vec![
        pair(RECIPE_KEY, recipe.to_string()),
        pair(DESCRIPTION_KEY, recipe.description()),
    ]
}

/// The description of the recipe of an export; `None` if the file is not an export of simdb. An
/// error if this version cannot read the export.
pub fn recipe_of(file: &ParquetFile) -> Result<Option<String>> {
    let name = file.name();
    match file.value(FORMAT_KEY) {
        None => Ok(None),
        Some(FORMAT) => match file.value(DESCRIPTION_KEY) {
            Some(description) => Ok(Some(description.to_owned())),
            None => bail!(
                "cannot read {name}: it is an export of simdb, but {DESCRIPTION_KEY} is missing; \
                 export it again, or name its columns with --fingerprint and --id"
            ),
        },
        Some(version) => bail!(
            "cannot read {name}: it is an export of simdb in version {version:?} of the layout; \
             this simdb reads version {FORMAT}; upgrade simdb, or export it again as jsonl"
        ),
    }
}
