//! The keys beside the schema of Parquet files that simdb has written.

use anyhow::{Result, bail};
use parquet::file::metadata::KeyValue;
use simdb::Recipe;

use super::ParquetFile;

/// The version of the layout of files of fingerprints.
pub const FORMAT_KEY: &str = "simdb.format";
/// The name and the version of the recipe.
const RECIPE_KEY: &str = "simdb.recipe";
/// The description of the recipe: all that decides a bit of a fingerprint, as a database keeps it.
const DESCRIPTION_KEY: &str = "simdb.recipe.description";
/// The number of documents in the file.
pub const DOCUMENTS_KEY: &str = "simdb.documents";
/// `marked` or `left out`: the treatment of documents whose fingerprints are not reliable.
pub const UNRELIABLE_KEY: &str = "simdb.unreliable";

/// The version of the layout that is written, and the only one that is read.
pub const FORMAT: &str = "1";

/// The column of ids in files of fingerprints: 64 bits, whatever their sign.
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

/// The description of the recipe of a file of fingerprints; `None` if simdb has not written the file.
/// An error if simdb has, and this version cannot read the file.
pub fn recipe_of(file: &ParquetFile) -> Result<Option<String>> {
    let name = file.name();
    match file.value(FORMAT_KEY) {
        None => Ok(None),
        Some(FORMAT) => match file.value(DESCRIPTION_KEY) {
            Some(description) => Ok(Some(description.to_owned())),
            None => bail!(
                "cannot read {name}: it is an export of simdb, but {DESCRIPTION_KEY} is missing; \
                 export it again, or say with --fingerprint and --id that it is read as any file"
            ),
        },
        Some(version) => bail!(
            "cannot read {name}: it is an export of simdb in version {version:?} of the layout, \
             this simdb reads {FORMAT}; upgrade simdb, or export it again as jsonl"
        ),
    }
}
