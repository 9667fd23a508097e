//! The next step after an error of the library, in the words of the command line.

use std::error::Error as StdError;
use std::sync::Arc;

use simdb::Error;
use simdb::error::Advice;

/// The text of an error. The advice of the library, which names functions, is replaced.
pub fn error_text(error: &(dyn StdError + 'static)) -> String {
    let text = error.to_string();
    // An error that several changes share is behind an `Arc`.
    let of_library = error
        .downcast_ref::<Error>()
        .or_else(|| error.downcast_ref::<Arc<Error>>().map(|error| &**error));
    let Some(advice) = of_library.and_then(Error::advice) else {
        return text;
    };
    match (text.strip_suffix(&advice.to_string()), step(advice)) {
        (Some(failure), Some(step)) => format!("{failure}{step}"),
        _ => text,
    }
}

/// The step with the names of the tools; `None` if the library's text names none of its functions.
fn step(advice: Advice) -> Option<&'static str> {
    Some(match advice {
        Advice::CheckPath => {
            "check the path; if it was a database, save what is left with `simdb-cli salvage`, or \
             restore a backup"
        }
        Advice::Upgrade => {
            "upgrade simdb, or load the documents into a new database with `simdb-load`"
        }
        Advice::Rebuild => {
            "use the simdb version that created the file, or export the documents with that version \
             and load them into a new database with `simdb-load`"
        }
        Advice::Salvage => {
            "find out how much is damaged with `simdb-cli check`, then save what is left with \
             `simdb-cli salvage`, or restore a backup"
        }
        Advice::RemoveNewerJournal => {
            "if the database was restored from an older copy, remove that journal; if not, save the \
             documents with `simdb-cli salvage`"
        }
        Advice::FindJournal => {
            "put the journal back, restore a backup, or save the content of the database file with \
             `simdb-cli salvage`"
        }
        Advice::NameRecipe => {
            "name its recipe, for example `--recipe ngram`, and `--retention` or `--ignore-frames` if \
             it had them"
        }
        Advice::CheckTime => {
            "check the time and its unit, or create the database with a longer --max-ahead"
        }
        Advice::KeepArrivals => "load its documents into a new one with --arrivals or --retention",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_that_names_a_function_is_replaced() {
        for advice in [
            Advice::CheckPath,
            Advice::Upgrade,
            Advice::Rebuild,
            Advice::Salvage,
            Advice::RemoveNewerJournal,
            Advice::FindJournal,
            Advice::NameRecipe,
            Advice::CheckTime,
            Advice::KeepArrivals,
            Advice::NameAFile,
            Advice::RestoreEmpty,
            Advice::OtherProgram,
            Advice::MoveJournal,
            Advice::CheckDisk,
        ] {
            let of_library = advice.to_string();
            let names_function = ["Builder::", "Database::", "Retention::"]
                .iter()
                .any(|name| of_library.contains(name));
            assert_eq!(names_function, step(advice).is_some(), "{advice:?}");
            let error = Error::Corrupt {
                path: "docs.simdb".into(),
                what: "a page".to_owned(),
                advice,
            };
            let text = error_text(&error);
            assert!(
                text.starts_with("docs.simdb is damaged: a page; "),
                "{text}"
            );
            assert!(
                !text.contains("Builder::") && !text.contains("Database::"),
                "{text}"
            );
            assert_eq!(error_text(&Arc::new(error)), text);
        }
    }
}
