//! [`catch_panics`]: a panic of a crate that reads a damaged file becomes an error.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use anyhow::{Result, anyhow};

thread_local! {
    /// `true` while this thread is within [`catch_panics`].
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`. A panic becomes an error.
pub fn catch_panics<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    silence_caught_panics();
    let was_caught = IS_CAUGHT.replace(true);
    // No state of `work` is used after a panic: every caller stops reading the file.
    let outcome = catch_unwind(AssertUnwindSafe(work));
    IS_CAUGHT.set(was_caught);
    outcome.unwrap_or_else(|panic| Err(anyhow!("it is damaged: {}", message(&*panic))))
}

/// Installs a panic hook that does not print the panics that become errors.
fn silence_caught_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !IS_CAUGHT.get() {
                print(panic);
            }
        }));
    });
}

fn message(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (None, Some(text)) => text,
        (None, None) => "it cannot be read",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_becomes_error() {
        let error = catch_panics::<()>(|| panic!("seven {}", 7)).unwrap_err();
        assert_eq!(error.to_string(), "it is damaged: seven 7");
        assert_eq!(catch_panics(|| Ok(1)).unwrap(), 1);
    }
}
