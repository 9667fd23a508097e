//! The edge of the library, which no panic may cross.
//!
//! The storage engine panics at pages that are not what it wrote, and the library makes errors of
//! that. Its own code has no such excuse: where that panics, it is a finding even if it is caught.

use std::backtrace::Backtrace;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::{Mutex, Once, PoisonError};

/// Where the storage engine, or whatever else is not ours, panicked last.
static FOREIGN: Mutex<String> = Mutex::new(String::new());
/// Where the code of the library panicked, in whatever thread: if several entry points run at once,
/// each of them may be told of it.
static OWN: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Runs something that must not panic.
pub fn at_the_edge(run: impl FnOnce()) {
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
            // In a fuzz target this ends the process, and the input is kept.
            usual(panic);
        }));
    });
    let ended = catch_unwind(AssertUnwindSafe(run));
    let own = std::mem::take(&mut *OWN.lock().unwrap_or_else(PoisonError::into_inner));
    assert!(own.is_empty(), "{own:?}");
    if ended.is_err() {
        let place = FOREIGN.lock().unwrap_or_else(PoisonError::into_inner);
        panic!("it panicked; where the storage engine did last: {place}");
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

/// Whether a file of source code belongs to another package.
fn is_foreign(file: &str) -> bool {
    ["/registry/", "/rustc/", "/vendor/", "library/"]
        .iter()
        .any(|part| file.contains(part))
}

/// Whether a file of source code belongs to the tests, whose assertions come to the caller anyway.
fn is_test(file: &str) -> bool {
    file.contains("tests/")
}
