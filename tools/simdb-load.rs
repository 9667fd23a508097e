//! `simdb-load`: loads files of documents into a database, all of them or none.

fn main() -> std::process::ExitCode {
    simdb_tools::simdb_load()
}
