//! Ctrl-C and termination signals, where a tool must not end on the spot: where it would leave
//! temporary files behind, or answers unsaid.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, anyhow};

use super::EXIT_FAILED;

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

    /// The same for a tool that goes on until it is told to stop. It need not look now and then:
    /// `wake` is called. When told a second time, the process ends at once.
    pub fn listen_and(wake: impl Fn() + Send + 'static) -> Result<Self> {
        let interrupt = Self::default();
        let flag = Arc::clone(&interrupt.0);
        let told = move || {
            if flag.swap(true, Ordering::Relaxed) {
                std::process::exit(EXIT_FAILED.into());
            }
            wake();
        };
        ctrlc::set_handler(told).context("cannot listen for Ctrl-C")?;
        Ok(interrupt)
    }

    /// Tells the tool to stop, as a signal does.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the tool is to stop.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// What an observer answers.
    pub fn flow(&self) -> ControlFlow<()> {
        match self.is_set() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
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
