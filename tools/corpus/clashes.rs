//! Refuses reports that would replace what a tool reads or makes.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::ledger::Input;
use crate::console::content::Content;
use crate::console::files::Identity;
use crate::console::output_file::{Destination, destination, target_of};

/// Refuses reports, each with its option and what it holds, that cannot be, or would replace an
/// input, something else that is taken, or one another. Nothing is opened for that.
pub fn check(
    reports: &[(Option<&Path>, &'static str, Content)],
    inputs: &[Input],
    others: &[(&Path, &'static str)],
) -> Result<()> {
    let named = |(path, what): &(&Path, &str)| (Identity::of(path), (*what).to_owned());
    let mut taken: Vec<_> = others.iter().map(named).collect();
    for input in inputs {
        match input.source.path() {
            Some(path) => taken.push((Identity::of(path), "an input".to_owned())),
            None if cfg!(unix) => {
                let stdin = Identity::of(Path::new("/dev/stdin"));
                taken.push((stdin, "an input".to_owned()));
            }
            None => {}
        }
    }
    for (report, option, content) in reports {
        let Some(path) = report else {
            continue;
        };
        if destination(path) != Destination::File {
            continue;
        }
        let identity = Identity::of(path);
        if let Some((_, what)) = taken.iter().find(|(taken, _)| taken.is(&identity)) {
            bail!("{option} {} is {what}; name another file", path.display());
        }
        target_of(path, *content).with_context(|| format!("cannot create {}", path.display()))?;
        taken.push((identity, format!("the file of {option}")));
    }
    Ok(())
}
