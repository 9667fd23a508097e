//! `simdb-cli`: inspects a database, queries it, and makes small changes by hand.

fn main() -> std::process::ExitCode {
    simdb_tools::simdb_cli()
}
