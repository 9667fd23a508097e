//! Ctrl-C and termination signals, for tools that must remove temporary files or flush answers
//! before they end.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, anyhow, ensure};

use super::EXIT_FAILED;

/// The request to stop the tool.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Catches Ctrl-C and termination signals. The first signal sets the flag, the second ends the
    /// process at once.
    pub fn listen() -> Result<Self> {
        Self::listen_and(|| ())
    }

    /// Like [`listen`](Self::listen). The first signal also calls `wake`, so that the tool need not
    /// poll the flag.
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

    /// Sets the flag, as a signal does.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns `true` after a signal.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The return value of a callback of the library: `Break` after a signal.
    pub fn flow(&self) -> ControlFlow<()> {
        if self.is_set() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Returns an error after a signal.
    pub fn check(&self) -> Result<()> {
        ensure!(!self.is_set(), interrupted());
        Ok(())
    }
}

/// The error of an interrupted tool.
pub fn interrupted() -> anyhow::Error {
    anyhow!("interrupted; nothing was changed")
}
