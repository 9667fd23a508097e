//! [`OnExistsOption`]: the treatment of a stored document that comes again.

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use simdb::{OnExists, Settings};

/// The treatment of a stored document that comes again.
#[derive(Clone, Copy, Debug, Args)]
pub struct OnExistsOption {
    /// The treatment of a stored document whose id or key comes again with another text or fields
    /// [default: keep]
    ///
    /// keep leaves the stored document; a load without this option treats another text as a bad
    /// record, see --on-error. replace stores the new document in its place, and does not
    /// compare it with other documents. replace-if-extends does so only if the new text has all
    /// words of the stored text, in order, and more; the database must keep texts.
    #[arg(long, value_enum)]
    on_exists: Option<OnExistsRule>,
}

/// The value of `--on-exists`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OnExistsRule {
    Keep,
    Replace,
    ReplaceIfExtends,
}

impl OnExistsOption {
    pub fn rule(self) -> OnExists {
        match self.on_exists {
            None | Some(OnExistsRule::Keep) => OnExists::Keep,
            Some(OnExistsRule::Replace) => OnExists::Replace,
            Some(OnExistsRule::ReplaceIfExtends) => OnExists::ReplaceIfExtends,
        }
    }

    /// Returns `true` if the option is given.
    pub fn is_given(self) -> bool {
        self.on_exists.is_some()
    }

    /// Refuses a database without the texts that the option compares.
    pub fn refuse_unkept(self, settings: &Settings) -> Result<()> {
        ensure!(
            self.on_exists != Some(OnExistsRule::ReplaceIfExtends) || settings.keep_texts,
            "--on-exists replace-if-extends compares texts, and this database keeps none"
        );
        Ok(())
    }
}
