//! Ctrl-C and termination signals, where temporary files must not be left behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, anyhow};

/// Whether the user wants the tool to stop.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Takes over what Ctrl-C and a termination signal do: they no longer end the process, which
    /// would leave temporary files behind.
    pub fn listen() -> Result<Self> {
        let interrupt = Self::default();
        let flag = Arc::clone(&interrupt.0);
        ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))
            .context("cannot listen for Ctrl-C")?;
        Ok(interrupt)
    }

    /// Whether the tool is to stop.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// An error if the tool is to stop.
    pub fn check(&self) -> Result<()> {
        if self.is_set() {
            Err(interrupted())
        } else {
            Ok(())
        }
    }
}

/// What an interrupted tool says.
pub fn interrupted() -> anyhow::Error {
    anyhow!("interrupted; nothing was changed")
}
