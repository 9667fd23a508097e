//! Ctrl-C and termination signals, for tools that must not end on the spot, because temporary files
//! would stay or answers would be missing.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, anyhow, ensure};

use super::EXIT_FAILED;

/// The request to stop the tool.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Catches Ctrl-C and termination signals, which no longer end the process.
    pub fn listen() -> Result<Self> {
        let interrupt = Self::default();
        let flag = Arc::clone(&interrupt.0);
        ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))
            .context("cannot listen for Ctrl-C")?;
        Ok(interrupt)
    }

    /// Catches the signals, and calls `wake` at the first, so that the tool need not look for it now
    /// and then. The second ends the process at once.
    pub fn listen_and(wake: impl Fn() + Send + 'static) -> Result<Self> {
        let interrupt = Self::default();
        let flag = Arc::clone(&interrupt.0);
        let handler = move || {
            if flag.swap(true, Ordering::Relaxed) {
                std::process::exit(EXIT_FAILED.into());
            }
            wake();
        };
        ctrlc::set_handler(handler).context("cannot listen for Ctrl-C")?;
        Ok(interrupt)
    }

    /// Requests to stop, as a signal does.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns `true` if the tool is to stop.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The answer of an observer that the library calls.
    pub fn flow(&self) -> ControlFlow<()> {
        if self.is_set() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// An error if the tool is to stop.
    pub fn check(&self) -> Result<()> {
        ensure!(!self.is_set(), interrupted());
        Ok(())
    }
}

/// The error of an interrupted tool.
pub fn interrupted() -> anyhow::Error {
    anyhow!("interrupted; nothing was changed")
}
