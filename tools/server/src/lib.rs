//! A server for one simdb database: an HTTP API and a page. The program is `simdb-serve`, which
//! `simdb-cli serve` runs.
//!
//! - `options`: the command line
//! - `serve`: from the options to the end of the last request
//! - `connections`: listeners, limits and time limits of connections
//! - `access`: tokens, `Host` and `Origin`
//! - `routes`: each address with its handler; `openapi.json` describes them
//! - `api`: the handlers of the API
//! - `page`: the handlers of the page, and its templates
//! - `review`, `history`: pairs to judge, and the counts of the last hour
//! - `report`, `removals`: a database, and what `dedup` removes, as one file
//! - `server`: the database, and what all handlers share
//! - `pool`, `writer`: bounded threads for work that blocks, and for commits
//! - `together`, `wave`: small requests of many connections, submitted at once
//! - `stop`: the end of the server
//! - `body`, `wire`, `document_forms`, `error`, `metrics`: requests and answers
//!
//! A handler never blocks a thread of the runtime: a query and a fingerprint are made on a bounded
//! pool, and a commit is waited for by one thread. Small requests that arrive together are one
//! submission. Whatever waits is bounded, and a request beyond
//! a bound is answered with 503.

mod access;
mod api;
mod body;
mod connections;
mod document_forms;
mod error;
mod history;
mod metrics;
mod options;
mod page;
mod pool;
mod removals;
mod report;
mod review;
mod routes;
mod serve;
mod server;
mod stop;
mod together;
mod wave;
mod wire;
mod writer;

use std::process::ExitCode;

/// Runs `simdb-serve` on the arguments of the process.
pub fn simdb_serve() -> ExitCode {
    // Verbs of their own, since they share no option with the server. A database of this name is
    // `./report`.
    let mut arguments = std::env::args_os().skip(1);
    let verb = arguments.next().unwrap_or_default();
    if verb == "report" {
        let arguments = std::iter::once("simdb-serve report".into()).chain(arguments);
        let options = simdb_tools::parse_from::<report::ReportOptions>(arguments);
        options.verbosity.start_logging();
        return simdb_tools::console::run(|output| options.run(output));
    }
    if verb == "removals" {
        return simdb_tools::console::run(removals::run);
    }
    let options = simdb_tools::parse::<options::Options>();
    options.verbosity.start_logging();
    simdb_tools::console::run(|output| serve::run(&options, output))
}
