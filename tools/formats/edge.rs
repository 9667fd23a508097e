//! The edge to crates that read formats of others: they may panic on damaged files, and their errors
//! do not say which file they are about.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use anyhow::{Result, anyhow};

thread_local! {
    /// Whether a panic of this thread is on its way to [`at_edge`], which tells of it.
    static IS_WATCHED: Cell<bool> = const { Cell::new(false) };
}

/// Does some work with what others have written. A panic becomes an error.
pub fn at_edge<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    hush();
    let was_watched = IS_WATCHED.replace(true);
    // What the work has changed is not used any more after a panic: the file is given up.
    let outcome = catch_unwind(AssertUnwindSafe(work));
    IS_WATCHED.set(was_watched);
    outcome.unwrap_or_else(|panic| Err(anyhow!("it is damaged: {}", message(&*panic))))
}

/// Panics that are told of as errors are not printed too.
fn hush() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !IS_WATCHED.get() {
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
    fn a_panic_becomes_an_error() {
        let error = at_edge::<()>(|| panic!("seven {}", 7)).unwrap_err();
        assert_eq!(error.to_string(), "it is damaged: seven 7");
        assert_eq!(at_edge(|| Ok(1)).unwrap(), 1);
    }
}
