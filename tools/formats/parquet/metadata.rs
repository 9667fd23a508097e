//! What simdb's own Parquet files say of themselves, beside their schema.

use anyhow::{Result, bail};
use parquet::file::metadata::KeyValue;
use simdb::Recipe;

use super::file::ParquetFile;

/// The version of the layout of files of fingerprints.
pub const FORMAT_KEY: &str = "simdb.format";
/// Name and version of the recipe.
const RECIPE_KEY: &str = "simdb.recipe";
/// All that decides a bit of a fingerprint, as a database keeps it.
const DESCRIPTION_KEY: &str = "simdb.recipe.description";
/// How many documents are in the file.
pub const DOCUMENTS_KEY: &str = "simdb.documents";
/// What became of documents whose fingerprints say nothing.
pub const UNRELIABLE_KEY: &str = "simdb.unreliable";

/// The version that is written, and the only one that is read.
pub const FORMAT: &str = "1";

/// The column of ids in files of fingerprints: 64 bits, whatever their sign.
pub const ID_COLUMN: &str = "doc_id";
/// The column of fingerprints.
pub const FINGERPRINT_COLUMN: &str = "fingerprint";

/// What is said of the recipe.
pub fn recipe_pairs(recipe: &Recipe) -> Vec<KeyValue> {
    vec![
        KeyValue::new(RECIPE_KEY.to_owned(), recipe.to_string()),
        KeyValue::new(DESCRIPTION_KEY.to_owned(), recipe.description()),
    ]
}

/// The description of the recipe that a file's fingerprints were made by, if it is one of simdb's
/// own. An error if it is, and this version cannot read it.
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
