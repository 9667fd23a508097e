//! Refuses reports that would replace what the load reads or makes.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::options::Options;
use crate::console::files::Identity;
use crate::console::output_file::{Content, Destination, destination, target_of};
use crate::corpus::ledger::Input;

/// Refuses reports that cannot be, or would replace the database, an input, or one another.
/// Nothing is opened for that.
pub fn check(options: &Options, inputs: &[Input]) -> Result<()> {
    let mut taken = vec![(Identity::of(&options.database), "the database")];
    for input in inputs {
        match input.source.path() {
            Some(path) => taken.push((Identity::of(path), "an input")),
            None if cfg!(unix) => taken.push((Identity::of(Path::new("/dev/stdin")), "an input")),
            None => {}
        }
    }
    let reports = [
        (&options.rejects, "--rejects"),
        (&options.duplicates, "--duplicates"),
    ];
    for (report, option) in reports {
        let Some(path) = report.as_deref() else {
            continue;
        };
        if destination(path) != Destination::File {
            continue;
        }
        let identity = Identity::of(path);
        if let Some((_, what)) = taken.iter().find(|(taken, _)| taken.is(&identity)) {
            bail!("{option} {} is {what}; name another file", path.display());
        }
        target_of(path, Content::JsonLines)
            .with_context(|| format!("cannot create {}", path.display()))?;
        taken.push((identity, "the file of --rejects"));
    }
    Ok(())
}
