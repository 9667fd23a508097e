//! The settings of a database, as arguments and as an answer.

use std::time::Duration;

use pyo3::prelude::*;
use simdb::{Builder, Database, Retention};

use crate::interruptible::{SIGNAL_INTERVAL, on_progress};
use crate::repr::{python_bool, whole_or_none};

/// The settings of a database, fixed at creation.
#[pyclass(frozen, get_all, eq, module = "simdb")]
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The name of the recipe.
    pub recipe: &'static str,
    /// True if texts are stored.
    pub keep_texts: bool,
    /// True if a forest is stored, by which edited and short texts are found.
    pub similar: bool,
    /// True if changes are refused.
    pub frozen: bool,
    /// True if arrival times are stored.
    pub arrivals: bool,
    /// The lifetime of documents, a timedelta; None if documents do not expire.
    pub retention: Option<Duration>,
    /// True if documents have keys.
    pub keys: bool,
    /// True if fields are stored.
    pub fields: bool,
    /// The number of copies of a document that are stored; None if copies are not counted.
    pub copies: Option<u16>,
    /// True if documents may have scopes.
    pub scopes: bool,
    /// The number of texts with a frame; None if frames are not learned.
    pub frames: Option<u16>,
}

#[pymethods]
impl Settings {
    fn __repr__(&self) -> String {
        let retention = self.retention.map_or("None".to_owned(), |window| {
            format!("timedelta(seconds={})", window.as_secs_f64())
        });
        format!(
            "Settings(recipe='{}', keep_texts={}, similar={}, frozen={}, arrivals={}, retention={retention}, keys={}, \
             fields={}, copies={}, scopes={}, frames={})",
            self.recipe,
            python_bool(self.keep_texts),
            python_bool(self.similar),
            python_bool(self.frozen),
            python_bool(self.arrivals),
            python_bool(self.keys),
            python_bool(self.fields),
            whole_or_none(self.copies),
            python_bool(self.scopes),
            whole_or_none(self.frames),
        )
    }
}

impl From<&simdb::Settings> for Settings {
    fn from(settings: &simdb::Settings) -> Self {
        let window = settings.retention.and_then(|retention| retention.window);
        Self {
            recipe: settings.recipe.name(),
            keep_texts: settings.keep_texts,
            similar: settings.similar,
            frozen: settings.frozen,
            arrivals: settings.retention.is_some(),
            retention: window,
            keys: settings.keys,
            fields: settings.fields,
            copies: settings.copies,
            scopes: settings.scopes,
            frames: settings.frames,
        }
    }
}

/// A builder with the settings that most functions of the module take.
pub fn builder_of(recipe: Option<simdb::Recipe>, retention: Option<Duration>) -> Builder {
    let mut builder = Database::builder()
        .on_progress(on_progress)
        .progress_interval(SIGNAL_INTERVAL);
    if let Some(recipe) = recipe {
        builder = builder.recipe(recipe);
    }
    if retention.is_some() {
        builder = builder.retention(Retention {
            window: retention,
            ..Retention::default()
        });
    }
    builder
}
