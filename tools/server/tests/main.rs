//! The program `simdb-serve`, over HTTP. The tests are one program, since each test program links
//! the whole library:
//!
//! ```sh
//! cargo test -p simdb-server --test server
//! ```

mod access;
mod changes;
mod client;
mod common;
mod equality;
mod hostile;
mod keyed_equality;
mod keys;
mod operations;
mod page;
mod queries;
mod report;
mod schema;
mod shutdown;
