//! Detection of panics in library code.
//!
//! redb panics on pages that it did not write; the library turns these panics into errors. A panic
//! in the library's own code is a bug, even if it is caught.

use std::backtrace::Backtrace;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::{Mutex, Once, PoisonError};

/// The place of the last panic in redb or another package.
static FOREIGN: Mutex<String> = Mutex::new(String::new());
/// Places of panics in library code, of any thread. Entry points that run at the same time may see
/// each other's panics.
static OWN: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Runs a closure that must not panic.
pub fn deny_panics(run: impl FnOnce()) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            let place = place_of(panic);
            let file = panic.location().map_or("", |location| location.file());
            if is_foreign(file) {
                // Empty unless RUST_BACKTRACE is set.
                let place = format!("{place}\n{}", Backtrace::capture());
                *FOREIGN.lock().unwrap_or_else(PoisonError::into_inner) = place;
                return;
            }
            if !is_test(file) {
                OWN.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(place);
            }
            // In a fuzz target this ends the process, so that libFuzzer keeps the input.
            usual(panic);
        }));
    });
    let ended = catch_unwind(AssertUnwindSafe(run));
    let own = std::mem::take(&mut *OWN.lock().unwrap_or_else(PoisonError::into_inner));
    assert!(own.is_empty(), "{own:?}");
    if ended.is_err() {
        let place = FOREIGN.lock().unwrap_or_else(PoisonError::into_inner);
        panic!("the input panicked; last panic of another package: {place}");
    }
}

fn place_of(panic: &PanicHookInfo<'_>) -> String {
    let payload = panic.payload();
    let message = match payload.downcast_ref::<String>() {
        Some(message) => message,
        None => payload.downcast_ref::<&str>().copied().unwrap_or_default(),
    };
    match panic.location() {
        Some(location) => format!("{}:{}: {message}", location.file(), location.line()),
        None => message.to_owned(),
    }
}

/// Returns `true` if a source file belongs to another package.
fn is_foreign(file: &str) -> bool {
    ["/registry/", "/rustc/", "/vendor/", "library/"]
        .iter()
        .any(|part| file.contains(part))
}

/// Returns `true` if a source file belongs to the tests; their panics reach the caller anyway.
fn is_test(file: &str) -> bool {
    file.contains("tests/")
}
