//! [`copies_of_streams`]: inputs that can be read more than once.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::inputs::Input;
use crate::console::interrupt::Interrupt;

/// Replaces standard input and pipes by copies, because inputs are read more than once.
pub fn copies_of_streams(
    inputs: Vec<Input>,
    folder: &Path,
    interrupt: &Interrupt,
) -> Result<Vec<Input>> {
    let copied = inputs.into_iter().enumerate().map(|(number, input)| {
        if input.source.path().is_some() && input.source.size_bytes().is_some() {
            return Ok(input);
        }
        let name = input.source.path().and_then(Path::file_name);
        // The copy keeps the extension, which determines the compression.
        let name = name.unwrap_or_default().to_string_lossy();
        let path = folder.join(format!("{number}-{name}"));
        let cannot = || format!("cannot copy {} to {}", input.source.name(), path.display());
        let mut stream: Box<dyn io::Read + Send> = match input.source.path() {
            None => Box::new(io::stdin()),
            Some(path) => Box::new(File::open(path).with_context(cannot)?),
        };
        let mut copy = File::create_new(&path).with_context(cannot)?;
        let (done, copied) = std::sync::mpsc::channel();
        // A pipe without data blocks its reader, and this thread must notice an interrupt.
        std::thread::spawn(move || done.send(io::copy(&mut stream, &mut copy).map(drop)));
        loop {
            interrupt.check()?;
            match copied.recv_timeout(INTERRUPT_CHECK) {
                Ok(outcome) => break outcome.with_context(cannot)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    bail!("the thread that copies {} failed", input.source.name())
                }
            }
        }
        let source = input.source.copied_to(&path)?;
        Ok(Input { source, ..input })
    });
    copied.collect()
}

/// The copy of a stream checks for an interrupt every 100 ms.
const INTERRUPT_CHECK: Duration = Duration::from_millis(100);
